/** What the header of a row tells of its alignment. */
export interface A3mHit {
  readonly id: string;
  readonly score: number;
  readonly sequenceIdentityRatio: number;
  /** Absent where nothing supports a number. */
  readonly eValue?: number;
  readonly taxid?: string;
  /** Zero-based half-open. */
  readonly queryStart: number;
  readonly queryEnd: number;
  readonly queryLength: number;
  readonly targetStart: number;
  readonly targetEnd: number;
  readonly targetLength: number;
}

/**
 * Header of a row, without `>`: the id, which readers of alignments take up to the first space, then what it is worth.
 * Unit    positions from 1, ends inclusive; what is not known is absent
 */
export function a3mHeader(hit: A3mHit): string {
  const coverage = (hit.queryEnd - hit.queryStart) / hit.queryLength;
  return [
    hit.id.replaceAll(/\s/g, '_'),
    ...(hit.eValue === undefined ? [] : [`E=${hit.eValue.toExponential(1)}`]),
    `identity=${hit.sequenceIdentityRatio.toFixed(3)}`,
    `coverage=${coverage.toFixed(3)}`,
    ...(hit.taxid === undefined ? [] : [`taxid=${hit.taxid}`]),
    `score=${hit.score}`,
    `query=${hit.queryStart + 1}-${hit.queryEnd}`,
    `target=${hit.targetStart + 1}-${hit.targetEnd}/${hit.targetLength}`,
  ].join(' ');
}
