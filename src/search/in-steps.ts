import type { SweptSums } from '../kernels/kernels.js';
import { bestByRanks } from '../kernels/native.js';
import type { Release } from '../release/release.js';
import { rank } from './rank.js';
import type { EncodedQuery, Scored } from './search-types.js';
import type { Judge } from './significance.js';
import { measureTargets, type Measured, type MeasureWork, type SweptHits } from './prefiltered.js';

/* Rescores the prefilter hits of a query in the order of three kinds of evidence, until no more homologs appear. */

/** Hits that are rescored first. Each further step rescores as many as all steps before it. */
export const FIRST_STEP = 64;
/** Part of the rescored hits that is watched: the last ones in the order of evidence. */
const WATCHED_SHARE = 1 / 4;
/**
 * A further step follows if a watched hit has at most this E-value, before the reversed-query control. With 10, chance
 * pairs cause a step for twice as many queries, and no more targets with E ≤ 0.001 are found.
 */
const PROMISING_EXPECTED_FALSE_HITS = 1;

/** Measures ascending targets exactly. */
export type MeasureTargets = (targets: Uint32Array) => Promise<Measured>;

/** Sums of sampled rows of a query with its hits, and the scores of the hits by k-mers. */
interface HitScores {
  readonly targets: Uint32Array;
  /** Absent if no k-mers were looked up. */
  readonly kmers?: Uint32Array;
  readonly sums: SweptSums;
  readonly rowCount: number;
}

/**
 * Orders hits by the product of their ranks in three orders: by bidirectional MaxSim, by excess divided by the root of
 * the length, and by k-mers. Equal values share the last of their ranks.
 * Shape   min(hits, most) elements
 * Unit    target indices
 * Range   best first, equal products by ascending target
 * Errors  Fault if the kernels were not built
 */
export function inOrderOfEvidence(
  { targets, kmers, sums, rowCount }: HitScores,
  most: number,
  { targets: { length: lengthOf } }: { readonly targets: Pick<Release['targets'], 'length'> },
): Uint32Array {
  const { queryToTarget, targetToQuery, queryExcess } = sums;
  const count = targets.length;
  const orders = kmers === undefined ? 2 : 3;
  const values = new Float64Array(orders * count);
  for (let at = 0; at < count; at += 1) {
    const length = lengthOf(targets[at]);
    values[at] = queryToTarget[at] + (rowCount * targetToQuery[at]) / length;
    values[count + at] = queryExcess[at] / Math.sqrt(length);
  }
  if (kmers !== undefined) values.set(kmers, 2 * count);
  return bestByRanks(values, orders, most).map((at) => targets[at]);
}

/**
 * Number of hits that are rescored: of the first step, or of a later one. A step is the last one if none of its watched
 * hits is promising.
 * Range   0..hitCount
 * Errors  those of `isPromising`
 * @param isPromising  whether any hit from one place up to another has a small E-value
 */
export async function rescoredCount(
  hitCount: number,
  isPromising: (from: number, to: number) => Promise<boolean>,
): Promise<number> {
  let end = Math.min(FIRST_STEP, hitCount);
  while (await isPromising(end - Math.floor(WATCHED_SHARE * end), end)) {
    if (end === hitCount) break;
    end = Math.min(2 * end, hitCount);
  }
  return end;
}

/**
 * Measures the best hits of a query in steps. Without a calibration, or for a query without E-values, all of the first
 * `mostCount` hits are measured.
 * Errors  Fault of the kernels; the signal's reason
 * @param judge    gives E-values without controls
 * @param measure  measures listed targets; absent for the kernels
 */
export async function measureInSteps(
  query: EncodedQuery,
  { swept, ...hits }: SweptHits,
  mostCount: number,
  judge: Judge,
  { engine, options, referenceSums }: MeasureWork,
  measure: MeasureTargets = (targets) => measureTargets(query, targets, engine, options),
): Promise<Measured> {
  const order = swept ? inOrderOfEvidence({ ...hits, ...swept }, mostCount, engine.release) : hits.targets;
  const most = Math.min(mostCount, order.length);
  if (swept === undefined || referenceSums === undefined) return measure(order.slice(0, most).sort());
  const parts: Measured[] = [];
  let measuredCount = 0;
  await rescoredCount(most, async (from, to) => {
    const part = await measure(order.slice(measuredCount, to).sort());
    parts.push(part);
    measuredCount = to;
    if (to === most) return false;
    const watched = await scoredIn(part, new Set(order.subarray(from, to)), query, engine.release);
    const judged = await judge(query, watched, referenceSums, options);
    return isAnyPromising(judged.candidates);
  });
  return merged(parts);
}

/** Whether any candidate has a small E-value. Also true if none of them has one, so that nothing is known. */
function isAnyPromising(judged: Awaited<ReturnType<Judge>>['candidates']): boolean {
  const logEValues = judged.flatMap(({ significance }) =>
    significance.kind === 'supported' ? [significance.logEValue] : [],
  );
  return logEValues.length === 0 || logEValues.some((log) => log <= Math.log(PROMISING_EXPECTED_FALSE_HITS));
}

/** Measured targets as candidates, without the ranks that they have among all. */
async function scoredIn(
  { targets, sums, affineScores }: Measured,
  wanted: ReadonlySet<number>,
  { tokens }: EncodedQuery,
  release: Release,
): Promise<readonly Scored[]> {
  const scores = new Map(Array.from(targets, (target, at) => [target, affineScores[at]]));
  const ranked = await rank({ sums, targets }, tokens.length, release, Infinity);
  return ranked
    .filter(({ targetIndex }) => wanted.has(targetIndex))
    .map((one) => ({ ...one, affine: { rawScore: scores.get(one.targetIndex)!, normalizedScore: 0 } }));
}

/** Puts the measures of all steps into one, by ascending target. */
function merged(parts: readonly Measured[]): Measured {
  if (parts.length === 1) return parts[0];
  const places = parts.flatMap(({ targets }, part) =>
    Array.from(targets, (target, at) => ({ target, part, at })),
  );
  places.sort((a, b) => a.target - b.target);
  const of = (valuesOf: (part: Measured) => Int32Array): Int32Array =>
    Int32Array.from(places, ({ part, at }) => valuesOf(parts[part])[at]);
  return {
    targets: Uint32Array.from(places, ({ target }) => target),
    sums: {
      ...parts[0].sums,
      queryToTarget: of(({ sums }) => sums.queryToTarget),
      targetToQuery: of(({ sums }) => sums.targetToQuery),
    },
    affineScores: of(({ affineScores }) => affineScores),
  };
}
