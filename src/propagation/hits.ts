import type { WalkHit } from './walk.js';

/** Members of a searched candidate that a walk starts from. */
export interface SearchedHit {
  readonly targetIndex: number;
  readonly alignment?: { readonly targetStart: number; readonly targetEnd: number };
  readonly significance: { readonly kind: string; readonly logEValue?: number };
}

/**
 * Returns the candidates with an E-value and an alignment as the start of a walk.
 * Shape   at most one hit for each candidate
 * Unit    ln of targets; residues, half-open
 * Range   any E-value; the walk leaves out those above its largest one
 */
export function walkHits(candidates: readonly SearchedHit[]): readonly WalkHit[] {
  return candidates.flatMap(({ targetIndex, alignment, significance: { logEValue } }) => {
    if (alignment === undefined || logEValue === undefined) return [];
    const { targetStart, targetEnd } = alignment;
    return [{ target: targetIndex, logEValue, targetStart, targetEnd }];
  });
}
