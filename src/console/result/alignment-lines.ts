import { AMINO_ACIDS, BLOSUM62 } from '../../sequence/substitution.js';
import type { Hit } from './hits.js';

/** One column of an alignment; '-' is a gap. */
export interface AlignedColumn {
  readonly query: string;
  readonly target: string;
  /** `same` letter, `alike` by a positive BLOSUM62 score, `other`, or `gap` on one side. */
  readonly kind: 'same' | 'alike' | 'other' | 'gap';
}

/** Expands the CIGAR of a hit into columns. */
export function alignedColumns(
  querySequence: string,
  { sequence, alignment }: Pick<Hit, 'sequence' | 'alignment'>,
): readonly AlignedColumn[] {
  if (alignment === undefined) return [];
  const columns: AlignedColumn[] = [];
  let [queryAt, targetAt] = [alignment.query_start, alignment.target_start];
  for (const [, length, kind] of alignment.cigar.matchAll(/(\d+)([=XID])/g)) {
    for (let step = 0; step < Number(length); step += 1) {
      const query = kind === 'D' ? '-' : (querySequence[queryAt++] ?? '?');
      const target = kind === 'I' ? '-' : (sequence[targetAt++] ?? '?');
      columns.push({ query, target, kind: kindOf(query, target) });
    }
  }
  return columns;
}

function kindOf(query: string, target: string): AlignedColumn['kind'] {
  if (query === '-' || target === '-') return 'gap';
  if (query === target) return 'same';
  const score = BLOSUM62[AMINO_ACIDS.indexOf(query)]?.[AMINO_ACIDS.indexOf(target)] ?? -1;
  return score > 0 ? 'alike' : 'other';
}

/** A block of columns, with the zero-based positions of its first residues in query and target. */
export interface AlignmentBlock {
  readonly columns: readonly AlignedColumn[];
  readonly queryAt: number;
  readonly targetAt: number;
}

export function blocksOf(
  columns: readonly AlignedColumn[],
  alignment: NonNullable<Hit['alignment']>,
  width: number,
): readonly AlignmentBlock[] {
  const blocks: AlignmentBlock[] = [];
  let [queryAt, targetAt] = [alignment.query_start, alignment.target_start];
  for (let start = 0; start < columns.length; start += width) {
    const part = columns.slice(start, start + width);
    blocks.push({ columns: part, queryAt, targetAt });
    queryAt += part.filter(({ query }) => query !== '-').length;
    targetAt += part.filter(({ target }) => target !== '-').length;
  }
  return blocks;
}

/** Writes the alignment in the manner of BLAST: three lines of text for each 60 columns. */
export function alignmentText(query: string, hit: Hit): string {
  const { alignment } = hit;
  if (alignment === undefined) return '';
  const blocks = blocksOf(alignedColumns(query, hit), alignment, 60).map(({ columns, queryAt, targetAt }) => {
    const row = (name: string, side: 'query' | 'target', at: number): string => {
      const text = columns.map((column) => column[side]).join('');
      return `${name.padEnd(7)}${String(at + 1).padStart(6)} ${text} ${at + text.replaceAll('-', '').length}`;
    };
    const marks = columns.map(({ kind, query: letter }) =>
      kind === 'same' ? letter : kind === 'alike' ? '+' : ' ',
    );
    return [
      row('query', 'query', queryAt),
      `${' '.repeat(14)}${marks.join('')}`,
      row('target', 'target', targetAt),
    ].join('\n');
  });
  return `${blocks.join('\n\n')}\n`;
}
