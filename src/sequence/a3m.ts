/** One aligned target as a row of an A3M alignment. */
export interface A3mAlignment {
  /** Extended CIGAR seen from the query: pairs `=` and `X`, query (`I`) and target (`D`) residues that face a gap. */
  readonly cigar: string;
  /** Zero-based, of the first aligned residue. */
  readonly queryStart: number;
  readonly targetStart: number;
  readonly queryLength: number;
  readonly target: string;
}

/**
 * The target written over the query: one upper-case letter or `-` for each query residue, lower-case letters for
 * target residues between them, nothing of the target beyond the ends of the alignment.
 * Source  the A3M format of the HH-suite: without its lower-case letters every row is as long as the query
 */
export function a3mRow({ cigar, queryStart, targetStart, queryLength, target }: A3mAlignment): string {
  const parts = ['-'.repeat(queryStart)];
  let queryAt = queryStart;
  let targetAt = targetStart;
  for (const { operation, length } of cigarRuns(cigar)) {
    if (operation === 'I') {
      parts.push('-'.repeat(length));
      queryAt += length;
      continue;
    }
    const residues = target.slice(targetAt, targetAt + length);
    targetAt += length;
    parts.push(operation === 'D' ? residues.toLowerCase() : residues);
    if (operation !== 'D') queryAt += length;
  }
  parts.push('-'.repeat(queryLength - queryAt));
  return parts.join('');
}

export interface CigarRun {
  readonly operation: '=' | 'X' | 'I' | 'D';
  readonly length: number;
}

/** Runs of an extended CIGAR, in order. */
export function cigarRuns(cigar: string): CigarRun[] {
  return [...cigar.matchAll(/(\d+)([=XID])/g)].map(([, length, operation]) => ({
    operation: operation as CigarRun['operation'],
    length: Number(length),
  }));
}

/** Identical residues ÷ columns of the alignment, gaps included; 0 for an empty one. */
export function cigarIdentity(cigar: string): number {
  let identical = 0;
  let columns = 0;
  for (const { operation, length } of cigarRuns(cigar)) {
    if (operation === '=') identical += length;
    columns += length;
  }
  return columns === 0 ? 0 : identical / columns;
}
