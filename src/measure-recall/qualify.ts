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
  measurePlaces,
  prefilterCountsOfPolicy,
  type Place,
  type QueryPlaces,
  type SweptPlaces,
} from './places.js';
import type { QualifyOptions } from './options.js';
import { recallOf } from './recall.js';

const DEFAULT_QUERY_COUNT = 200;
const STRATA = 4;
/** What is tried of a policy; the least that qualifies serves. */
interface Trial {
  /** Nearest finalists, and striking ones as shares of them. */
  readonly nearestCounts: readonly number[];
  readonly localShares: readonly number[];
  /** More nearest finalists than this share of a release would save nothing. */
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
/** Cells of all queries' alignments, a quarter of an hour of one core; where there are more, targets are sampled. */
const ALIGNED_MAX_CELLS = 4e12;

/** What was measured, and the card that the release has now. */
export interface QualifiedRelease {
  readonly card: PolicyCard;
  readonly kept: PolicyCard;
}

/**
 * Measures what an approximate policy keeps of the exhaustive answer and writes the card beside the release, whether or
 * not it qualifies, unless it would take the place of a policy of the other kind that does; for the coded one it makes
 * the codes first.
 * Errors  Refusal `qualification_impossible` where the release is too small to save anything; Fault of kernels, encoder
 *         or disk; the signal's reason
 * Cost    for each query an exhaustive search and an alignment with every target
 */
export async function qualifyRelease(options: QualifyOptions): Promise<QualifiedRelease> {
  const { release, calibration } = options.engine;
  const trial = TRIALS[options.policy ?? 'sampled'];
  const counts = trial.nearestCounts.filter((count) => count <= release.targets.count * trial.largestShare);
  if (counts.length === 0) throw tooSmall(release.id, release.targets.count, trial);
  const seed = options.seed ?? 1;
  const random = seededRandom(seed);
  const queries = chooseQueries(options, random);
  const aligned = chooseAligned(options, queries, random);
  const { engine, codebook } = await withCodebook(options);
  const shares = trial.localShares;
  const most = counts[counts.length - 1];
  const largest = { nearestCount: most, localCount: most * shares[shares.length - 1] };
  const places = await measurePlaces(queries, aligned, { ...options, engine, counts: largest });
  const recalls = (of: readonly QueryPlaces[], rescoreCandidates: RescoreCandidates): PolicyCard['recalls'] =>
    recallsOf(of, rescoreCandidates, (pooled) => prefilterCountsOfPolicy(engine, pooled));
  const tried = rescoreCounts(counts, shares).map((rescoreCandidates) => ({
    ...rescoreCandidates,
    ...recalls(places, rescoreCandidates),
  }));
  const cards = tried.map(({ nearest_count: nearest, striking_count: local, ...found }): PolicyCard => {
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
      recalls: found,
      strata: strataOf(places, (share) => recalls(share, policy)),
      tried,
      ...trial.required,
    };
  });
  const card = cards.find(isQualifiedPolicy) ?? cards[cards.length - 1];
  const known = { releaseId: release.id, calibrationId: calibration?.id };
  // A damaged card is replaced.
  const offered = await openQualification(release.directory, known).catch(() => undefined);
  const kept = cardToStore(card, offered?.card);
  await writePolicyCard(release.directory, kept);
  return { card, kept };
}

/** The engine as the policy sees it: with codes, which are made now, or without any. */
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

/** From few finalists to many. */
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

/** One protein of each of `queryCount` equal shares of the release in order of length. */
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

/** Ascending: what every query is aligned with. */
function chooseAligned({ engine }: QualifyOptions, queries: readonly number[], random: Random): Uint32Array {
  const { targets, manifest } = engine.release;
  const queryResidues = queries.reduce((sum, target) => sum + targets.length(target), 0);
  const share = Math.min(1, ALIGNED_MAX_CELLS / (queryResidues * manifest.counts.residues));
  return sampleDistinct(targets.count, Math.ceil(share * targets.count), random);
}

function recallsOf(
  places: readonly QueryPlaces[],
  rescoreCandidates: RescoreCandidates,
  prefilterCountsOf: (counts: RescoreCounts) => RescoreCounts,
): PolicyCard['recalls'] {
  const { nearest_count: nearestCount, striking_count: localCount } = rescoreCandidates;
  const isWithin = ({ byNearness, byExcess }: Place, most: RescoreCounts): boolean =>
    byNearness <= most.nearestCount || byExcess <= most.localCount;
  // Places in a larger pool are no better than in the policy's own.
  const isRescored = ({ coarse, fine }: SweptPlaces): boolean =>
    isWithin(coarse, prefilterCountsOf({ nearestCount, localCount })) &&
    isWithin(fine, { nearestCount, localCount });
  const found = (list: readonly SweptPlaces[]): { wantedCount: number; foundCount: number } => ({
    wantedCount: list.length,
    foundCount: list.filter(isRescored).length,
  });
  const isJudged = places.some(({ evident }) => evident !== undefined);
  return {
    nearest_10: recallOf(places.map(({ nearest }) => found(nearest.slice(0, 10)))),
    nearest_100: recallOf(places.map(({ nearest }) => found(nearest))),
    evident: isJudged ? recallOf(places.map(({ evident }) => found(evident ?? []))) : null,
  };
}

/** The queries stand in order of length. */
function strataOf(
  places: readonly QueryPlaces[],
  recalls: (share: readonly QueryPlaces[]) => PolicyCard['recalls'],
): PolicyCard['strata'] {
  const shares = Array.from({ length: Math.min(STRATA, places.length) }, (_, share) =>
    places.slice(
      Math.floor((share * places.length) / STRATA),
      Math.floor(((share + 1) * places.length) / STRATA),
    ),
  ).filter((share) => share.length > 0);
  return shares.map((share) => ({
    minimum_residues: share[0].queryLength,
    maximum_residues: share[share.length - 1].queryLength,
    ...recalls(share),
  }));
}

function tooSmall(releaseId: string, targetCount: number, { nearestCounts, largestShare }: Trial): Refusal {
  const least = nearestCounts[0] / largestShare;
  return new Refusal(
    'qualification_impossible',
    `Release ${releaseId} has ${targetCount} proteins; this approximate policy saves something from ${least} on. ` +
      'Searches compare all of them.',
    { targets: targetCount },
  );
}
