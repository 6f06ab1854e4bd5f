import type { HomologyCandidate } from '../../clients/typescript/types/homology.js';

export type AttributeValue = HomologyCandidate['target']['attributes'][string];

/** One candidate as the table shows it: every number read once, so that sorting compares numbers only. */
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
  /** Natural logarithm of the E-value; absent where no calibration supports one. */
  readonly logE?: number;
  readonly bits?: number;
  /** `≤` for an upper bound, `~` where the tail was extrapolated, '' for what the sample has shown. */
  readonly mark: '' | '≤' | '~';
  /** Why there is no E-value, or how far it is supported, in the contract's word. */
  readonly reason: string;
  readonly alignment?: NonNullable<HomologyCandidate['alignment']>;
}

/** What was found for one query, whoever found it: a direct search, a run or a report. */
export interface ResultSet {
  readonly query: { readonly id: string; readonly description?: string; readonly sequence: string };
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
  };
  readonly isLimitReached: boolean;
  readonly receiptId?: string;
  readonly resultSha256?: string;
  readonly warnings: readonly string[];
  /** Milliseconds that the search took, where somebody waited for it. */
  readonly searchMs?: number;
  readonly isCacheHit?: boolean;
  /** Every protein was compared in full; where it is false, those that a sample of the query found near. */
  readonly isExhaustive?: boolean;
  /** What the policy that answered was measured to miss; absent where it misses nothing. */
  readonly knownLosses?: string;
}

/** Fields that name a protein, in order of preference, and fields of the organism. */
const NAMES = ['name', 'description', 'protein_name', 'gene'] as const;
const ORGANISMS = ['organism', 'species'] as const;

export function hitOf(candidate: HomologyCandidate): Hit {
  const { rank, target, measurements, alignment, significance } = candidate;
  const {
    log_expected_false_hits: logE,
    pair_tail_surprisal_bits: bits,
    is_e_value_upper_bound: isBound,
  } = significance.measurements;
  const isExtrapolated = significance.status === 'supported_extrapolated';
  return {
    rank,
    id: target.id,
    description: firstText(target.attributes, NAMES),
    organism: firstText(target.attributes, ORGANISMS),
    sequence: target.sequence,
    length: target.sequence.length,
    attributes: target.attributes,
    distance: measurements.maxsim.bidirectional,
    score: measurements.affine.raw_score,
    ...(logE !== undefined && { logE }),
    ...(bits !== undefined && { bits }),
    mark: isBound === true || significance.status === 'upper_bound' ? '≤' : isExtrapolated ? '~' : '',
    reason: significance.reason,
    ...(alignment !== undefined && alignment.cigar !== '' && { alignment }),
  };
}

function firstText(attributes: Hit['attributes'], names: readonly string[]): string {
  const value = names.map((name) => attributes[name]).find((each) => typeof each === 'string');
  return (value as string | undefined) ?? '';
}

export function attributeText(value: AttributeValue | undefined): string {
  if (value === undefined) return '';
  return typeof value === 'object' ? value.join('; ') : String(value);
}

/** Fields that some hit has, as they first come. */
export function fieldsOf(hits: readonly Hit[]): readonly string[] {
  return [...new Set(hits.flatMap(({ attributes }) => Object.keys(attributes)))];
}
