import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { calibrateRelease } from '#src/fit-significance/fit-significance.js';
import { nativeBackend } from '#src/kernels/native.js';
import { writeCodebook } from '#src/measure-recall/codebook.js';
import { computeRows } from '#src/pipelines/neighbours/rows.js';
import { seededRandom } from '#src/random.js';
import { openCodebookOf } from '#src/recall/codebook-sidecar.js';
import { codebookDefinition, policyDefinition } from '#src/recall/policy-card.js';
import { unfilteredSpace } from '#src/release/filter/target-space.js';
import { openRelease } from '#src/release/open.js';
import { openTokenReader, type TokenReader } from '#src/release/rows/token-reader.js';
import { searchMany } from '#src/search/search.js';
import type { SearchEngine } from '#src/search/search-types.js';
import { openCalibration } from '#src/significance/sidecar.js';
import { qualifiedFor } from '../../search/qualification.js';
import { contextEncoder, makeHomologs } from '../../tools/homologs.js';

/* Rows of neighbours by the policies of a release, beside searches by the same policies. */

const LIMIT = 12;
const QUERIES = 24;
/** Nearest targets that the exhaustive policy scores for each protein of a larger release. */
const SCORED = 2_500;
const folder = mkdtempSync(join(tmpdir(), 'gloaming-policy-'));
const engines: Partial<Record<'exhaustive' | 'sampled' | 'coded', SearchEngine>> = {};
let reader: TokenReader;

beforeAll(async () => {
  const { write, proteins } = makeHomologs(seededRandom(3), { homologSets: 25, members: 10 });
  const release = await openRelease(await write(folder));
  const backend = nativeBackend();
  const store = await backend.open(release.tokens);
  const plain = { release, backend, store, encoder: contextEncoder(), threads: 2 };
  await calibrateRelease(plain);
  const calibration = await openCalibration(release.directory, {
    id: release.id,
    targetCount: proteins.length,
  });
  const files = await writeCodebook(release, {});
  engines.exhaustive = { ...plain, calibration };
  engines.sampled = { ...plain, calibration, qualification: qualifiedFor(policyDefinition(40, 20)) };
  engines.coded = {
    ...plain,
    calibration,
    qualification: qualifiedFor(codebookDefinition(20, 10, 90), files),
    codebook: await openCodebookOf(release.directory, files, release),
  };
  reader = await openTokenReader(release);
}, 300_000);
afterAll(async () => {
  await reader.close();
  engines.exhaustive?.store.close();
  rmSync(folder, { recursive: true });
});

/** Compares the rows of the first targets with the hits of a search by the same policy. */
async function expectHitsOfSearch(
  engine: SearchEngine,
  tokens: TokenReader,
  kind: keyof typeof engines,
): Promise<void> {
  const rules = { limit: LIMIT, maxExpected: 10 };
  const { queries, edges } = await computeRows(0, QUERIES, { engine, reader: tokens, rules });
  const { targets } = engine.release;
  const results = await searchMany(
    Array.from({ length: QUERIES }, (_, at) => ({ sequence: targets.sequence(at), normalizationId: '' })),
    {
      targetSpace: unfilteredSpace(engine.release),
      limit: kind === 'exhaustive' ? Math.min(targets.count, SCORED) : LIMIT + 1,
      evidence: 'pairwise_sequence_alignment',
      guarantee: 'approximate',
      significance: 'required',
    },
    engine,
  );
  expect(results[0].policy.isExhaustive).toBe(kind === 'exhaustive');
  expect(results[0].policy.sampled?.usesCodebook === true).toBe(kind === 'coded');
  const expected = results.flatMap(({ candidates }, query) =>
    candidates
      .flatMap(({ targetIndex, alignment, significance }) =>
        significance.kind === 'supported' && significance.eValue <= 10 && targetIndex !== query
          ? [[query, targetIndex, significance.logEValue, alignment!.queryStart, alignment!.targetEnd]]
          : [],
      )
      .sort((a, b) => a[2] - b[2] || a[1] - b[1])
      .slice(0, LIMIT),
  );
  expect(expected.length).toBeGreaterThan(QUERIES);
  const found = Array.from(queries, (query, at) => [
    query,
    edges.targets[at],
    edges.logEValues[at],
    edges.queryStarts[at],
    edges.targetEnds[at],
  ]);
  expect(found).toEqual(expected);
}

describe('neighbours', () => {
  it.each(['exhaustive', 'sampled', 'coded'] as const)(
    'by the %s policy are the hits of its search',
    async (kind) => {
      const engine = engines[kind]!;
      await expectHitsOfSearch(engine, reader, kind);
    },
  );

  it('of more than 2,500 proteins are the hits among the nearest 2,500 of an exhaustive search', async () => {
    const place = join(folder, 'large');
    const { write } = makeHomologs(seededRandom(5), { homologSets: 260, members: 10 });
    const release = await openRelease(await write(place));
    const backend = nativeBackend();
    const store = await backend.open(release.tokens);
    const plain = { release, backend, store, encoder: contextEncoder(), threads: 2 };
    await calibrateRelease({ ...plain, sampleCount: 250 });
    const { count: targetCount } = release.targets;
    const calibration = await openCalibration(release.directory, { id: release.id, targetCount });
    const tokens = await openTokenReader(release);
    expect(targetCount).toBeGreaterThan(SCORED);
    await expectHitsOfSearch({ ...plain, calibration }, tokens, 'exhaustive');
    await tokens.close();
    store.close();
  }, 300_000);
});
