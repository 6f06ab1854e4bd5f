import type { AffineAlignment, KernelBackend, KernelOptions, QueryTokens } from '../kernels/kernels.js';
import { openInMemory } from '../kernels/memory-store.js';
import { sourceOf, tokensOfStretch } from '../kernels/stretch-tokens.js';
import { ALIGNMENTS_REFINED_EXPECTED_FALSE_HITS, PAIR_ALIGNMENTS_MAX_COUNT } from '../limits.js';
import { openTokenReader } from '../release/rows/token-reader.js';
import { tracePath } from './align.js';
import { countWithin, largestListed, largestRefined, logAcceptedShare } from './pairs/accepted.js';
import type {
  AlignmentSignificance,
  JudgeAlignment,
  SupportedSignificance,
} from './pairs/candidate-significance.js';
import { maxsimDistances } from './rank.js';
import { findAllPaths } from './rescore.js';
import type {
  AlignmentBounds,
  Candidate,
  EncodedQuery,
  FurtherAlignment,
  FurtherAlignments,
  SearchEngine,
  SearchSettings,
} from './search-types.js';
import {
  areEqual,
  areOfOnePiece,
  extended,
  freeStretches,
  ownStretches,
  type Stretches,
} from './pairs/places.js';
import { movedBy, pathWithin } from './pairs/path-within.js';
import { windowOf } from './pairs/windows.js';
import { openStretches } from './stretches.js';

/**
 * Adds further alignments to the aligned candidates with an E-value of at most 10 or of the bound, if the settings have
 * bounds for them. A further alignment is judged as if its free stretches (`freeStretches`) were whole proteins: by
 * their lengths and MaxSim. In a release without homologs, all alignments are then refined by the tokens of their own
 * stretches (createRefinement).
 * Errors  Fault of encoder or kernels, or of the release's files; the signal's reason
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
  const firstCount = countWithin(candidates, maxEValue);
  // The formats that align only what they write have this bound, too (cli/search/run-search.ts).
  const largestPair = Math.max(ALIGNMENTS_REFINED_EXPECTED_FALSE_HITS, maxEValue);
  const searched = candidates.flatMap((candidate) => {
    const { targetIndex, significance: ofPair } = candidate;
    if (ofPair.kind !== 'supported' || ofPair.eValue > largestPair) return [];
    const leastScore = leastSearchedScore(candidate, judge, largestSearched(ofPair, firstCount, maxEValue));
    return leastScore === undefined ? [] : [{ targetIndex, leastScore, ofPair }];
  });
  // One more than are listed shows whether the largest count leaves out any.
  const count = Math.min(maxCount + 1, PAIR_ALIGNMENTS_MAX_COUNT);
  const lists = await findAllPaths(query, searched, count, engine, options);
  const judgedOf = new Map<number, JudgedAlignments>();
  const refine =
    createRefinement(query, maxEValue, engine, options) ??
    createPathFinder(query, maxEValue, engine, options);
  const reader = await openTokenReader(engine.release);
  try {
    for (const [at, { targetIndex, ofPair }] of searched.entries()) {
      const { alignments: paths, isCut } = lists[at];
      const tokens = paths.length === 1 ? undefined : await reader.read(targetIndex);
      const further =
        tokens === undefined
          ? []
          : await judgeFurther(query, { targetIndex, paths, tokens }, judge, engine, options);
      const plain = [{ path: paths[0], rawScore: paths[0].score, significance: ofPair }, ...further];
      const { logCount } = ofPair.population;
      const refined = await refine({ targetIndex, tokens, logCount }, plain);
      const isRefined = refined[0] !== plain[0];
      judgedOf.set(targetIndex, { paths: refined, isRefined, isCut, ofPair });
    }
  } finally {
    await reader.close();
  }
  const acceptedCount = [...judgedOf.values()].filter((judged) => isAccepted(judged, maxEValue)).length;
  return candidates.map((candidate) => {
    const { targetIndex, alignment } = candidate;
    if (alignment === undefined) return candidate;
    const judged = judgedOf.get(targetIndex);
    if (judged === undefined) return { ...candidate, further: NO_FURTHER };
    const target = engine.release.targets.sequence(targetIndex);
    const listed = (each: JudgedPath): FurtherAlignment => traced(each, query.sequence, target);
    return { ...candidate, further: listAlignments(judged, acceptedCount, bounds, listed) };
  });
}

/** Candidates that have more alignments than the largest count. */
export function cutCountOf(candidates: readonly Candidate[]): number {
  return candidates.filter(({ further }) => further?.isCut).length;
}

const NO_FURTHER: FurtherAlignments = Object.freeze({ alignments: [], isCut: false });

/** All alignments of a candidate with their E-values, the best first. */
interface JudgedAlignments {
  readonly paths: readonly JudgedPath[];
  /** Whether the best one differs from that of the whole proteins. */
  readonly isRefined: boolean;
  /** Whether more paths were found than were judged. */
  readonly isCut: boolean;
  readonly ofPair: SupportedSignificance;
}

function isAccepted({ paths, ofPair }: JudgedAlignments, maxEValue: number): boolean {
  const ofPaths = paths.map(({ significance }) => significance.eValue);
  return Math.min(ofPair.eValue, ...ofPaths) <= maxEValue;
}

function listAlignments(
  judged: JudgedAlignments,
  acceptedCount: number,
  { maxCount, maxEValue }: AlignmentBounds,
  listed: (path: JudgedPath) => FurtherAlignment,
): FurtherAlignments {
  const { paths, isRefined, isCut, ofPair } = judged;
  const [best, ...others] = paths;
  const share = isAccepted(judged, maxEValue)
    ? { logAcceptedShare: logAcceptedShare(acceptedCount, ofPair.population.logCount) }
    : {};
  const largest = largestListed(maxEValue, share.logAcceptedShare ?? 0, ofPair.population.logCount);
  const isListed = ({ significance }: JudgedPath): boolean => significance.eValue <= largest;
  const significant = others.filter(isListed);
  const isLastListed = others.length > 0 && isListed(others.at(-1)!);
  return {
    ...(isRefined && { best: listed(best) }),
    alignments: significant.slice(0, maxCount - 1).map(listed),
    isCut: significant.length >= maxCount || (isCut && isLastListed),
    ...share,
  };
}

/**
 * Free stretches are shorter than the pair, so that an alignment in them has a smaller E-value than by the whole pair.
 * Alignments are looked for down to scores whose E-values by the whole pair are this many times too large.
 */
const SEARCHED_E_VALUE_FACTOR = 1_000;

/** Largest E-value by the whole pair that alignments are looked for. */
function largestSearched(
  { eValue, population }: SupportedSignificance,
  acceptedCount: number,
  maxEValue: number,
): number {
  const { logCount } = population;
  const logShare = eValue <= maxEValue ? logAcceptedShare(acceptedCount, logCount) : 0;
  return Math.max(maxEValue * SEARCHED_E_VALUE_FACTOR, largestListed(maxEValue, logShare, logCount));
}

function traced(
  { path, rawScore, significance }: JudgedPath,
  query: string,
  target: string,
): FurtherAlignment {
  const { eValue, logEValue, bitScore } = significance;
  return {
    ...tracePath(path, query, target),
    rawScore,
    significance: { eValue, logEValue, bitScore },
  };
}

/** Target of a pair, and the paths of its alignments, the best first. */
interface JudgedPair {
  readonly targetIndex: number;
  readonly paths: readonly AffineAlignment[];
  readonly tokens: QueryTokens;
}

/** Judges the paths of a pair after the best one. */
async function judgeFurther(
  query: EncodedQuery,
  { targetIndex, paths, tokens: target }: JudgedPair,
  judge: JudgeAlignment,
  { backend, release }: SearchEngine,
  options: KernelOptions,
): Promise<readonly JudgedPath[]> {
  const { inverse_step: inverseStep } = release.manifest.encoder;
  const judged: JudgedPath[] = [];
  for (let at = 1; at < paths.length; at += 1) {
    const path = paths[at];
    const free = freeStretches(path, paths.slice(0, at), query.tokens.length, target.length);
    const queryPart = tokensOfStretch(query.tokens, free.queryStart, free.queryEnd);
    const targetPart = tokensOfStretch(target, free.targetStart, free.targetEnd);
    const sums = await maxsimOfPair(backend, queryPart, targetPart, options);
    const { bidirectional } = maxsimDistances(sums, queryPart.length, targetPart.length, inverseStep);
    const lengths = { queryLength: queryPart.length, targetLength: targetPart.length };
    const significance = judge(targetIndex, path.score, { ...lengths, meanClosestCosine: 1 - bidirectional });
    judged.push({ path, rawScore: path.score, significance: significance! });
  }
  return judged;
}

async function maxsimOfPair(
  backend: KernelBackend,
  query: QueryTokens,
  target: QueryTokens,
  options: KernelOptions,
): Promise<{ readonly queryToTarget: number; readonly targetToQuery: number }> {
  const store = await openInMemory(sourceOf(target), backend);
  const [{ queryToTarget, targetToQuery }] = await backend.maxsim(store, [query], undefined, options);
  return { queryToTarget: queryToTarget[0], targetToQuery: targetToQuery[0] };
}

/** Least score at which further alignments are looked for; undefined if the best alignment scores less. */
function leastSearchedScore(
  { targetIndex, affine, alignment }: Candidate,
  judge: JudgeAlignment,
  largest: number,
): number | undefined {
  if (alignment === undefined) return undefined;
  const isSignificant = (score: number): boolean =>
    (judge(targetIndex, score)?.eValue ?? Infinity) <= largest;
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

/*
 * The encoder sees what stands beside a domain, and MaxSim counts all residues of a protein. A domain of a long protein
 * so has other tokens and a larger E-value than alone. Each alignment of a pair is therefore judged two more times, by
 * stretches that are encoded as proteins of their own:
 *
 *   own stretches   around the alignment up to the other alignments of the pair (`ownStretches`)
 *   windows         the shortest of a fixed set of windows of both proteins that hold it (`windowOf`)
 *
 * Stretches count if their best alignment is of the same piece (`areOfOnePiece`). The E-value is the smallest of
 * three: that of the whole proteins, 10 times that of the own stretches, and that of the windows times 10 · pairs of
 * windows of such lengths. The smallest of many E-values is small by chance, so that each has a factor.
 *
 * Neither kind of stretch depends on where in it the alignment ends. Stretches that are cut at the ends of the
 * alignment itself would give false alignments much too small E-values.
 *
 * The path is that of the own stretches, cut where they reach far beyond the alignment.
 */

/** A path and its significance. */
interface JudgedPath {
  readonly path: AffineAlignment;
  /** Score of the alignment in the whole proteins. */
  readonly rawScore: number;
  readonly significance: AlignmentSignificance;
}

/**
 * Refines the alignments of one pair, the best first. Returns as many, in their order; two that share no residue pair
 * share none after it. An alignment that stays as it is is the same object.
 * Errors  Fault of encoder or kernels; the signal's reason
 */
type Refine = (target: RefinedTarget, plain: readonly JudgedPath[]) => Promise<readonly JudgedPath[]>;

interface RefinedTarget {
  readonly targetIndex: number;
  /** Undefined for a target with one alignment. */
  readonly tokens: QueryTokens | undefined;
  /** ln of the number of targets that E-values count among. */
  readonly logCount: number;
}

/** Factor on the E-values of stretches. The two kinds of them so add a fifth to the false hits of whole proteins. */
const CHOICE_FACTOR = 10;
/** Residues around an alignment that its path is sought in. */
const MARGIN = 30;

/**
 * Undefined for means over homologs: tokens of stretches are known where tokens are those of one protein.
 */
export function createRefinement(
  { sequence: query, tokens, hasMeanTokens = false }: EncodedQuery,
  maxEValue: number,
  engine: SearchEngine,
  options: KernelOptions,
): Refine | undefined {
  const { release, calibration } = engine;
  const hasProfiles = release.tokens.profiles !== undefined || tokens.profile !== undefined;
  if (hasProfiles || hasMeanTokens || calibration === undefined) return undefined;
  const alignStretches = openStretches(engine, calibration, options);
  return async ({ targetIndex, logCount }, plain) => {
    const target = release.targets.sequence(targetIndex);
    const whole = wholeOf(query, target);
    const align = async (at: Stretches) => {
      const { scored, path, logProbability } = await alignStretches(
        query.slice(at.queryStart, at.queryEnd),
        target.slice(at.targetStart, at.targetEnd),
      );
      return {
        scored: async () => movedBy(await scored(), at),
        path: async () => movedBy(await path(), at),
        logProbability,
      };
    };
    /** ln E of an alignment by stretches among as many choices. */
    const logEValueIn = async (at: Stretches, known: AffineAlignment, choices: number): Promise<number> => {
      if (areEqual(at, whole)) return Infinity;
      const { scored, logProbability } = await align(at);
      const log = areOfOnePiece(await scored(), known) ? await logProbability() : undefined;
      return log === undefined ? Infinity : log + logCount + Math.log(choices);
    };
    /** The path in the stretches, and then near to what it is there; the known one if it gets lost. */
    const pathIn = async (own: Stretches, known: AffineAlignment): Promise<AffineAlignment> => {
      const first = areEqual(own, whole) ? known : await (await align(own)).scored();
      const near = extended(areOfOnePiece(first, known) ? first : known, MARGIN, own);
      const path = await (await align(near)).path();
      return areOfOnePiece(path, known) ? path : known;
    };
    const refined = plain.slice();
    const largest = largestRefined(maxEValue, logCount);
    for (const [at, judged] of plain.entries()) {
      if (!isRefined(judged, largest)) continue;
      const { path: known, rawScore, significance } = judged;
      const own = ownStretches(known, othersOf(refined, at, largest), query.length, target.length);
      const queryWindow = windowOf({ start: known.queryStart, end: known.queryEnd }, query.length);
      const targetWindow = windowOf({ start: known.targetStart, end: known.targetEnd }, target.length);
      const windows = {
        queryStart: queryWindow.start,
        queryEnd: queryWindow.end,
        targetStart: targetWindow.start,
        targetEnd: targetWindow.end,
      };
      const logEValue = Math.min(
        significance.logEValue,
        await logEValueIn(own, known, CHOICE_FACTOR),
        await logEValueIn(windows, known, CHOICE_FACTOR * queryWindow.count * targetWindow.count),
      );
      const path = await pathIn(own, known);
      if (path === known && logEValue === significance.logEValue) continue;
      const bitScore = (logCount + calibration.logLevel - logEValue) / Math.LN2;
      refined[at] = {
        path,
        rawScore,
        significance:
          logEValue === significance.logEValue
            ? significance
            : { eValue: Math.exp(logEValue), logEValue, bitScore },
      };
    }
    return refined;
  };
}

/**
 * Creates the refinement of databases with homologs. It leaves E-values as they are. Where a pair has several
 * alignments, each path is found anew between the others by the parameters of paths.
 */
export function createPathFinder(
  query: EncodedQuery,
  maxEValue: number,
  engine: SearchEngine,
  options: KernelOptions,
): Refine {
  return async ({ targetIndex, tokens, logCount }, plain) => {
    if (tokens === undefined) return plain;
    const sequence = engine.release.targets.sequence(targetIndex);
    const target = { sequence, tokens };
    const found = plain.slice();
    const largest = largestRefined(maxEValue, logCount);
    for (const [at, judged] of plain.entries()) {
      if (!isRefined(judged, largest)) continue;
      const { path: known } = judged;
      const others = othersOf(found, at, largest);
      const own = ownStretches(known, others, query.sequence.length, sequence.length);
      const path = await pathWithin(query, target, extended(known, MARGIN, own), engine, options);
      if (areOfOnePiece(path, known)) found[at] = { ...judged, path };
    }
    return found;
  };
}

/** Alignments that are refined: those with an E-value up to `largest`. */
function isRefined({ significance }: JudgedPath, largest: number): boolean {
  return significance.eValue <= largest;
}

/** Other alignments that bound the stretches of one. */
function othersOf(list: readonly JudgedPath[], at: number, largest: number): readonly AffineAlignment[] {
  return list.filter((other, place) => place !== at && isRefined(other, largest)).map(({ path }) => path);
}

function wholeOf(query: string, target: string): Stretches {
  return { queryStart: 0, queryEnd: query.length, targetStart: 0, targetEnd: target.length };
}
