import { valueId } from '../ids.js';
import type { FileCard } from '../significance/card.js';

/* What a release's approximate policy keeps of the exhaustive answer, as measured; wire names as on disk. */

/** Share of what was wanted that was found: the mean over queries that want something, with its 95 % interval. */
export interface RecallCard {
  readonly query_count: number;
  readonly wanted_count: number;
  readonly found_count: number;
  readonly mean: number;
  readonly low: number;
  readonly high: number;
}

/** The three recalls that a policy is judged by. */
export interface RecallsCard {
  /** Of the 10 and 100 targets that the exhaustive policy ranks first. */
  readonly nearest_10: RecallCard;
  readonly nearest_100: RecallCard;
  /** Of all aligned targets whose E-value is no greater than `evident_expected_false_hits`; null without E-values. */
  readonly evident: RecallCard | null;
}

/** The policy itself: its id (`pol_…`) is the canonical SHA-256 of this value. */
export interface PolicyDefinition {
  readonly guarantee: 'approximate';
  readonly measurement: 'maxsim.bidirectional';
  readonly population: 'all_eligible';
  readonly sampling_id: string;
  readonly frontier_id: string;
  /** Cosine that a row of the query must exceed with some row of a target to count as striking. */
  readonly excess_cosine: number;
  /** Targets that are measured exactly and aligned: nearest by sampled rows, and most striking. */
  readonly nearest_count: number;
  readonly striking_count: number;
  /** The first sweep leaves so many times as many for the second, which has more rows. */
  readonly pool_factor?: number;
  /** Where codes are looked up first, they leave this share of the targets in each of two orders for the only sweep. */
  readonly pool_share?: number;
}

/** How many targets of each order are measured exactly. */
export type RescoreCandidates = Pick<PolicyDefinition, 'nearest_count' | 'striking_count'>;

/** How an approximate policy leaves targets out: by some rows of the query, or by codes of the targets first. */
export type PolicyKind = 'sampled' | 'coded';

/** Files beside the card, each named by its digest: what residues' codes mean, and the codes. */
export interface CodebookCard {
  readonly words: FileCard;
  readonly codes: FileCard;
}

/** Its id (`qual_…`) is the canonical SHA-256 of this card; nothing in it depends on when or where it was made. */
export interface PolicyCard {
  readonly format: typeof POLICY_FORMAT;
  readonly release_id: string;
  /** Whose E-values were asked; it holds for this policy as for the exhaustive one. Null where there was none. */
  readonly calibration_id: string | null;
  readonly policy_id: string;
  readonly policy: PolicyDefinition;
  /** Present where the policy looks codes up. */
  readonly codes?: CodebookCard;
  readonly seed: number;
  readonly evident_expected_false_hits: number;
  /** Targets that every query was aligned with; all of the release, or a random sample where that is too dear. */
  readonly aligned_target_count: number;
  readonly recalls: RecallsCard;
  /** The same by length of the query; edges are inclusive. */
  readonly strata: readonly (RecallsCard & {
    readonly minimum_residues: number;
    readonly maximum_residues: number;
  })[];
  /** Recalls with fewer and more finalists, from the fewest in all. */
  readonly tried: readonly (RecallsCard & RescoreCandidates)[];
  /** Least of each mean that qualifies. */
  readonly required_recall: number;
  /** The same of what is evident, where less of that is asked. */
  readonly required_evident_recall?: number;
}

export const POLICY_FORMAT = 'gloaming-policy/1';
/** In the calibration's folder beside the release: a new calibration takes the card of the old one away. */
export const POLICY_FILE = 'policy.json';
/** Files of codes are named by their digest, and by nothing that a card could choose. */
export const CODEBOOK_FILE_NAME = /^(words|codes)-[0-9a-f]{64}\.bin$/;
export const REQUIRED_RECALL = 0.99;
export const EVIDENT_EXPECTED_FALSE_HITS = 1e-3;
/** Measured on UniProt proteins: .5 and .6 need more finalists for as much, .7 misses what is distant. */
export const EXCESS_COSINE = 0.55;
export const POOL_FACTOR = 4;
/** A tenth of the targets in all. */
export const POOL_SHARE = 0.05;
/**
 * Codes are for bulk work, and are taken only where somebody asks for them: what they lose, their card says. What is
 * close in the whole they keep at any size; what they lose is evidence in a part of a protein. Of six proteomes they
 * hold four fifths of it however many finalists there are.
 */
export const CODED_REQUIRED_RECALL = 0.9;
export const CODED_REQUIRED_EVIDENT_RECALL = 0.75;

/** Identifiers of what this version does; any change to what one means needs a new name. */
const SAMPLING_ID = 'rows_32_then_64/2';
const CODED_SAMPLING_ID = 'codes_4096x16_of_rows_128_then_rows_32/3';
const FRONTIER_ID = 'best_evidence/1';

export function policyDefinition(nearestCount: number, localCount: number): PolicyDefinition {
  return { ...definition(SAMPLING_ID, nearestCount, localCount), pool_factor: POOL_FACTOR };
}

/** The policy for bulk work: codes are looked up before rows are swept. */
export function codebookDefinition(nearestCount: number, localCount: number): PolicyDefinition {
  return { ...definition(CODED_SAMPLING_ID, nearestCount, localCount), pool_share: POOL_SHARE };
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

/** Whether the policy keeps enough to be offered: with codes, of the nearest ten and, by a lower bar, of evidence. */
export function isQualifiedPolicy(card: PolicyCard): boolean {
  return keepsEnough(card.recalls, card);
}

/**
 * The card that a release keeps after another one was measured: the new one, unless it would offer nothing where the
 * other kind of policy is offered.
 * @param offered  the release's card, where its policy is offered
 */
export function cardToStore(measured: PolicyCard, offered: PolicyCard | undefined): PolicyCard {
  if (offered === undefined || isQualifiedPolicy(measured)) return measured;
  return policyKindOf(offered) === policyKindOf(measured) ? measured : offered;
}

/** A policy of a card, and what it was measured to keep. */
export interface MeasuredPolicy {
  readonly policy: PolicyDefinition;
  readonly recalls: RecallsCard;
}

/**
 * What answers lists of up to so many candidates: the card's policy, and for longer ones the one with the fewest
 * finalists of those tried that list as many and keep enough, too; undefined where none does.
 */
export function policyListing(limit: number, card: PolicyCard): MeasuredPolicy | undefined {
  if (limit <= card.policy.nearest_count) return card;
  const longer = card.tried.find((one) => one.nearest_count >= limit && keepsEnough(one, card));
  return longer && { policy: definitionOf(longer, card), recalls: longer };
}

/** The policy with these finalists as this version defines it. */
export function definitionOf(
  { nearest_count: nearest, striking_count: local }: RescoreCandidates,
  { codes: codebook }: Pick<PolicyCard, 'codes'>,
): PolicyDefinition {
  return (codebook === undefined ? policyDefinition : codebookDefinition)(nearest, local);
}

function keepsEnough(
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
 * What an approximate policy was measured to lose of the exhaustive answer, in words for people.
 * Unit  means over queries, each of which counts alike
 */
export function lossesOf(
  { nearest_10: ten, nearest_100: hundred, evident }: RecallsCard,
  { evident_expected_false_hits: largestE }: Pick<PolicyCard, 'evident_expected_false_hits'>,
): string {
  const near = `misses ${missed(ten)} of the 10 nearest`;
  if (evident === null) return `${near} and ${missed(hundred)} of the 100 nearest; E-values were not asked`;
  return `${near}, ${missed(hundred)} of the 100 nearest and ${missed(evident)} of all with E <= ${largestE}`;
}

function missed({ mean }: RecallCard): string {
  const percent = 100 * (1 - mean);
  if (percent === 0) return 'none';
  return percent < 0.05 ? 'less than 0.1 %' : `${percent.toFixed(1)} %`;
}
