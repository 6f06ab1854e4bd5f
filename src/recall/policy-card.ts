import { valueId } from '../ids.js';
import type { FileCard } from '../significance/card.js';

/* The recall of a release's approximate policy, measured against exhaustive search. Member names are those on disk. */

/** Recall: the mean over queries of retrieved ÷ relevant targets, with its 95 % interval. */
export interface RecallCard {
  readonly query_count: number;
  readonly wanted_count: number;
  readonly found_count: number;
  readonly mean: number;
  readonly low: number;
  readonly high: number;
}

/** The three recalls that decide whether a policy qualifies. */
export interface RecallsCard {
  /** Recall of the 10 and the 100 targets that exhaustive search ranks first. */
  readonly nearest_10: RecallCard;
  readonly nearest_100: RecallCard;
  /** Recall of the aligned targets with an E-value of at most `evident_expected_false_hits`; null without E-values. */
  readonly evident: RecallCard | null;
}

/** The policy itself: its id (`pol_…`) is the canonical SHA-256 of this value. */
export interface PolicyDefinition {
  readonly guarantee: 'approximate';
  readonly measurement: 'maxsim.bidirectional';
  readonly population: 'all_eligible';
  readonly sampling_id: string;
  readonly frontier_id: string;
  /** The excess of a target sums, over query rows, the part of the closest cosine above this value. */
  readonly excess_cosine: number;
  /**
   * Targets that are rescored exactly. Sampled policy: the nearest by the sampled rows, and the best local matches.
   * Codebook policy: at most `nearest_count`, in steps; `striking_count` is 0.
   */
  readonly nearest_count: number;
  readonly striking_count: number;
  /** Sampled policy: the first sweep passes this multiple of the two counts to the second, which has more rows. */
  readonly pool_factor?: number;
  /**
   * Codebook policy: the codebook passes this many targets to the only sweep, the best ones by excess and by votes. The
   * number does not depend on the size of the release.
   */
  readonly pool_count?: number;
}

/** Numbers of targets that are rescored exactly, and of those that the codebook leaves. */
export type RescoreCandidates = Pick<PolicyDefinition, 'nearest_count' | 'striking_count' | 'pool_count'>;

/** Kind of prefilter: query subsampling alone, or a codebook before it. */
export type PolicyKind = 'sampled' | 'coded';

/** Files of a codebook beside the card, each named by its digest: the centroids, and the centroid ids of residues. */
export interface CodebookCard {
  readonly words: FileCard;
  readonly codes: FileCard;
}

/** The card of a policy. Its id (`qual_…`) is its canonical SHA-256. No member depends on the time or the machine. */
export interface PolicyCard {
  readonly format: typeof POLICY_FORMAT;
  readonly release_id: string;
  /** The calibration that gave the E-values; null if the release had none. */
  readonly calibration_id: string | null;
  readonly policy_id: string;
  readonly policy: PolicyDefinition;
  /** Present if the policy uses a codebook. */
  readonly codes?: CodebookCard;
  readonly seed: number;
  readonly evident_expected_false_hits: number;
  /** Number of targets that every query was compared with in full; absent on cards of earlier versions. */
  readonly compared_target_count?: number;
  readonly recalls: RecallsCard;
  /** Recalls by query length; both limits are inclusive. */
  readonly strata: readonly (RecallsCard & {
    readonly minimum_residues: number;
    readonly maximum_residues: number;
  })[];
  /** Recalls with other numbers of rescored candidates, by ascending total. */
  readonly tried: readonly (RecallsCard & RescoreCandidates)[];
  /** Least mean of each recall for a qualified policy. */
  readonly required_recall: number;
  /** Least mean of the evident recall, if it differs. */
  readonly required_evident_recall?: number;
}

export const POLICY_FORMAT = 'gloaming-policy/1';
/** File in the calibration's folder beside the release. A new calibration removes it. */
export const POLICY_FILE = 'policy.json';
/** Names of codebook files. They contain the digest, so that a card cannot choose a path. */
export const CODEBOOK_FILE_NAME = /^(words|codes)-[0-9a-f]{64}\.bin$/;
export const REQUIRED_RECALL = 0.99;
export const EVIDENT_EXPECTED_FALSE_HITS = 1e-3;
/** Measured on UniProt proteins: .5 and .6 need more candidates for the same recall; .7 misses distant homologs. */
export const EXCESS_COSINE = 0.55;
export const POOL_FACTOR = 4;
/**
 * The codebook policy is for bulk searches and runs only on request; its card states its recall. It is offered from the
 * required recalls on. The smallest policy that reaches the wanted recalls, or nearly the best ones, is chosen.
 */
export const CODED_REQUIRED_RECALL = 0.9;
export const CODED_REQUIRED_EVIDENT_RECALL = 0.75;
export const CODED_WANTED_RECALL = 0.95;
export const CODED_WANTED_EVIDENT_RECALL = 0.9;

/** Identifiers of the method of this version. A change of meaning needs a new identifier. */
const SAMPLING_ID = 'rows_32_then_64/2';
const CODED_SAMPLING_ID = 'codes_4096x16_of_rows_128_with_votes_and_kmers_5_then_rows_32_in_steps/7';
const FRONTIER_ID = 'best_evidence/1';

/** Returns the definition of the sampled policy with these numbers of rescored candidates. */
export function policyDefinition(nearestCount: number, localCount: number): PolicyDefinition {
  return { ...definition(SAMPLING_ID, nearestCount, localCount), pool_factor: POOL_FACTOR };
}

/**
 * Returns the definition of the codebook policy with these numbers of rescored candidates.
 * @param poolCount  targets that the codebook leaves; undefined on cards of earlier versions
 */
export function codebookDefinition(
  nearestCount: number,
  localCount: number,
  poolCount: number | undefined,
): PolicyDefinition {
  return {
    ...definition(CODED_SAMPLING_ID, nearestCount, localCount),
    ...(poolCount !== undefined && { pool_count: poolCount }),
  };
}

function definition(samplingId: string, nearestCount: number, localCount: number): PolicyDefinition {
  return {
    guarantee: 'approximate',
    measurement: 'maxsim.bidirectional',
    population: 'all_eligible',
    sampling_id: samplingId,
    frontier_id: FRONTIER_ID,
    excess_cosine: EXCESS_COSINE,
    nearest_count: nearestCount,
    striking_count: localCount,
  };
}

export function policyKindOf({ codes: codebook }: Pick<PolicyCard, 'codes'>): PolicyKind {
  return codebook === undefined ? 'sampled' : 'coded';
}

export function policyId(policy: PolicyDefinition): string {
  return valueId('pol', policy);
}

export function qualificationId(card: PolicyCard): string {
  return valueId('qual', card);
}

/**
 * Returns whether the recalls reach the required ones. A sampled policy needs all three. A codebook policy needs that
 * of the nearest ten, and the evident one with its own lower requirement.
 */
export function isQualifiedPolicy(card: PolicyCard): boolean {
  return isRecallEnough(card.recalls, card);
}

/**
 * Returns the card that a release stores after a measurement. It is the new one, unless that does not qualify and the
 * release offers a policy of the other kind.
 * @param offered  the stored card, if its policy qualifies
 */
export function cardToStore(measured: PolicyCard, offered: PolicyCard | undefined): PolicyCard {
  if (offered === undefined || isQualifiedPolicy(measured)) return measured;
  return policyKindOf(offered) === policyKindOf(measured) ? measured : offered;
}

/** A policy of a card, and its recalls. */
export interface MeasuredPolicy {
  readonly policy: PolicyDefinition;
  readonly recalls: RecallsCard;
}

/**
 * Returns the policy for lists of up to `limit` candidates. It is the card's policy, or for longer lists the smallest
 * measured one that is large enough and has the required recalls. Returns undefined if there is none.
 */
export function policyListing(limit: number, card: PolicyCard): MeasuredPolicy | undefined {
  if (limit <= card.policy.nearest_count) return card;
  const longer = longerPolicies(card).find(({ nearest_count: count }) => count >= limit);
  return longer && { policy: definitionOf(longer, card), recalls: longer };
}

/** Returns the largest limit for which `policyListing` has a policy. Range: 1 and more */
export function longestListing(card: PolicyCard): number {
  const counts = longerPolicies(card).map(({ nearest_count: count }) => count);
  return Math.max(card.policy.nearest_count, ...counts);
}

/** The measured policies that may answer for longer lists than that of the card, by ascending cost. */
function longerPolicies(card: PolicyCard): PolicyCard['tried'] {
  const { pool_count: leastPool = 0 } = card.policy;
  return card.tried.filter((one) => (one.pool_count ?? 0) >= leastPool && isRecallEnough(one, card));
}

/** Returns this version's definition of the policy with these numbers of rescored candidates. */
export function definitionOf(
  { nearest_count: nearest, striking_count: local, pool_count: pool }: RescoreCandidates,
  { codes: codebook }: Pick<PolicyCard, 'codes'>,
): PolicyDefinition {
  return codebook === undefined ? policyDefinition(nearest, local) : codebookDefinition(nearest, local, pool);
}

function isRecallEnough(
  { nearest_10: ten, nearest_100: hundred, evident }: RecallsCard,
  { codes: codebook, ...required }: Pick<PolicyCard, 'codes' | 'required_recall' | 'required_evident_recall'>,
): boolean {
  const isNear = (codebook === undefined ? [ten, hundred] : [ten]).every(
    ({ mean }) => mean >= required.required_recall,
  );
  const { required_evident_recall: least = required.required_recall } = required;
  return isNear && (evident === null || evident.mean >= least);
}

/**
 * Describes the loss of an approximate policy against exhaustive search as text.
 * Unit  per cent of the relevant targets, as the mean over queries
 */
export function lossesOf(
  { nearest_10: ten, nearest_100: hundred, evident }: RecallsCard,
  { evident_expected_false_hits: largestE }: Pick<PolicyCard, 'evident_expected_false_hits'>,
): string {
  const near = `misses ${missed(ten)} of the 10 nearest`;
  if (evident === null)
    return `${near} and ${missed(hundred)} of the 100 nearest; E-values were not measured`;
  return `${near}, ${missed(hundred)} of the 100 nearest and ${missed(evident)} of all with E <= ${largestE}`;
}

function missed({ mean }: RecallCard): string {
  const percent = 100 * (1 - mean);
  if (percent === 0) return 'none';
  return percent < 0.05 ? 'less than 0.1 %' : `${percent.toFixed(1)} %`;
}
