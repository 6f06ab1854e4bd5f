import { rank } from '../../src/search/rank.js';
import type { SearchEngine } from '../../src/search/search-types.js';
import { affineParameters } from '../../src/search/pairs/affine.js';
import type { BenchProtein } from '../tools/proteins.js';
import { median } from '../tools/statistics.js';

/** Queries and residues per second, of wall time and of processor time. Other processes affect wall time more. */
export interface Rate {
  readonly wall: number;
  readonly cpu: number;
  readonly residuesByWall: number;
}

export async function rateOf(queries: readonly BenchProtein[], work: () => Promise<unknown>): Promise<Rate> {
  const startedAt = performance.now();
  const cpuBefore = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(cpuBefore);
  const seconds = (performance.now() - startedAt) / 1e3;
  return {
    wall: queries.length / seconds,
    cpu: queries.length / ((user + system) / 1e6),
    residuesByWall: queries.reduce((sum, { sequence }) => sum + sequence.length, 0) / seconds,
  };
}

/** The best round by wall time and the best by processor time, because noise only adds time. */
export function best(rounds: readonly Rate[]): Rate {
  return {
    wall: Math.max(...rounds.map(({ wall }) => wall)),
    cpu: Math.max(...rounds.map(({ cpu }) => cpu)),
    residuesByWall: Math.max(...rounds.map(({ residuesByWall }) => residuesByWall)),
  };
}

export function inWords(rounds: readonly Rate[]): string {
  const { wall, cpu, residuesByWall } = best(rounds);
  const middle = median(rounds.map((rate) => rate.wall));
  return (
    `${wall.toFixed(2)} queries/s (median ${middle.toFixed(2)}), ${residuesByWall.toFixed(0)} residues/s, ` +
    `${cpu.toFixed(2)} queries per second of CPU time`
  );
}

/** The targets that a search rescores for each query, nearest first. */
export async function rankAll(
  engine: SearchEngine,
  queries: readonly BenchProtein[],
  limit: number,
): Promise<readonly Uint32Array[]> {
  const { encoder, backend, store, release, threads } = engine;
  const ranked: Uint32Array[] = [];
  for (const { sequence } of queries) {
    const [query] = await encoder.encode([sequence]);
    const [sums] = await backend.maxsim(store, [query], undefined, { threads });
    const ofQuery = await rank({ sums, targets: undefined }, query.length, release, limit);
    ranked.push(Uint32Array.from(ofQuery, ({ targetIndex }) => targetIndex));
  }
  return ranked;
}

/** Runs encoder and kernels alone, on the same queries in packs. They rescore the same targets as a search. */
export async function workAlone(
  { encoder, backend, store, release, threads }: SearchEngine,
  queries: readonly BenchProtein[],
  ranked: readonly Uint32Array[],
  limit: number,
): Promise<void> {
  for (let start = 0; start < queries.length; start += PACK_QUERIES) {
    const pack = queries.slice(start, start + PACK_QUERIES);
    const tokens = await encoder.encode(pack.map(({ sequence }) => sequence));
    await backend.maxsim(store, tokens, undefined, { threads });
    for (const [index, query] of tokens.entries()) {
      const targets = ranked[start + index].subarray(0, limit);
      const parameters = affineParameters(
        release,
        { sequence: pack[index].sequence, tokens: query },
        targets,
      );
      await backend.affineScores(store, query, targets, parameters, { threads });
    }
  }
}

const PACK_QUERIES = 64;
