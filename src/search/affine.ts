import type { AffineParameters } from '../kernels/kernels.js';
import type { Release } from '../release/release.js';

/**
 * The release's affine parameters for one query and listed targets, with their letters where those score.
 * @param texts  of the same targets, where the caller has them at hand
 */
export function affineParameters(
  release: Pick<Release, 'affine' | 'targets'>,
  query: string,
  targets: Uint32Array,
  texts?: Uint8Array,
): AffineParameters {
  const { letterScores: scores, ...parameters } = release.affine;
  if (scores === undefined) return parameters;
  const letters = { scores, query: textOf(query), targets: texts ?? targetTexts(release, targets) };
  return { ...parameters, letters };
}

/** The sequences of listed targets, one after the other; empty where their letters score nothing. */
export function targetTexts(
  { affine, targets }: Pick<Release, 'affine' | 'targets'>,
  list: Uint32Array,
): Uint8Array {
  if (affine.letterScores === undefined) return new Uint8Array(0);
  return textOf(Array.from(list, (target) => targets.sequence(target)).join(''));
}

function textOf(sequence: string): Uint8Array {
  return Buffer.from(sequence, 'latin1');
}
