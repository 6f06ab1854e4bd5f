import {
  RUN_DELETION,
  RUN_INSERTION,
  RUN_PAIR,
  type AffineAlignment,
  type KernelBackend,
  type KernelOptions,
  type QueryTokens,
} from '../kernels/kernels.js';
import { openInMemory } from '../kernels/memory-store.js';
import { openTokenReader } from '../release/rows/token-reader.js';
import { CigarWriter } from '../sequence/cigar.js';
import { PAIR_ALIGNMENTS_MAX_COUNT } from '../limits.js';
import { mapInTurns } from '../turns.js';
import { eValueOf, type JudgeAlignment } from './candidate-significance.js';
import { maxsimDistances } from './rank.js';
import { findAllPaths, findPaths } from './rescore.js';
import type {
  Candidate,
  EncodedQuery,
  FurtherAlignment,
  FurtherAlignments,
  PairwiseAlignment,
  SearchEngine,
  SearchResult,
  SearchSettings,
} from './search-types.js';

const RUN_KIND_MASK = 3;

/**
 * Adds alignments to the candidates that need one: those within the largest E-value of the settings.
 * Errors  Fault of the kernels; the signal's reason
 * @param paths  of all candidates, if they are known; otherwise only the paths of aligned candidates are computed
 */
export async function align(
  query: EncodedQuery,
  candidates: readonly Candidate[],
  paths: readonly AffineAlignment[] | undefined,
  { evidence, alignedMaxEValue = Infinity }: Pick<SearchSettings, 'evidence' | 'alignedMaxEValue'>,
  engine: SearchEngine,
  options: KernelOptions,
): Promise<readonly Candidate[]> {
  if (evidence === 'candidate_measurement') return candidates;
  const isAligned = (candidate: Candidate): boolean => (eValueOf(candidate) ?? Infinity) <= alignedMaxEValue;
  const pathsInOrder = paths ?? (await findPaths(query, candidates.filter(isAligned), engine, options));
  const next = pathsInOrder.values();
  const { targets } = engine.release;
  return mapInTurns(candidates, (candidate) => {
    if (!isAligned(candidate)) return candidate;
    const alignment = tracePath(next.next().value!, query.sequence, targets.sequence(candidate.targetIndex));
    return { ...candidate, alignment };
  });
}

/**
 * Adds further alignments to the aligned candidates that have E-values, if the settings have bounds for them. A further
 * alignment is judged as if its free stretches (`freeStretches`) were whole proteins: by their lengths and MaxSim.
 * Errors  Fault of the kernels or of the release's files; the signal's reason
 */
export async function alignFurther(
  query: EncodedQuery,
  candidates: readonly Candidate[],
  judge: JudgeAlignment,
  { alignments: bounds, significance }: Pick<SearchSettings, 'alignments' | 'significance'>,
  engine: SearchEngine,
  options: KernelOptions,
): Promise<readonly Candidate[]> {
  if (bounds === undefined || significance === 'not_requested') return candidates;
  const { maxCount, maxEValue } = bounds;
  const searched = candidates.flatMap((candidate) => {
    const leastScore = leastSearchedScore(candidate, judge, maxEValue);
    return leastScore === undefined ? [] : [{ targetIndex: candidate.targetIndex, leastScore }];
  });
  // One more than are listed shows whether the largest count leaves out any.
  const count = Math.min(maxCount + 1, PAIR_ALIGNMENTS_MAX_COUNT);
  const lists = await findAllPaths(query, searched, count, engine, options);
  const furtherOf = new Map<number, FurtherAlignments>();
  const isSignificant = (each: FurtherAlignment | undefined): boolean =>
    each !== undefined && each.significance.eValue <= maxEValue;
  const several = searched
    .map(({ targetIndex }, at) => ({ targetIndex, ...lists[at] }))
    .filter(({ alignments }) => alignments.length > 1);
  const reader = several.length > 0 ? await openTokenReader(engine.release) : undefined;
  try {
    for (const { targetIndex, alignments: paths, isCut } of several) {
      const target = await reader!.read(targetIndex);
      const judged = await judgeFurther(query, { targetIndex, target, paths }, judge, engine, options);
      const significant = judged.filter(isSignificant);
      furtherOf.set(targetIndex, {
        alignments: significant.slice(0, maxCount - 1),
        isCut: significant.length >= maxCount || (isCut && isSignificant(judged.at(-1))),
      });
    }
  } finally {
    await reader?.close();
  }
  return candidates.map((candidate) => {
    if (candidate.alignment === undefined) return candidate;
    return { ...candidate, further: furtherOf.get(candidate.targetIndex) ?? NO_FURTHER };
  });
}

const NO_FURTHER: FurtherAlignments = Object.freeze({ alignments: [], isCut: false });

/**
 * Free stretches are shorter than the pair, so that an alignment in them has a smaller E-value than by the whole pair.
 * Alignments are looked for down to scores whose E-values by the whole pair are this many times too large.
 */
const SEARCHED_E_VALUE_FACTOR = 1_000;

/** Target of a pair, and the paths of its alignments, the best first. */
interface JudgedPair {
  readonly targetIndex: number;
  readonly target: QueryTokens;
  readonly paths: readonly AffineAlignment[];
}

/** Traces and judges the paths of a pair after the best one. */
async function judgeFurther(
  query: EncodedQuery,
  { targetIndex, target, paths }: JudgedPair,
  judge: JudgeAlignment,
  { backend, release }: SearchEngine,
  options: KernelOptions,
): Promise<readonly FurtherAlignment[]> {
  const { inverse_step: inverseStep, dimension } = release.manifest.encoder;
  const stretchOf = ({ values }: QueryTokens, start: number, end: number): QueryTokens => ({
    values: values.subarray(start * dimension, end * dimension),
    length: end - start,
  });
  const judged: FurtherAlignment[] = [];
  for (let at = 1; at < paths.length; at += 1) {
    const path = paths[at];
    const free = freeStretches(path, paths.slice(0, at), query.tokens.length, target.length);
    const queryPart = stretchOf(query.tokens, free.queryStart, free.queryEnd);
    const targetPart = stretchOf(target, free.targetStart, free.targetEnd);
    const sums = await maxsimOfPair(backend, dimension, queryPart, targetPart, options);
    const { bidirectional } = maxsimDistances(sums, queryPart.length, targetPart.length, inverseStep);
    judged.push({
      ...tracePath(path, query.sequence, release.targets.sequence(targetIndex)),
      rawScore: path.score,
      significance: judge(targetIndex, path.score, {
        queryLength: queryPart.length,
        targetLength: targetPart.length,
        meanClosestCosine: 1 - bidirectional,
      })!,
    });
  }
  return judged;
}

async function maxsimOfPair(
  backend: KernelBackend,
  dimension: number,
  query: QueryTokens,
  { values, length }: QueryTokens,
  options: KernelOptions,
): Promise<{ readonly queryToTarget: number; readonly targetToQuery: number }> {
  const source = { dimension, residueStarts: Uint32Array.of(0, length), tokens: { values } };
  const store = await openInMemory(source, backend);
  const [{ queryToTarget, targetToQuery }] = await backend.maxsim(store, [query], undefined, options);
  return { queryToTarget: queryToTarget[0], targetToQuery: targetToQuery[0] };
}

/** Stretches of a query and a target. Zero-based and half-open. */
type Stretches = Pick<AffineAlignment, 'queryStart' | 'queryEnd' | 'targetStart' | 'targetEnd'>;

/**
 * Returns the stretches around an alignment that share no residue pair with an earlier one. Each earlier alignment cuts
 * off one side: that of query and target which leaves more residue pairs, and the target's if both leave as many.
 */
export function freeStretches(
  own: Stretches,
  earlier: readonly Stretches[],
  queryLength: number,
  targetLength: number,
): Stretches {
  let free = { queryStart: 0, queryEnd: queryLength, targetStart: 0, targetEnd: targetLength };
  const area = ({ queryStart, queryEnd, targetStart, targetEnd }: Stretches): number =>
    (queryEnd - queryStart) * (targetEnd - targetStart);
  for (const other of earlier) {
    const cuts = [
      own.targetStart >= other.targetEnd && {
        ...free,
        targetStart: Math.max(free.targetStart, other.targetEnd),
      },
      own.targetEnd <= other.targetStart && {
        ...free,
        targetEnd: Math.min(free.targetEnd, other.targetStart),
      },
      own.queryStart >= other.queryEnd && { ...free, queryStart: Math.max(free.queryStart, other.queryEnd) },
      own.queryEnd <= other.queryStart && { ...free, queryEnd: Math.min(free.queryEnd, other.queryStart) },
    ].filter((cut) => cut !== false);
    free = cuts.reduce((best, cut) => (area(cut) > area(best) ? cut : best));
  }
  return free;
}

/** Least score at which further alignments are looked for; undefined if the best alignment scores less. */
function leastSearchedScore(
  { targetIndex, affine, alignment }: Candidate,
  judge: JudgeAlignment,
  maxEValue: number,
): number | undefined {
  if (alignment === undefined) return undefined;
  const isSignificant = (score: number): boolean =>
    (judge(targetIndex, score)?.eValue ?? Infinity) <= maxEValue * SEARCHED_E_VALUE_FACTOR;
  let high = affine.rawScore;
  if (high < 1 || !isSignificant(high)) return undefined;
  // E-values fall with scores, so that a bisection finds the least score.
  let low = 0;
  while (high - low > 1) {
    const middle = (low + high) >>> 1;
    if (isSignificant(middle)) high = middle;
    else low = middle;
  }
  return high;
}

/**
 * Follows an alignment path from pair to pair, for the extended CIGAR and the counts.
 * Unit    identity = identical residues ÷ alignment columns (pairs and gap residues), as BLAST counts it;
 *         coverage = share of a sequence between the alignment's two ends
 * Range   an alignment of score 0 has an empty CIGAR and zero counts and ratios
 */
export function tracePath(path: AffineAlignment, query: string, target: string): PairwiseAlignment {
  const cigar = new CigarWriter();
  let queryAt = path.queryStart;
  let targetAt = path.targetStart;
  let pairs = 0;
  let identical = 0;
  let gapOpenings = 0;
  let gapResidues = 0;
  for (const run of path.runs) {
    const length = run >>> 2;
    const kind = run & RUN_KIND_MASK;
    if (kind === RUN_PAIR) {
      for (let step = 0; step < length; step += 1, queryAt += 1, targetAt += 1) {
        identical += cigar.pair(query[queryAt], target[targetAt]) ? 1 : 0;
      }
      pairs += length;
      continue;
    }
    cigar.gap(kind === RUN_INSERTION ? 'I' : 'D', length);
    gapOpenings += 1;
    gapResidues += length;
    if (kind === RUN_INSERTION) queryAt += length;
    if (kind === RUN_DELETION) targetAt += length;
  }
  const columns = pairs + gapResidues;
  return {
    alignedResidueCount: pairs,
    cigar: cigar.toString(),
    gapOpeningCount: gapOpenings,
    gapResidueCount: gapResidues,
    identicalResidueCount: identical,
    queryCoverageRatio: (path.queryEnd - path.queryStart) / query.length,
    queryStart: path.queryStart,
    queryEnd: path.queryEnd,
    queryLength: query.length,
    sequenceIdentityRatio: columns === 0 ? 0 : identical / columns,
    targetCoverageRatio: (path.targetEnd - path.targetStart) / target.length,
    targetStart: path.targetStart,
    targetEnd: path.targetEnd,
    targetLength: target.length,
  };
}

/**
 * Moves the alignments of a stretch to the coordinates of its query. E-values, MaxSim and the digest stay those of the
 * stretch.
 * @param start  first residue of the stretch, zero-based
 * @param queryLength  residues of the whole query
 */
export function inWhole(result: SearchResult, start: number, queryLength: number): SearchResult {
  const moved = <Alignment extends PairwiseAlignment>(alignment: Alignment): Alignment => {
    // An empty alignment has no place.
    if (alignment.cigar === '') return { ...alignment, queryLength };
    const { queryStart, queryEnd } = alignment;
    return {
      ...alignment,
      queryStart: queryStart + start,
      queryEnd: queryEnd + start,
      queryLength,
      queryCoverageRatio: (queryEnd - queryStart) / queryLength,
    };
  };
  const candidates = result.candidates.map((candidate) => {
    const { alignment, further } = candidate;
    return {
      ...candidate,
      ...(alignment && { alignment: moved(alignment) }),
      ...(further && { further: { ...further, alignments: further.alignments.map(moved) } }),
    };
  });
  return { ...result, candidates };
}
