import { cigarRuns } from './cigar.js';

/** A pairwise alignment, from which a row of an A3M alignment is made. */
export interface A3mAlignment {
  /** Extended CIGAR seen from the query: `=` match, `X` mismatch, `I` query and `D` target residue against a gap. */
  readonly cigar: string;
  /** Zero-based index of the first aligned residue. */
  readonly queryStart: number;
  readonly targetStart: number;
  readonly queryLength: number;
  readonly target: string;
}

/**
 * Returns the target as an A3M row: an upper-case letter or `-` for each query residue, lower-case letters for inserted
 * target residues. Target residues outside the local alignment are left out.
 * Shape   queryLength characters, lower-case letters not counted
 * Source  A3M format of the HH-suite
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

/** Hit values that the header of an A3M row shows. */
export interface A3mHit {
  readonly id: string;
  /** Absent if only the search that found the hit has it. */
  readonly score?: number;
  readonly sequenceIdentityRatio: number;
  readonly queryCoverageRatio: number;
  /** Absent without a calibration, or outside its range. */
  readonly eValue?: number;
  readonly taxid?: string;
  /** Positions are zero-based and half-open. */
  readonly queryStart: number;
  readonly queryEnd: number;
  readonly targetStart: number;
  readonly targetEnd: number;
  readonly targetLength: number;
}

/**
 * Returns the header of a row, without `>`: the id, then `key=value` pairs. Alignment readers take the id up to the
 * first space.
 * Unit    positions from 1, ends inclusive; absent values have no pair
 */
export function a3mHeader(hit: A3mHit): string {
  return [
    hit.id.replaceAll(/\s/g, '_'),
    ...(hit.eValue === undefined ? [] : [`E=${hit.eValue.toExponential(1)}`]),
    `identity=${hit.sequenceIdentityRatio.toFixed(3)}`,
    `coverage=${hit.queryCoverageRatio.toFixed(3)}`,
    ...(hit.taxid === undefined ? [] : [`taxid=${hit.taxid}`]),
    ...(hit.score === undefined ? [] : [`score=${hit.score}`]),
    `query=${hit.queryStart + 1}-${hit.queryEnd}`,
    `target=${hit.targetStart + 1}-${hit.targetEnd}/${hit.targetLength}`,
  ].join(' ');
}
