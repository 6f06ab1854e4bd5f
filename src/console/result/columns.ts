import { count, eValue, percent } from '../parts/format.js';
import { attributeText, type Hit } from './hits.js';

/** A column of the table of hits. */
export interface Column {
  readonly id: string;
  readonly title: string;
  /** Explanation of the column, in one sentence. */
  readonly meaning: string;
  /** Section of the manual's page about numbers. */
  readonly section?: string;
  /** CSS grid width. */
  readonly width: string;
  readonly isNumber: boolean;
  /** Sort key. Rows with undefined come last in both directions. */
  readonly key: (hit: Hit) => number | string | undefined;
  readonly text: (hit: Hit) => string;
  /** True if larger values are better. A first click then sorts the largest to the top. */
  readonly isDescending?: boolean;
}

const NUMBER = { isNumber: true } as const;
const TEXT = { isNumber: false } as const;

const FIXED: readonly Column[] = [
  {
    ...NUMBER,
    id: 'rank',
    title: '#',
    section: 'rank',
    meaning: 'Rank by distance; 1 is the nearest protein.',
    width: '3.2rem',
    key: ({ rank }) => rank,
    text: ({ rank }) => count(rank),
  },
  {
    ...TEXT,
    id: 'target',
    title: 'Protein',
    section: 'target',
    meaning: 'Id of the protein in its database, and its name.',
    width: 'minmax(9rem, 2.4fr)',
    key: ({ id }) => id,
    text: ({ id }) => id,
  },
  {
    ...TEXT,
    id: 'organism',
    title: 'Organism',
    section: 'name-organism-and-other-attributes',
    meaning: 'Species that the protein comes from.',
    width: 'minmax(6rem, 1.8fr)',
    key: ({ organism }) => organism || undefined,
    text: ({ organism }) => organism,
  },
  {
    ...NUMBER,
    id: 'evalue',
    title: 'E-value',
    section: 'e-value',
    meaning:
      'E-value: expected number of unrelated proteins that score at least as well. ~ is extrapolated beyond the ' +
      'sample of the calibration, ≤ is an upper bound.',
    width: '7rem',
    key: ({ logE }) => logE,
    text: ({ logE, mark }) => (logE === undefined ? '' : `${mark}${eValue(logE)}`),
  },
  {
    ...NUMBER,
    id: 'probability',
    title: 'P',
    section: 'homology_probability',
    meaning: 'Probability that query and target are homologs, as of labelled domains with such an E-value.',
    width: '4rem',
    key: ({ probability }) => probability,
    text: ({ probability }) => probability?.toFixed(2) ?? '',
    isDescending: true,
  },
  {
    ...NUMBER,
    id: 'bits',
    title: 'Bits',
    section: 'bit_score',
    meaning: 'Bit score: each bit halves the probability that an unrelated pair scores as well.',
    width: '4rem',
    key: ({ bits }) => bits,
    text: ({ bits }) => (bits === undefined ? '' : bits.toFixed(0)),
    isDescending: true,
  },
  {
    ...NUMBER,
    id: 'qcov',
    title: 'Query cover',
    section: 'coverage',
    meaning: 'Aligned range of the query ÷ its length.',
    width: '6.2rem',
    key: ({ alignment }) => alignment?.query_coverage_ratio,
    text: ({ alignment }) => (alignment ? percent(alignment.query_coverage_ratio) : ''),
    isDescending: true,
  },
  {
    ...NUMBER,
    id: 'tcov',
    title: 'Target cover',
    section: 'coverage',
    meaning: 'Aligned range of the target ÷ its length.',
    width: '6.2rem',
    key: ({ alignment }) => alignment?.target_coverage_ratio,
    text: ({ alignment }) => (alignment ? percent(alignment.target_coverage_ratio) : ''),
    isDescending: true,
  },
  {
    ...NUMBER,
    id: 'identity',
    title: 'Identity',
    section: 'identity',
    meaning: 'Identical residues ÷ columns of the alignment, gaps included.',
    width: '5rem',
    key: ({ alignment }) => alignment?.sequence_identity_ratio,
    text: ({ alignment }) => (alignment ? percent(alignment.sequence_identity_ratio) : ''),
    isDescending: true,
  },
  {
    ...NUMBER,
    id: 'distance',
    title: 'Distance',
    section: 'distance',
    meaning:
      'Mean cosine distance to the closest residue of the other protein, in both directions. Ranks use it.',
    width: '5.2rem',
    key: ({ distance }) => distance,
    // Squared norms of int8 tokens are not exactly 1, so the distance of a protein to itself may be slightly below 0.
    text: ({ distance }) => Math.max(0, distance).toFixed(3),
  },
  {
    ...NUMBER,
    id: 'score',
    title: 'Score',
    section: 'score',
    meaning: 'Best local alignment score with affine gaps.',
    width: '4.6rem',
    key: ({ score }) => score,
    text: ({ score }) => count(score),
    isDescending: true,
  },
  {
    ...NUMBER,
    id: 'length',
    title: 'Length',
    meaning: 'Length of the protein in residues.',
    width: '4.6rem',
    key: ({ length }) => length,
    text: ({ length }) => count(length),
  },
];

/** Columns that are visible by default. */
export const FIRST_COLUMNS: readonly string[] = [
  'rank',
  'target',
  'organism',
  'evalue',
  'probability',
  'bits',
  'qcov',
  'identity',
  'distance',
];

/** Returns all columns for these hits: the fixed columns, then one for each attribute without a fixed column. */
export function columnsOf(fields: readonly string[]): readonly Column[] {
  const shown = new Set(['name', 'organism', 'length']);
  const own = fields.filter((field) => !shown.has(field)).map(attributeColumn);
  return [...FIXED, ...own];
}

function attributeColumn(field: string): Column {
  return {
    ...TEXT,
    id: `attribute:${field}`,
    title: field.replaceAll('_', ' '),
    meaning: `The attribute "${field}" of the protein.`,
    width: 'minmax(6rem, 1fr)',
    key: ({ attributes }) => {
      const value = attributes[field];
      return typeof value === 'number' ? value : attributeText(value) || undefined;
    },
    text: ({ attributes }) => attributeText(attributes[field]),
  };
}

export interface Order {
  readonly column: string;
  readonly isDescending: boolean;
}

/** What a table is ordered by at first. */
export type FirstSort = 'rank' | 'evalue' | 'score';

/**
 * Order of a table at first.
 * @param sort  by score in the place of E-values if no hit has one. Default: by E-value, or by distance without them
 */
export function firstOrder(sort: FirstSort | undefined, hits: readonly Pick<Hit, 'logE'>[]): Order {
  const hasEValues = hits.some(({ logE }) => logE !== undefined);
  if (sort === 'rank' || (sort === undefined && !hasEValues)) return RANK_ORDER;
  return hasEValues && sort !== 'score'
    ? { column: 'evalue', isDescending: false }
    : { column: 'score', isDescending: true };
}

/** By distance, nearest first. */
const RANK_ORDER: Order = { column: 'rank', isDescending: false };

/** Sorts hits by a column. Ties keep the order of rank; hits without a value come last. */
export function sorted(hits: readonly Hit[], column: Column, isDescending: boolean): readonly Hit[] {
  const keyed = hits.map((hit) => ({ hit, key: column.key(hit) }));
  const direction = isDescending ? -1 : 1;
  keyed.sort((a, b) => {
    if (a.key === b.key) return a.hit.rank - b.hit.rank;
    if (a.key === undefined) return 1;
    if (b.key === undefined) return -1;
    return a.key < b.key ? -direction : direction;
  });
  return keyed.map(({ hit }) => hit);
}
