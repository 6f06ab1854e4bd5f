import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { calibrateRelease } from '#src/fit-significance/fit-significance.js';
import {
  CARD_FORMAT,
  SUPERSEDED_FORMATS,
  UNCONTROLLED_FORMAT,
  calibrationDirectory,
  calibrationId,
  type CalibrationCard,
} from '#src/significance/card.js';
import { calibrationPlot } from '#src/cli/index/significance/plot.js';
import { seededRandom } from '#src/random.js';
import { openCalibration } from '#src/significance/sidecar.js';
import { verifyEvidence } from '#src/recall/evidence.js';
import { nativeBackend } from '#src/kernels/native.js';
import type { KernelBackend, QueryTokens, TokenStore } from '#src/kernels/kernels.js';
import { openRelease } from '#src/release/open.js';
import type { Release } from '#src/release/release.js';
import { unfilteredSpace } from '#src/release/filter/target-space.js';
import { eValueOf, type SupportedSignificance } from '#src/search/pairs/candidate-significance.js';
import { searchMany } from '#src/search/search.js';
import type { Candidate, SearchEngine, SearchResult } from '#src/search/search-types.js';
import { makeRelease } from '../release/make-release.js';
import { fakeEncoder } from '../tools/fake-encoder.js';

/* Real kernels over proteins with random tokens. Every pair is unrelated, so that the true null is known. */

const DIMENSION = 32;
const SEED = 4711;
const folder = mkdtempSync(join(tmpdir(), 'gloaming-calibrate-'));
const backend: KernelBackend = nativeBackend();
let release: Release;
let store: TokenStore;
let card: CalibrationCard;

beforeAll(async () => {
  release = await openRelease(await makeRelease(folder, randomProteins(300, SEED)));
  store = await backend.open(release.tokens);
  card = await calibrate(release, store);
});
afterAll(() => {
  store.close();
  rmSync(folder, { recursive: true });
});

describe(`the calibration of a release (seed ${SEED})`, () => {
  it('is bit-identical for equal seeds, and differs for another seed', async () => {
    const again = await calibrate(release, store);
    expect(calibrationId(again)).toBe(calibrationId(card));
    const other = await calibrate(release, store, { seed: 2 });
    expect(calibrationId(other)).not.toBe(calibrationId(card));
    await calibrate(release, store);
    // Three calibrations, beside other tests on the same machine.
  }, 180_000);

  it('continues from the pairs that an interrupted run has scored', async () => {
    const controller = new AbortController();
    const stopped = calibrate(release, store, {
      signal: controller.signal,
      onProgress: ({ done }) => done > 20_000 && controller.abort(new Error('stopped')),
    });
    await expect(stopped).rejects.toThrow('stopped');
    const work = `${calibrationDirectory(release.directory)}.work`;
    expect(existsSync(work)).toBe(true);
    let firstDone = -1;
    const resumed = await calibrate(release, store, {
      onProgress: ({ stage, done }) => {
        if (stage === 'calibrate' && firstDone < 0) firstDone = done;
      },
    });
    expect(firstDone).toBeGreaterThan(20_000);
    expect(calibrationId(resumed)).toBe(calibrationId(card));
    expect(existsSync(work)).toBe(false);
  });

  it('is reported as damaged if one byte has changed', async () => {
    expect(await verifyEvidence(release.directory)).toEqual([]);
    const path = join(calibrationDirectory(release.directory), 'targets.arrow');
    const bytes = readFileSync(path);
    const changed = Uint8Array.from(bytes);
    changed[changed.length >>> 1] ^= 1;
    writeFileSync(path, changed);
    expect(await verifyEvidence(release.directory)).toEqual(['targets.arrow was changed']);
    writeFileSync(path, bytes);
  });

  it('of an old format is absent, one without controls stays valid, and a newer one is refused', async () => {
    const path = join(calibrationDirectory(release.directory), 'card.json');
    const text = readFileSync(path, 'utf8');
    writeFileSync(path, text.replace(CARD_FORMAT, SUPERSEDED_FORMATS[0]));
    const identity = { id: release.id, targetCount: release.targets.count };
    expect(await openCalibration(release.directory, identity)).toBeUndefined();
    writeFileSync(path, text.replace(CARD_FORMAT, UNCONTROLLED_FORMAT));
    expect(await openCalibration(release.directory, identity)).toMatchObject({
      card: { format: UNCONTROLLED_FORMAT, release_id: release.id },
    });
    writeFileSync(path, text.replace(CARD_FORMAT, 'gloaming-calibration/99'));
    await expect(openCalibration(release.directory, identity)).rejects.toThrow(
      `${path} has format "gloaming-calibration/99"; this version reads ${CARD_FORMAT}.`,
    );
    writeFileSync(path, text);
    expect(await openCalibration(release.directory, identity)).toBeDefined();
  });

  it('is refused beside another release', async () => {
    const other = await openRelease(await makeRelease(folder, randomProteins(3, 1)));
    cpSync(calibrationDirectory(release.directory), calibrationDirectory(other.directory), {
      recursive: true,
    });
    const opened = openCalibration(other.directory, { id: other.id, targetCount: 3 });
    await expect(opened).rejects.toThrow('calibrates release');
  });

  it('draws a plot with a panel for each bin', () => {
    const plot = calibrationPlot(card);
    expect(plot.startsWith('<svg')).toBe(true);
    expect(plot.split('<polyline').length - 1).toBe(card.bins.length);
  });
});

describe(`E-values of unrelated proteins (seed ${SEED})`, () => {
  it('predict the number of false hits, and have every member that their support allows', async () => {
    const result = await searchFirst(release, 60);
    const logs = result.flatMap(({ candidates }) =>
      candidates
        .filter(({ targetIndex }) => targetIndex >= 60)
        .flatMap(({ significance }) => (significance.kind === 'supported' ? [significance.logEValue] : [])),
    );
    expect(logs.length).toBeGreaterThan(60 * 200);
    for (const expected of [10, 1]) {
      const observed = logs.filter((log) => log <= Math.log(expected)).length / 60;
      expect(observed / (expected * (240 / 300))).toBeGreaterThan(0.5);
      expect(observed / (expected * (240 / 300))).toBeLessThan(2);
    }
  });

  it('are those of chance if the reversed query scores as high, except in older calibrations', async () => {
    const [own] = queryTokens(release, 1);
    const palindrome = { ...fakeEncoder(), encode: async () => [own] };
    const calibration = await openCalibration(release.directory, { id: release.id, targetCount: 300 });
    const expected = async (engine: Partial<SearchEngine>): Promise<number> => {
      const [{ candidates }] = await searchMany(
        [{ sequence: 'A'.repeat(own.length), normalizationId: 'test' }],
        {
          targetSpace: unfilteredSpace(release),
          limit: 1,
          evidence: 'candidate_measurement',
          guarantee: 'exhaustive',
          significance: 'required',
        },
        { release, encoder: palindrome, backend, store, calibration, ...engine },
      );
      expect(candidates[0].targetIndex).toBe(0);
      return eValueOf(candidates[0])!;
    };
    expect(await expected({})).toBeGreaterThan(0.05);
    const older = { ...calibration!, card: { ...card, format: UNCONTROLLED_FORMAT } } as const;
    expect(await expected({ calibration: older })).toBeLessThan(1e-9);
    expect(await expected({ encoder: { ...palindrome, encode: encodeOnce([own]) } })).toBeLessThan(1e-9);
  });

  it('name their calibration, as does the result', async () => {
    const [calibrated] = await searchFirst(release, 1);
    const [plain] = await searchFirst(release, 1, { withCalibration: false });
    expect(calibrated.candidates[0].significance).toMatchObject({ calibration: { id: calibrationId(card) } });
    expect(calibrated.resultSha256).not.toBe(plain.resultSha256);
    expect(plain.candidates[0].significance).toEqual({
      kind: 'not_available',
      reason: 'no_qualified_calibration',
    });
  });

  it('fall in proportion to the number of searched targets, and depend on nothing else of the filter', async () => {
    const eligible = Uint32Array.from({ length: 100 }, (_, index) => index);
    const [all] = await searchFirst(release, 1);
    const [some] = await searchFirst(release, 1, { eligible });
    const unfiltered = new Map(
      all.candidates.map((candidate) => [candidate.targetIndex, supportedOf(candidate)]),
    );
    for (const candidate of some.candidates) {
      const [wide, narrow] = [unfiltered.get(candidate.targetIndex)!, supportedOf(candidate)];
      expect(narrow.logTailProbability).toBe(wide.logTailProbability);
      const difference = wide.logEValue - narrow.logEValue;
      expect(difference).toBeCloseTo(Math.log(3), 9);
    }
  });
});

describe('a release or query that no calibration covers', () => {
  it('one protein, identical proteins and peptides are refused with a reason', async () => {
    for (const targets of [
      randomProteins(1, 2),
      { ...randomProteins(60, 2), token: () => 9 },
      { ...randomProteins(200, 3, 20, 29) },
    ]) {
      const hostile = await openRelease(await makeRelease(folder, targets));
      const tokens = await backend.open(hostile.tokens);
      await expect(calibrate(hostile, tokens)).rejects.toMatchObject({ code: 'calibration_impossible' });
      tokens.close();
    }
  });

  it('a query of 5 residues or of one letter gets a reason instead of a small E-value', async () => {
    const [peptide] = await searchSequences(release, ['MKVLA']);
    expect(reasonsOf(peptide)).toEqual(new Set(['query_too_short']));
    const [homopolymer] = await searchSequences(release, ['A'.repeat(120)], () => 11);
    expect(reasonsOf(homopolymer)).toEqual(new Set(['query_composition_not_calibrated']));
    const required = searchSequences(release, ['A'.repeat(120)], () => 11, 'required');
    await expect(required).rejects.toMatchObject({
      code: 'significance_unavailable',
      details: { reason: 'query_composition_not_calibrated' },
    });
  });

  it('a query of 30,000 residues is reported as longer than the calibrated lengths', async () => {
    const random = seededRandom(8);
    const [long] = await searchSequences(release, ['A'.repeat(30_000)], () => random.below(79) - 39);
    expect(reasonsOf(long)).toEqual(new Set(['query_too_long']));
  });

  it('proteins of low complexity have no small E-values with each other', async () => {
    // Runs of a few tokens. Every protein is similar to many others, and none is a copy of another.
    const random = seededRandom(12);
    const kinds = Array.from({ length: 3 }, () =>
      Int8Array.from({ length: DIMENSION }, () => random.below(79) - 39),
    );
    let kind = 0;
    const token = (_: number, column: number): number => {
      if (column === 0 && random.below(12) === 0) kind = random.below(kinds.length);
      return kinds[kind][column];
    };
    const proteins = { ...randomProteins(200, 13), token };
    const plain = await openRelease(await makeRelease(folder, proteins));
    const tokens = await backend.open(plain.tokens);
    const made = await calibrate(plain, tokens).catch((cause: unknown) => cause);
    if (made instanceof Error) expect(made).toMatchObject({ code: 'calibration_impossible' });
    else {
      const results = await searchFirst(plain, 40, {}, tokens);
      const surprising = results.flatMap(({ candidates }, query) =>
        candidates.filter(
          (candidate) => candidate.targetIndex !== query && (eValueOf(candidate) ?? 1) < 1e-3,
        ),
      );
      expect(surprising.length).toBeLessThan(5);
    }
    tokens.close();
  });

  it('a search that requires significance is refused before it starts', async () => {
    const search = searchSequences(release, ['MKVLA'], undefined, 'required');
    await expect(search).rejects.toMatchObject({
      code: 'significance_unavailable',
      details: { reason: 'query_too_short' },
    });
  });
});

function supportedOf({ significance }: Candidate): SupportedSignificance {
  if (significance.kind !== 'supported') throw new Error(`it is ${significance.kind}`);
  return significance;
}

/** Reasons of candidates without a tail probability, and kinds of the others. */
function reasonsOf({ candidates }: SearchResult): ReadonlySet<string> {
  return new Set(
    candidates.map(({ significance }) =>
      significance.kind === 'unsupported' ? significance.reason : significance.kind,
    ),
  );
}

function randomProteins(count: number, seed: number, shortest = 60, longest = 160) {
  const random = seededRandom(seed);
  const targets = Array.from({ length: count }, (_, index) => ({
    id: `p${index}`,
    sequence: 'A'.repeat(shortest + random.below(longest - shortest + 1)),
  }));
  return { targets, dimension: DIMENSION, token: () => random.below(79) - 39 };
}

function calibrate(
  of: Release,
  tokens: TokenStore,
  more: Partial<Parameters<typeof calibrateRelease>[0]> = {},
): Promise<CalibrationCard> {
  return calibrateRelease({
    release: of,
    backend,
    store: tokens,
    encoder: fakeEncoder(),
    threads: 2,
    ...more,
  });
}

/** Stored tokens of the release's first proteins. */
function queryTokens(of: Release, count: number): readonly QueryTokens[] {
  const { residueStarts } = of.tokens;
  const bytes = readFileSync(join(of.directory, 'tokens.arrow'));
  const { values_byte_offset: offset } = of.manifest.files.tokens;
  const all = new Int8Array(bytes.buffer, bytes.byteOffset + offset);
  return Array.from({ length: count }, (_, target) => ({
    values: all.slice(residueStarts[target] * DIMENSION, residueStarts[target + 1] * DIMENSION),
    length: of.targets.length(target),
  }));
}

/** Searches with the release's first proteins, by their stored tokens. */
async function searchFirst(
  of: Release,
  count: number,
  { withCalibration = true, eligible }: { withCalibration?: boolean; eligible?: Uint32Array } = {},
  tokens: TokenStore = store,
): Promise<readonly SearchResult[]> {
  const queries = queryTokens(of, count);
  const encoder = { ...fakeEncoder(), encode: encodeOnce(queries) };
  const sequences = queries.map(({ length }) => 'A'.repeat(length));
  return search(of, encoder, sequences, 'if_available', withCalibration, eligible, tokens);
}

/** Returns these tokens for the first batch, which holds the queries, and random tokens for their controls. */
function encodeOnce(queries: readonly QueryTokens[]): SearchEngine['encoder']['encode'] {
  const random = seededRandom(SEED);
  let remaining: readonly QueryTokens[] | undefined = queries;
  return async (sequences) => {
    const first = remaining;
    remaining = undefined;
    const drawn = (length: number): QueryTokens => ({
      values: Int8Array.from({ length: length * DIMENSION }, () => random.below(79) - 39),
      length,
    });
    return first ?? sequences.map(({ length }) => drawn(length));
  };
}

function searchSequences(
  of: Release,
  sequences: readonly string[],
  token: (at: number) => number = (at) => (at % 13) - 6,
  requirement: 'if_available' | 'required' = 'if_available',
): Promise<readonly SearchResult[]> {
  const encode = encodeOnce(
    sequences.map(({ length }) => ({
      values: Int8Array.from({ length: length * DIMENSION }, (_, at) => token(at % DIMENSION)),
      length,
    })),
  );
  return search(of, { ...fakeEncoder(), encode }, sequences, requirement, true);
}

async function search(
  of: Release,
  encoder: SearchEngine['encoder'],
  sequences: readonly string[],
  significance: 'if_available' | 'required',
  withCalibration: boolean,
  eligible?: Uint32Array,
  tokens: TokenStore = store,
): Promise<readonly SearchResult[]> {
  const calibration = withCalibration
    ? await openCalibration(of.directory, { id: of.id, targetCount: of.targets.count })
    : undefined;
  const space = unfilteredSpace(of);
  const targetSpace =
    eligible === undefined
      ? space
      : { ...space, id: 'htsp_test', eligible, searchedTargetCount: eligible.length };
  return searchMany(
    sequences.map((sequence) => ({ sequence, normalizationId: 'test' })),
    { targetSpace, limit: 1_000, evidence: 'candidate_measurement', guarantee: 'exhaustive', significance },
    { release: of, encoder, backend, store: tokens, calibration },
  );
}
