import {
  EVIDENT_EXPECTED_FALSE_HITS,
  POLICY_FORMAT,
  REQUIRED_RECALL,
  isQualifiedPolicy,
  policyDefinition,
  policyId,
  type PolicyCard,
} from '../calibration/policy-card.js';
import { writePolicyCard } from '../calibration/policy-sidecar.js';
import { Refusal } from '../errors.js';
import { sampleDistinct, seededRandom, type Random } from '../random.js';
import { poolOf } from '../search/sampled/finalists.js';
import type { FinalistCounts } from '../search/search-types.js';
import { measurePlaces, type Place, type QueryPlaces, type SweptPlaces } from './places.js';
import type { QualifyOptions } from './options.js';
import { recallOf } from './recall.js';

const DEFAULT_QUERY_COUNT = 200;
const STRATA = 4;
/** Nearest finalists that are tried, and striking ones as shares of them; the least that qualify serve. */
const NEAREST_COUNTS = [250, 500, 1_000, 2_000, 4_000, 8_000];
const STRIKING_SHARES = [1 / 2, 1, 2];
/** More nearest finalists than this share of a release would save nothing. */
const LARGEST_SHARE = 1 / 8;
/** Cells of all queries' alignments, a quarter of an hour of one core; where there are more, targets are sampled. */
const ALIGNED_MAX_CELLS = 4e12;

/**
 * Measures what the sampled policy keeps of the exhaustive answer and writes the card beside the release, whether or
 * not it qualifies.
 * Errors  Refusal `qualification_impossible` where the release is too small to save anything, or its proteins have
 *         relatives; Fault of kernels, encoder or disk; the signal's reason
 * Cost    for each query an exhaustive search and an alignment with every target
 */
export async function qualifyRelease(options: QualifyOptions): Promise<PolicyCard> {
  const { release, calibration } = options.engine;
  const counts = NEAREST_COUNTS.filter((count) => count <= release.targets.count * LARGEST_SHARE);
  if (release.manifest.relatives !== undefined) throw withRelatives(release.id);
  if (counts.length === 0) throw tooSmall(release.id, release.targets.count);
  const seed = options.seed ?? 1;
  const random = seededRandom(seed);
  const queries = chooseQueries(options, random);
  const aligned = chooseAligned(options, queries, random);
  const most = counts[counts.length - 1];
  const largest = { nearestCount: most, strikingCount: most * STRIKING_SHARES[STRIKING_SHARES.length - 1] };
  const places = await measurePlaces(queries, aligned, { ...options, counts: largest });
  const tried = finalistCounts(counts).map((finalists) => ({
    ...finalists,
    ...recallsOf(places, finalists),
  }));
  const cards = tried.map(({ nearest_count: nearest, striking_count: striking, ...recalls }): PolicyCard => {
    const policy = policyDefinition(nearest, striking);
    return {
      format: POLICY_FORMAT,
      release_id: release.id,
      calibration_id: calibration?.id ?? null,
      policy_id: policyId(policy),
      policy,
      seed,
      evident_expected_false_hits: EVIDENT_EXPECTED_FALSE_HITS,
      aligned_target_count: aligned.length,
      recalls,
      strata: strataOf(places, policy),
      tried,
      required_recall: REQUIRED_RECALL,
    };
  });
  const card = cards.find(isQualifiedPolicy) ?? cards[cards.length - 1];
  await writePolicyCard(release.directory, card);
  return card;
}

type Finalists = Pick<PolicyCard['policy'], 'nearest_count' | 'striking_count'>;

/** From few finalists to many. */
function finalistCounts(nearestCounts: readonly number[]): readonly Finalists[] {
  return nearestCounts
    .flatMap((nearest) =>
      STRIKING_SHARES.map((share) => ({ nearest_count: nearest, striking_count: nearest * share })),
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

function recallsOf(places: readonly QueryPlaces[], finalists: Finalists): PolicyCard['recalls'] {
  const { nearest_count: nearestCount, striking_count: strikingCount } = finalists;
  const isWithin = ({ byNearness, byExcess }: Place, most: FinalistCounts): boolean =>
    byNearness <= most.nearestCount || byExcess <= most.strikingCount;
  // Places in a larger pool are no better than in the policy's own.
  const isFinalist = ({ coarse, fine }: SweptPlaces): boolean =>
    isWithin(coarse, poolOf({ nearestCount, strikingCount })) &&
    isWithin(fine, { nearestCount, strikingCount });
  const found = (list: readonly SweptPlaces[]): { wantedCount: number; foundCount: number } => ({
    wantedCount: list.length,
    foundCount: list.filter(isFinalist).length,
  });
  const isJudged = places.some(({ evident }) => evident !== undefined);
  return {
    nearest_10: recallOf(places.map(({ nearest }) => found(nearest.slice(0, 10)))),
    nearest_100: recallOf(places.map(({ nearest }) => found(nearest))),
    evident: isJudged ? recallOf(places.map(({ evident }) => found(evident ?? []))) : null,
  };
}

/** The queries stand in order of length. */
function strataOf(places: readonly QueryPlaces[], finalists: Finalists): PolicyCard['strata'] {
  const shares = Array.from({ length: Math.min(STRATA, places.length) }, (_, share) =>
    places.slice(
      Math.floor((share * places.length) / STRATA),
      Math.floor(((share + 1) * places.length) / STRATA),
    ),
  ).filter((share) => share.length > 0);
  return shares.map((share) => ({
    minimum_residues: share[0].queryLength,
    maximum_residues: share[share.length - 1].queryLength,
    ...recallsOf(share, finalists),
  }));
}

/** What queries with relatives find has not been measured, nor how many of their rows strike. */
function withRelatives(releaseId: string): Refusal {
  return new Refusal(
    'qualification_impossible',
    `The proteins of release ${releaseId} have relatives, for which the approximate policy has not been measured. ` +
      'Searches compare all of them.',
    {},
  );
}

function tooSmall(releaseId: string, targetCount: number): Refusal {
  const least = NEAREST_COUNTS[0] / LARGEST_SHARE;
  return new Refusal(
    'qualification_impossible',
    `Release ${releaseId} has ${targetCount} proteins; an approximate policy saves something from ${least} on. ` +
      'Searches compare all of them.',
    { targets: targetCount },
  );
}
