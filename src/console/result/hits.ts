import type { HomologyCandidate, HomologyCandidateSet } from '../../clients/typescript/types/homology.js';

export type AttributeValue = HomologyCandidate['target']['attributes'][string];

/** One candidate as the table shows it. Numbers are parsed once, so that sorting compares numbers only. */
export interface Hit {
  readonly rank: number;
  readonly id: string;
  readonly description: string;
  readonly organism: string;
  readonly sequence: string;
  readonly length: number;
  readonly attributes: Readonly<Record<string, AttributeValue>>;
  readonly distance: number;
  readonly score: number;
  /** Natural logarithm of the E-value; absent if no calibration supports one. */
  readonly logE?: number;
  readonly bits?: number;
  /** Probability of homology; absent if the encoder has no table of them. */
  readonly probability?: number;
  /** `≤` for an upper bound, `~` for an extrapolated tail, '' for an E-value within the calibration sample. */
  readonly mark: '' | '≤' | '~';
  /** Why the E-value is missing, or how it is supported. A value of the contract. */
  readonly reason: string;
  readonly alignment?: NonNullable<HomologyCandidate['alignment']>;
  /** Alignments after the best one, by score; absent if there are none. */
  readonly further?: readonly FurtherAlignment[];
}

/** A further alignment with the score and the E-value of its own. */
export type FurtherAlignment = Required<Pick<Hit, 'alignment' | 'score'>> & Pick<Hit, 'logE'>;

/** The hit once for each of its alignments, the best first. */
export function hitsOfAlignments(hit: Hit): readonly Hit[] {
  const { further = [], ...best } = hit;
  return [best, ...further.map((each) => ({ ...best, ...each }))];
}

/** The result for one query, from a direct search, a run or a report. */
export interface ResultSet {
  readonly query: {
    readonly id: string;
    readonly description?: string;
    readonly sequence: string;
    /** Residues that were searched alone, zero-based and half-open; absent for all. */
    readonly range?: { readonly start: number; readonly end: number };
  };
  readonly hits: readonly Hit[];
  readonly database: {
    readonly slug: string;
    readonly releaseId: string;
    readonly targetCount: number;
    readonly residueCount: number;
  };
  readonly settings: {
    readonly limit: number;
    readonly hasAlignments: boolean;
    readonly filter?: unknown;
    /** Proteins that E-values count; absent for the searched ones. */
    readonly databaseSize?: number;
  };
  readonly isLimitReached: boolean;
  /** Targets that the neighbours of the hits lead to; present if the search asked for them. */
  readonly propagation?: NonNullable<HomologyCandidateSet['propagation']>;
  readonly receiptId?: string;
  readonly resultSha256?: string;
  readonly warnings: readonly string[];
  /** Milliseconds that the search took; absent for a run or a report. */
  readonly searchMs?: number;
  readonly isCacheHit?: boolean;
  /** True if every protein was compared in full; false if only prefilter hits were. */
  readonly isExhaustive?: boolean;
  /** Measured losses of the search policy; absent if the policy misses nothing. */
  readonly knownLosses?: string;
}

/** A target that the neighbours of the hits lead to. */
export type Propagated = NonNullable<ResultSet['propagation']>['hits'][number];

/** Attributes that name the protein, in order of preference, and attributes that name the organism. */
const NAMES = ['name', 'description', 'protein_name', 'gene'] as const;
const ORGANISMS = ['organism', 'species'] as const;

export function hitOf(candidate: HomologyCandidate): Hit {
  const { rank, target, measurements, alignments = [], significance } = candidate;
  const best = alignments.at(0)?.alignment ?? candidate.alignment;
  const {
    log_expected_false_hits: logE,
    bit_score: bitScore,
    homology_probability: probability,
    pair_tail_surprisal_bits: surprisal,
    is_e_value_upper_bound: isBound,
  } = significance.measurements;
  // Answers of earlier versions have no bit score.
  const bits = bitScore ?? surprisal;
  const isExtrapolated = significance.status === 'supported_extrapolated';
  return {
    rank,
    id: target.id,
    ...describedBy(target.attributes),
    sequence: target.sequence,
    length: target.sequence.length,
    attributes: target.attributes,
    distance: measurements.maxsim.bidirectional,
    score: measurements.affine.raw_score,
    ...(logE !== undefined && { logE }),
    ...(bits !== undefined && { bits }),
    ...(probability !== undefined && { probability }),
    mark: isBound === true || significance.status === 'upper_bound' ? '≤' : isExtrapolated ? '~' : '',
    reason: significance.reason,
    ...(best !== undefined && best.cigar !== '' && { alignment: best }),
    ...(alignments.length > 1 && { further: alignments.slice(1).map(furtherOf) }),
  };
}

function furtherOf({
  alignment,
  raw_score: score,
  log_expected_false_hits: logE,
}: NonNullable<HomologyCandidate['alignments']>[number]): FurtherAlignment {
  return { alignment, score, ...(logE !== undefined && { logE }) };
}

/** Name and organism of a protein by its attributes; empty where they are unknown. */
export function describedBy(attributes: Hit['attributes']): Pick<Hit, 'description' | 'organism'> {
  return { description: firstText(attributes, NAMES), organism: firstText(attributes, ORGANISMS) };
}

function firstText(attributes: Hit['attributes'], names: readonly string[]): string {
  const value = names.map((name) => attributes[name]).find((each) => typeof each === 'string');
  return (value as string | undefined) ?? '';
}

export function attributeText(value: AttributeValue | undefined): string {
  if (value === undefined) return '';
  return typeof value === 'object' ? value.join('; ') : String(value);
}

/** Returns the attributes of all hits, in order of first occurrence. */
export function fieldsOf(hits: readonly Hit[]): readonly string[] {
  return [...new Set(hits.flatMap(({ attributes }) => Object.keys(attributes)))];
}
