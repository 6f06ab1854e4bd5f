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
 * Divides a protein that is longer than the model's input into windows of full length at even distances. Neighbouring
 * windows share at least the requested overlap. Over the middle half of the shared stretch their vectors are blended,
 * so that no vector jumps between windows. The outer quarters are not blended, because the model lacks context there.
 * The windows depend only on the length.
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
