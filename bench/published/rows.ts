/** A figure of another method, with its source. */
export interface PublishedRow {
  readonly benchmark: 'Foldseek, all' | 'Foldseek, no catch-all families' | 'SCOP40';
  readonly method: string;
  /** Shares in the order of the benchmark's columns; undefined where the source has none. */
  readonly values: readonly (number | undefined)[];
  readonly source: string;
}

const LETTERS =
  'measured by this project with the definition of bench.noselfhit.awk on the published files, issue 37';

/**
 * Rows of other methods. Family, superfamily and fold to the first false hit in Foldseek's benchmark; SEPQ at .1, 1 and
 * 10 errors a query in Reseek's SCOP40. A row is added only with a source that states its figures.
 */
export const PUBLISHED: readonly PublishedRow[] = [
  {
    benchmark: 'Foldseek, no catch-all families',
    method: 'MMseqs2',
    values: [undefined, 0.02, undefined],
    source: LETTERS,
  },
  {
    benchmark: 'Foldseek, no catch-all families',
    method: '3Di letters predicted by a small model',
    values: [0.766, 0.342, 0.092],
    source: LETTERS,
  },
  {
    benchmark: 'Foldseek, no catch-all families',
    method: '3Di letters of ProstT5 (3 B parameters)',
    values: [0.813, 0.363, 0.096],
    source: LETTERS,
  },
  {
    benchmark: 'Foldseek, no catch-all families',
    method: 'Foldseek on the structures',
    values: [0.791, 0.359, 0.104],
    source: LETTERS,
  },
  {
    benchmark: 'SCOP40',
    method: 'BLASTP',
    values: [0.0903, 0.1078, 0.1294],
    source: 'published with Reseek (Edgar 2024), as quoted with evaluate.py',
  },
];
