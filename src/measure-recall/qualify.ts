import {
  CODED_REQUIRED_EVIDENT_RECALL,
  CODED_REQUIRED_RECALL,
  CODED_WANTED_EVIDENT_RECALL,
  CODED_WANTED_RECALL,
  EVIDENT_EXPECTED_FALSE_HITS,
  POLICY_FORMAT,
  REQUIRED_RECALL,
  cardToStore,
  definitionOf,
  isQualifiedPolicy,
  policyId,
  type RescoreCandidates,
  type PolicyCard,
  type PolicyKind,
} from '../recall/policy-card.js';
import { openQualification, writePolicyCard } from '../recall/policy-sidecar.js';
import { Refusal } from '../errors.js';
import { seededRandom, type Random } from '../random.js';
import { openCodebookOf } from '../recall/codebook-sidecar.js';
import { FIRST_STEP } from '../search/in-steps.js';
import type { SearchEngine } from '../search/search-types.js';
import { writeCodebook } from './codebook.js';
import { HEAD_COUNT } from './compared-targets.js';
import { measureRanks, type Relevant, type RelevantTargets } from './prefilter-ranks.js';
import type { QualifyOptions } from './options.js';
import { recallOf, type RelevantTarget } from './recall.js';

const DEFAULT_QUERY_COUNT = 200;
const STRATA = 4;
/** Parameters of the candidate policies. The cheapest policy with enough recall is chosen. */
interface Trial {
  /** Numbers of nearest targets to rescore, and numbers of local matches as multiples of them. */
  readonly nearestCounts: readonly number[];
  readonly localShares: readonly number[];
  /** Most nearest targets of the policy that is chosen. Policies with more of them answer for longer lists only. */
  readonly chosenMaxCount: number;
  /** Numbers of targets that a codebook leaves; none for a policy without one. */
  readonly poolCounts: readonly number[];
  /** Largest useful number of nearest targets, as a share of the release. */
  readonly largestShare: number;
  /** Recalls from which on a policy is chosen; absent for the required ones. */
  readonly wanted?: { readonly nearest: number; readonly evident: number };
  readonly required: Pick<PolicyCard, 'required_recall' | 'required_evident_recall'>;
}

const TRIALS: Readonly<Record<PolicyKind, Trial>> = {
  sampled: {
    nearestCounts: [250, 500, 1_000, 2_000, 4_000, 8_000],
    localShares: [1 / 2, 1, 2, 3, 4],
    chosenMaxCount: Infinity,
    poolCounts: [],
    largestShare: 1 / 8,
    required: { required_recall: REQUIRED_RECALL },
  },
  coded: {
    nearestCounts: [2, 4, 8, 16, 32, 64].map((factor) => factor * FIRST_STEP),
    localShares: [0],
    chosenMaxCount: 16 * FIRST_STEP,
    poolCounts: [300, 450, 600, 900, 1_200, 1_800, 2_400, 3_600, HEAD_COUNT],
    largestShare: 0.064,
    wanted: { nearest: CODED_WANTED_RECALL, evident: CODED_WANTED_EVIDENT_RECALL },
    required: {
      required_recall: CODED_REQUIRED_RECALL,
      required_evident_recall: CODED_REQUIRED_EVIDENT_RECALL,
    },
  },
};
/** Largest pool of a codebook, as a share of the release. A larger one would save little time. */
const LARGEST_POOL_SHARE = 1 / 3;
/** Prefilter hits whose sweep takes as long as one rescored candidate, measured on Zen 4. */
const HITS_PER_CANDIDATE = 16;
/** Recall below the best measured one that is given up for a cheaper policy. */
const NEARLY_BEST = 0.01;

/** The measured card, and the card that the release stores now. */
export interface QualifiedRelease {
  readonly card: PolicyCard;
  readonly stored: PolicyCard;
}

/**
 * Measures the recall of an approximate policy against exhaustive search and stores the card beside the release. A card
 * that does not qualify is stored, too, unless a qualified policy of the other kind is stored already. For the coded
 * policy the codebook is made first.
 * Errors  Refusal `qualification_impossible` if the release is too small for the policy to save time; Fault of
 *         kernels, encoder or token file; the signal's reason; those of the file system
 * Cost    a full comparison of each query with 12,000 targets of 28,000 and 20,000 of 400,000; for the coded policy
 *         also a codebook, in proportion to the residues
 */
export async function qualifyRelease(options: QualifyOptions): Promise<QualifiedRelease> {
  const { release, calibration } = options.engine;
  const policy = options.policy ?? 'sampled';
  const trial = TRIALS[policy];
  const counts = trial.nearestCounts.filter((count) => count <= release.targets.count * trial.largestShare);
  if (counts.length === 0) throw tooSmall(release.id, release.targets.count, policy);
  const seed = options.seed ?? 1;
  const queries = chooseQueries(options, seededRandom(seed));
  const { engine, codebook } = await withCodebook(options);
  const candidates = candidatesOf(trial, counts, release.targets.count);
  const relevant = await measureRanks(queries, { ...options, engine, candidates, seed });
  const tried = candidates.map((candidate) => ({ ...candidate, ...recallsOf(relevant, candidate) }));
  const cards = tried.map((one): PolicyCard => {
    const { nearest_10, nearest_100, evident } = one;
    const policy = definitionOf(one, { codes: codebook });
    return {
      format: POLICY_FORMAT,
      release_id: release.id,
      calibration_id: calibration?.id ?? null,
      policy_id: policyId(policy),
      policy,
      ...(codebook && { codes: codebook }),
      seed,
      evident_expected_false_hits: EVIDENT_EXPECTED_FALSE_HITS,
      compared_target_count: relevant[0].comparedCount,
      recalls: { nearest_10, nearest_100, evident },
      strata: strataOf(relevant, (share) => recallsOf(share, policy)),
      tried,
      ...trial.required,
    };
  });
  const card = chooseCard(cards, trial);
  const identity = { releaseId: release.id, calibrationId: calibration?.id };
  // A damaged card is replaced.
  const offered = await openQualification(release.directory, identity).catch(() => undefined);
  const stored = cardToStore(card, offered?.card);
  await writePolicyCard(release.directory, stored);
  return { card, stored };
}

/** Returns the engine of the policy: with a new codebook for the coded policy, without one for the sampled policy. */
async function withCodebook({
  engine,
  policy,
  signal,
  onProgress,
}: QualifyOptions): Promise<{ readonly engine: SearchEngine; readonly codebook?: PolicyCard['codes'] }> {
  const { release, threads } = engine;
  if (policy !== 'coded') return { engine: { ...engine, codebook: undefined } };
  const files = await writeCodebook(release, { signal, threads, onProgress });
  return {
    engine: { ...engine, codebook: await openCodebookOf(release.directory, files, release) },
    codebook: files,
  };
}

/** Returns all combinations of counts, by ascending cost. */
function candidatesOf(
  { localShares, poolCounts }: Trial,
  nearestCounts: readonly number[],
  targetCount: number,
): readonly RescoreCandidates[] {
  const rescored = nearestCounts.flatMap((nearest) =>
    localShares.map((share) => ({ nearest_count: nearest, striking_count: nearest * share })),
  );
  const pools = poolCounts.filter((count, at) => at === 0 || count <= LARGEST_POOL_SHARE * targetCount);
  const withPools =
    pools.length === 0
      ? rescored
      : rescored.flatMap((counts) =>
          pools
            .filter((pool) => pool >= counts.nearest_count + counts.striking_count)
            .map((pool) => ({ ...counts, pool_count: pool })),
        );
  return withPools.sort((a, b) => costOf(a) - costOf(b));
}

/** Unit  rescored candidates */
function costOf({
  nearest_count: nearest,
  striking_count: local,
  pool_count: pool = 0,
}: RescoreCandidates): number {
  return nearest + local + pool / HITS_PER_CANDIDATE;
}

/**
 * Returns the card of the cheapest policy with the wanted recalls, or with nearly the best measured ones. Without
 * wanted recalls it is that of the cheapest qualified policy, or of the last one.
 */
function chooseCard(all: readonly PolicyCard[], { wanted, chosenMaxCount }: Trial): PolicyCard {
  const cards = all.filter(({ policy }) => policy.nearest_count <= chosenMaxCount);
  const last = cards[cards.length - 1];
  if (wanted === undefined) return cards.find(isQualifiedPolicy) ?? last;
  const nearestOf = ({ recalls }: PolicyCard): number => recalls.nearest_10.mean;
  const evidentOf = ({ recalls }: PolicyCard): number => recalls.evident?.mean ?? 1;
  const least = (recall: number, of: (card: PolicyCard) => number): number =>
    Math.min(recall, Math.max(...cards.map(of)) - NEARLY_BEST);
  const [nearest, evident] = [least(wanted.nearest, nearestOf), least(wanted.evident, evidentOf)];
  return cards.find((card) => nearestOf(card) >= nearest && evidentOf(card) >= evident) ?? last;
}

/** Draws one protein from each of `queryCount` equal shares of the release in order of length. */
function chooseQueries({ engine, queryCount }: QualifyOptions, random: Random): readonly number[] {
  const { targets } = engine.release;
  const byLength = Array.from({ length: targets.count }, (_, target) => target);
  byLength.sort((a, b) => targets.length(a) - targets.length(b) || a - b);
  const count = Math.min(queryCount ?? DEFAULT_QUERY_COUNT, targets.count);
  return Array.from({ length: count }, (_, share) => {
    const start = Math.floor((share * targets.count) / count);
    const end = Math.floor(((share + 1) * targets.count) / count);
    return byLength[start + random.below(end - start)];
  });
}

function recallsOf(
  relevant: readonly RelevantTargets[],
  candidate: RescoreCandidates,
): PolicyCard['recalls'] {
  const targetsOf = (list: readonly Relevant[]): readonly RelevantTarget[] =>
    list.map(({ isRescored, weight }) => ({ isRetrieved: isRescored(candidate), weight }));
  const hasEValues = relevant.some(({ evident }) => evident !== undefined);
  return {
    nearest_10: recallOf(relevant.map(({ nearest }) => targetsOf(nearest.slice(0, 10)))),
    nearest_100: recallOf(relevant.map(({ nearest }) => targetsOf(nearest))),
    evident: hasEValues ? recallOf(relevant.map(({ evident }) => targetsOf(evident ?? []))) : null,
  };
}

/** Splits the queries, which are in order of length, into strata and measures each. */
function strataOf(
  relevant: readonly RelevantTargets[],
  recalls: (share: readonly RelevantTargets[]) => PolicyCard['recalls'],
): PolicyCard['strata'] {
  const shares = Array.from({ length: Math.min(STRATA, relevant.length) }, (_, share) =>
    relevant.slice(
      Math.floor((share * relevant.length) / STRATA),
      Math.floor(((share + 1) * relevant.length) / STRATA),
    ),
  ).filter((share) => share.length > 0);
  return shares.map((share) => ({
    minimum_residues: share[0].queryLength,
    maximum_residues: share[share.length - 1].queryLength,
    ...recalls(share),
  }));
}

/** Smallest number of targets for which an approximate policy saves time. */
export function leastTargets(policy: PolicyKind): number {
  const { nearestCounts, largestShare } = TRIALS[policy];
  return nearestCounts[0] / largestShare;
}

function tooSmall(releaseId: string, targetCount: number, policy: PolicyKind): Refusal {
  return new Refusal(
    'qualification_impossible',
    `Release ${releaseId} has ${targetCount} proteins; this approximate policy saves time only from ` +
      `${leastTargets(policy)} on. Searches compare all of them.`,
    { targets: targetCount },
  );
}
