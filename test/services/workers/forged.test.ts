import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DEMO_SLUG } from '#src/demo/demo.js';
import { unfilteredSpace } from '#src/release/filter/target-space.js';
import { decodePartialResults, encodePartialResults } from '#src/search/partitions/encoding.js';
import { searchMany } from '#src/search/search.js';
import type { ProteinQuery, SearchEngine, SearchResult } from '#src/search/search-types.js';
import { createWorkers, type Workers } from '#src/services/workers/workers.js';
import { realWorld } from '#src/world.js';
import { startSmallAppliance, type SmallAppliance } from '../../tools/small-appliance.js';
import { startRelay, type Relay } from './relay.js';

/* A worker that sends partial results of the right form and digest, with sums that it made up. */

const folder = mkdtempSync(join(tmpdir(), 'gloaming-forged-'));
let worker: SmallAppliance;
let relay: Relay;
let coordinator: Workers;
let engine: SearchEngine;
let queries: readonly ProteinQuery[];

beforeAll(async () => {
  worker = await startSmallAppliance({ serve_parts: true });
  relay = await startRelay(worker.url);
  const keyFile = join(folder, 'worker.key');
  const { key } = await worker.appliance.keys.create('front', 'default', { scope: 'search' });
  writeFileSync(keyFile, `${key}\n`);
  const { catalog, engines } = worker.appliance;
  engine = await engines.open(catalog.defaultRelease(DEMO_SLUG, 'default').releaseId);
  queries = worker.sequences.slice(0, 3).map((sequence) => ({ sequence, normalizationId: 'test' }));
  const nodes = [
    { url: relay.url, keyFile, parts: [1] },
    { url: worker.url, keyFile, parts: [2] },
  ];
  coordinator = createWorkers({ nodes, partCount: 2, onError: 'fail', timeoutMs: 200_000 }, realWorld);
});
afterAll(async () => {
  coordinator.close();
  await relay.close();
  await worker.close();
  rmSync(folder, { recursive: true });
});

const search = (): Promise<readonly SearchResult[]> =>
  searchMany(
    queries,
    {
      targetSpace: unfilteredSpace(engine.release),
      limit: 5,
      evidence: 'pairwise_sequence_alignment',
      guarantee: 'exhaustive',
      significance: 'not_requested',
    },
    { ...engine, scan: coordinator.scan },
  );

describe('a partial result with forged sums under the right digest', () => {
  it.each(['zero', 'highest', 'lowest', 'random', 'of another target'])(
    'may change results, but neither ends the server nor gives scores out of range: %s',
    async (kind) => {
      const most = 32_767;
      const forge = (sums: Int32Array, lengthOf: (at: number) => number): Int32Array =>
        sums.map((sum, at) => {
          if (kind === 'zero') return 0;
          if (kind === 'highest') return lengthOf(at) * most;
          if (kind === 'lowest') return -lengthOf(at) * most;
          return kind === 'random'
            ? ((at * 2_654_435_761) >>> 8) % (lengthOf(at) * most)
            : (sums.at(-1 - at) ?? sum);
        });
      const { targets } = engine.release;
      relay.behave(async ({ response, pass }) => {
        const { bytes } = await pass();
        const forged = decodePartialResults(bytes).map((partialResult, at) => ({
          ...partialResult,
          queryToTarget: forge(partialResult.queryToTarget, () => queries[at]!.sequence.length),
          targetToQuery: forge(partialResult.targetToQuery, (place) =>
            targets.length(partialResult.targets[place]!),
          ),
        }));
        response.end(encodePartialResults(forged));
      });
      const outcome = await search().catch((error: unknown) => error);
      if (outcome instanceof Error) {
        expect(outcome).toMatchObject({ code: 'worker_unavailable' });
        return;
      }
      for (const { candidates } of outcome as readonly SearchResult[]) {
        expect(candidates.map(({ rank }) => rank)).toEqual(candidates.map((_, at) => at + 1));
        for (const { maxsim, affine, alignment } of candidates) {
          for (const value of [maxsim.bidirectional, affine.rawScore, affine.normalizedScore])
            expect(Number.isFinite(value)).toBe(true);
          // Scores and alignments are computed here, whatever a worker says.
          expect(alignment).toBeDefined();
        }
      }
    },
  );
});
