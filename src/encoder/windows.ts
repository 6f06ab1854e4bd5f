/**
 * One run of the model. Residues start … end − 1 go in; of what comes out, keptStart … keptEnd − 1 is used,
 * and its first fadeIn and last fadeOut residues are mixed with the neighbouring window's.
 */
export interface EncodeWindow {
  readonly start: number;
  readonly end: number;
  readonly keptStart: number;
  readonly keptEnd: number;
  readonly fadeIn: number;
  readonly fadeOut: number;
}

/**
 * Windows that cover a protein longer than its model sees at once: as long as the model allows, evenly
 * spread, so that neighbours share at least the overlap asked for. In the middle of what two windows share
 * they fade into each other over half that overlap: a quarter at either side keeps the fade away from their
 * edges, where the model lacks neighbours, and no vector jumps where one window takes over from another,
 * however far the model looks. Depends on the length alone, so a protein's vectors depend on nothing but the
 * protein.
 * Unit    zero-based half-open residue coordinates of the protein
 * Range   overlap ≤ residues ÷ 3 (the card's check), so that a fade ends before the next begins
 */
export function planWindows(
  length: number,
  window: { readonly residues: number; readonly overlap: number } | null,
): readonly EncodeWindow[] {
  if (window === null || length <= window.residues) {
    return [{ start: 0, end: length, keptStart: 0, keptEnd: length, fadeIn: 0, fadeOut: 0 }];
  }
  const { residues, overlap } = window;
  const count = Math.ceil((length - overlap) / (residues - overlap));
  const starts = Array.from({ length: count }, (_, i) => Math.floor((i * (length - residues)) / (count - 1)));
  const fade = Math.floor(overlap / 2);
  /** Where window i begins to fade into window i + 1. */
  const fadeStart = (i: number): number => Math.floor((starts[i] + residues + starts[i + 1] - fade) / 2);
  return starts.map((start, i) => {
    const [isFirst, isLast] = [i === 0, i === count - 1];
    return {
      start,
      end: start + residues,
      keptStart: isFirst ? 0 : fadeStart(i - 1),
      keptEnd: isLast ? length : fadeStart(i) + fade,
      fadeIn: isFirst ? 0 : fade,
      fadeOut: isLast ? 0 : fade,
    };
  });
}
