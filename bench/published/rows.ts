/** A figure of another method, with its source. */
export interface PublishedRow {
  readonly method: string;
  /** Shares in the order of a table's columns, by the name of the benchmark; undefined where the source has none. */
  readonly values: Readonly<Partial<Record<PublishedBenchmark, readonly (number | undefined)[]>>>;
  readonly source: string;
}

type PublishedBenchmark = 'Foldseek, all' | 'Foldseek, no catch-all families' | 'SCOP40';

const DISTILLED = 'hit lists of distill_prostt5 (8da71b7), measured by this project with this definition';
const ANALYSIS = 'hit lists of foldseek-analysis, measured by this project with this definition';

/**
 * Figures of other methods. Family, superfamily and fold to the first false hit in Foldseek's benchmark; SEPQ at .1, 1
 * and 10 false hits a query in Reseek's SCOP40. The hit lists are published; the record `published` of
 * bench/figures.json has the superfamily shares that were measured from them. A row is added with its source only.
 */
export const PUBLISHED: readonly PublishedRow[] = [
  {
    method: 'DALI on structures',
    values: {
      'Foldseek, all': [undefined, 0.651, undefined],
      'Foldseek, no catch-all families': [undefined, 0.559, undefined],
    },
    source: ANALYSIS,
  },
  {
    method: 'Foldseek 10 on structures',
    values: {
      'Foldseek, all': [undefined, 0.487, undefined],
      'Foldseek, no catch-all families': [0.791, 0.359, 0.104],
    },
    source: DISTILLED,
  },
  {
    method: 'ProstT5 (3 B parameters), Foldseek 10',
    values: {
      'Foldseek, all': [undefined, 0.483, undefined],
      'Foldseek, no catch-all families': [0.813, 0.363, 0.096],
    },
    source: DISTILLED,
  },
  {
    method: 'ModernProst (48 M parameters), a candidate',
    values: {
      'Foldseek, all': [undefined, 0.478, undefined],
      'Foldseek, no catch-all families': [undefined, 0.351, undefined],
    },
    source: DISTILLED,
  },
  {
    method: 'pLM-BLAST (ProtT5)',
    values: { 'Foldseek, all': [undefined, 0.353, undefined] },
    source: 'figures of esmologs',
  },
  {
    method: 'phmmer',
    values: { 'Foldseek, all': [undefined, 0.079, undefined] },
    source: 'figures of esmologs',
  },
  {
    method: 'MMseqs2, -s 7.5',
    values: {
      'Foldseek, all': [undefined, 0.071, undefined],
      'Foldseek, no catch-all families': [undefined, 0.02, undefined],
    },
    source: ANALYSIS,
  },
  {
    method: 'BLASTP',
    values: { SCOP40: [0.0903, 0.1078, 0.1294] },
    source: 'published with Reseek (Edgar 2024)',
  },
];
