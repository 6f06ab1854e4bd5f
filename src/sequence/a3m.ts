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

/** What the header of a row tells of its alignment. */
export interface A3mHit {
  readonly id: string;
  readonly score: number;
  readonly sequenceIdentityRatio: number;
  /** Absent where nothing supports a number. */
  readonly expectedFalseHits?: number;
  /** Zero-based half-open. */
  readonly queryStart: number;
  readonly queryEnd: number;
  readonly queryLength: number;
  readonly targetStart: number;
  readonly targetEnd: number;
  readonly targetLength: number;
}

/**
 * Header of a row, without `>`: ten columns between tabs.
 * Unit    positions are zero-based with inclusive ends, as in the source; a missing number is `nan`
 * Source  alignments of MMseqs2 (result2msa) as ColabFold hands them to structure prediction
 */
export function a3mHeader(hit: A3mHit): string {
  return [
    hit.id.replaceAll(/\s/g, '_'),
    hit.score,
    hit.sequenceIdentityRatio.toFixed(3),
    hit.expectedFalseHits?.toExponential(3).toUpperCase() ?? 'nan',
    hit.queryStart,
    hit.queryEnd - 1,
    hit.queryLength,
    hit.targetStart,
    hit.targetEnd - 1,
    hit.targetLength,
  ].join('\t');
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
