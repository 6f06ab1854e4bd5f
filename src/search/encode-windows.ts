/**
 * One run of the model: residues start … end − 1 go in, and of what comes out keptStart … keptEnd − 1 is
 * used.
 */
export interface EncodeWindow {
  readonly start: number;
  readonly end: number;
  readonly keptStart: number;
  readonly keptEnd: number;
}

/**
 * Windows that cover a protein longer than its model sees at once. They are as long as the model allows and
 * evenly spread, so that neighbours overlap by at least what is asked; each residue is taken from the window
 * in whose interior it lies: neighbours meet in the middle of their overlap, at least overlap ÷ 2 residues
 * from either edge. Depends on the length alone, so a protein's vectors depend on nothing but the protein.
 * Unit    zero-based half-open residue coordinates of the protein; kept ranges tile it in order
 */
export function planWindows(
  length: number,
  window: { readonly residues: number; readonly overlap: number } | null,
): readonly EncodeWindow[] {
  if (window === null || length <= window.residues) {
    return [{ start: 0, end: length, keptStart: 0, keptEnd: length }];
  }
  const count = Math.ceil((length - window.overlap) / (window.residues - window.overlap));
  const starts = Array.from({ length: count }, (_, i) =>
    Math.floor((i * (length - window.residues)) / (count - 1)),
  );
  /** Where window i hands over to window i + 1. */
  const handover = (i: number): number => Math.floor((starts[i] + window.residues + starts[i + 1]) / 2);
  return starts.map((start, i) => ({
    start,
    end: start + window.residues,
    keptStart: i === 0 ? 0 : handover(i - 1),
    keptEnd: i === count - 1 ? length : handover(i),
  }));
}
