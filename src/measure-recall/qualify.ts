import {
  CODED_REQUIRED_EVIDENT_RECALL,
  CODED_REQUIRED_RECALL,
  EVIDENT_EXPECTED_FALSE_HITS,
  POOL_SHARE,
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
import { sampleDistinct, seededRandom, type Random } from '../random.js';
import { openCodebookOf } from '../recall/codebook-sidecar.js';
import type { RescoreCounts, SearchEngine } from '../search/search-types.js';
import { writeCodebook } from './codebook.js';
import {
  measureRanks,
  prefilterCountsOfPolicy,
  type OrderRanks,
  type PrefilterRanks,
  type QueryRanks,
} from './prefilter-ranks.js';
import type { QualifyOptions } from './options.js';
import { recallOf, type RetrievedCounts } from './recall.js';

const DEFAULT_QUERY_COUNT = 200;
const STRATA = 4;
/** Parameters of the candidate policies. The smallest policy that qualifies is chosen. */
interface Trial {
  /** Numbers of nearest targets to rescore, and numbers of local matches as multiples of them. */
  readonly nearestCounts: readonly number[];
  readonly localShares: readonly number[];
  /** Largest useful number of nearest targets, as a share of the release. */
  readonly largestShare: number;
  readonly required: Pick<PolicyCard, 'required_recall' | 'required_evident_recall'>;
}

const TRIALS: Readonly<Record<PolicyKind, Trial>> = {
  sampled: {
    nearestCounts: [250, 500, 1_000, 2_000, 4_000, 8_000],
    localShares: [1 / 2, 1, 2, 3, 4],
    largestShare: 1 / 8,
    required: { required_recall: REQUIRED_RECALL },
  },
  coded: {
    nearestCounts: [100, 200, 400, 800],
    localShares: [1 / 2, 1],
    largestShare: POOL_SHARE,
    required: {
      required_recall: CODED_REQUIRED_RECALL,
      required_evident_recall: CODED_REQUIRED_EVIDENT_RECALL,
    },
  },
};
/** Upper bound of alignment cells: a quarter of an hour of one core. Above it a sample of the targets is aligned. */
const ALIGNED_MAX_CELLS = 4e12;

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
 * Cost    one exhaustive search per query, and an alignment with every aligned target
 */
export async function qualifyRelease(options: QualifyOptions): Promise<QualifiedRelease> {
  const { release, calibration } = options.engine;
  const policy = options.policy ?? 'sampled';
  const trial = TRIALS[policy];
  const counts = trial.nearestCounts.filter((count) => count <= release.targets.count * trial.largestShare);
  if (counts.length === 0) throw tooSmall(release.id, release.targets.count, policy);
  const seed = options.seed ?? 1;
  const random = seededRandom(seed);
  const queries = chooseQueries(options, random);
  const aligned = chooseAligned(options, queries, random);
  const { engine, codebook } = await withCodebook(options);
  const shares = trial.localShares;
  const most = counts[counts.length - 1];
  const largest = { nearestCount: most, localCount: most * shares[shares.length - 1] };
  const ranks = await measureRanks(queries, aligned, { ...options, engine, counts: largest });
  const recalls = (
    some: readonly QueryRanks[],
    rescoreCandidates: RescoreCandidates,
  ): PolicyCard['recalls'] =>
    recallsOf(some, rescoreCandidates, (counted) => prefilterCountsOfPolicy(engine, counted));
  const tried = rescoreCounts(counts, shares).map((rescoreCandidates) => ({
    ...rescoreCandidates,
    ...recalls(ranks, rescoreCandidates),
  }));
  const cards = tried.map(({ nearest_count: nearest, striking_count: local, ...measured }): PolicyCard => {
    const policy = definitionOf({ nearest_count: nearest, striking_count: local }, { codes: codebook });
    return {
      format: POLICY_FORMAT,
      release_id: release.id,
      calibration_id: calibration?.id ?? null,
      policy_id: policyId(policy),
      policy,
      ...(codebook && { codes: codebook }),
      seed,
      evident_expected_false_hits: EVIDENT_EXPECTED_FALSE_HITS,
      aligned_target_count: aligned.length,
      recalls: measured,
      strata: strataOf(ranks, (share) => recalls(share, policy)),
      tried,
      ...trial.required,
    };
  });
  const card = cards.find(isQualifiedPolicy) ?? cards[cards.length - 1];
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
}: QualifyOptions): Promise<{ readonly engine: SearchEngine; readonly codebook?: PolicyCard['codes'] }> {
  const { release, threads } = engine;
  if (policy !== 'coded') return { engine: { ...engine, codebook: undefined } };
  const files = await writeCodebook(release, { signal, threads });
  return {
    engine: { ...engine, codebook: await openCodebookOf(release.directory, files, release.tokens) },
    codebook: files,
  };
}

/** Returns all combinations of counts, by ascending number of rescored candidates. */
function rescoreCounts(
  nearestCounts: readonly number[],
  localShares: readonly number[],
): readonly RescoreCandidates[] {
  return nearestCounts
    .flatMap((nearest) =>
      localShares.map((share) => ({ nearest_count: nearest, striking_count: nearest * share })),
    )
    .sort((a, b) => a.nearest_count + a.striking_count - (b.nearest_count + b.striking_count));
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

/** Draws the targets that every query is aligned with, ascending. */
function chooseAligned({ engine }: QualifyOptions, queries: readonly number[], random: Random): Uint32Array {
  const { targets, manifest } = engine.release;
  const queryResidues = queries.reduce((sum, target) => sum + targets.length(target), 0);
  const share = Math.min(1, ALIGNED_MAX_CELLS / (queryResidues * manifest.counts.residues));
  return sampleDistinct(targets.count, Math.ceil(share * targets.count), random);
}

function recallsOf(
  queryRanks: readonly QueryRanks[],
  rescoreCandidates: RescoreCandidates,
  prefilterCountsOf: (counts: RescoreCounts) => RescoreCounts,
): PolicyCard['recalls'] {
  const { nearest_count: nearestCount, striking_count: localCount } = rescoreCandidates;
  const isWithin = ({ byNearness, byExcess }: OrderRanks, most: RescoreCounts): boolean =>
    byNearness <= most.nearestCount || byExcess <= most.localCount;
  // A larger prefilter can only worsen the ranks, so that the measured ones are no better than the policy's own.
  const isRescored = ({ coarse, fine }: PrefilterRanks): boolean =>
    isWithin(coarse, prefilterCountsOf({ nearestCount, localCount })) &&
    isWithin(fine, { nearestCount, localCount });
  const countsOf = (list: readonly PrefilterRanks[]): RetrievedCounts => ({
    relevantCount: list.length,
    retrievedCount: list.filter(isRescored).length,
  });
  const hasEValues = queryRanks.some(({ evident }) => evident !== undefined);
  return {
    nearest_10: recallOf(queryRanks.map(({ nearest }) => countsOf(nearest.slice(0, 10)))),
    nearest_100: recallOf(queryRanks.map(({ nearest }) => countsOf(nearest))),
    evident: hasEValues ? recallOf(queryRanks.map(({ evident }) => countsOf(evident ?? []))) : null,
  };
}

/** Splits the queries, which are in order of length, into strata and measures each. */
function strataOf(
  queryRanks: readonly QueryRanks[],
  recalls: (share: readonly QueryRanks[]) => PolicyCard['recalls'],
): PolicyCard['strata'] {
  const shares = Array.from({ length: Math.min(STRATA, queryRanks.length) }, (_, share) =>
    queryRanks.slice(
      Math.floor((share * queryRanks.length) / STRATA),
      Math.floor(((share + 1) * queryRanks.length) / STRATA),
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
