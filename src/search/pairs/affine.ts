import { selfScore } from '../../kernels/native.js';
import type { AffineParameters, QueryTokens } from '../../kernels/kernels.js';
import type { PairAffine, Release, ReleaseAffine } from '../../release/release.js';

/** A protein and its tokens. */
export interface AlignedProtein {
  readonly sequence: string;
  readonly tokens: QueryTokens;
}

/**
 * Affine parameters of the release for one query and listed targets: those for profiles if the query has one. They
 * include the letters of the query and of the targets if letters score.
 * Shape   letters: one character per residue, one target after the other in list order
 * Unit    as of `AffineParameters`
 * @param texts  sequences of the same targets (`targetTexts`), if the caller has them
 */
export function affineParameters(
  release: Pick<Release, 'affine' | 'targets'>,
  { sequence, tokens }: AlignedProtein,
  targets: Uint32Array,
  texts?: Uint8Array,
): AffineParameters {
  const { letterScores: scores, ...parameters } = pairAffine(release.affine, tokens);
  if (scores === undefined) return parameters;
  const letters = { scores, query: textOf(sequence), targets: texts ?? targetTexts(release, targets) };
  return { ...parameters, letters };
}

/**
 * Returns the affine parameters of the alignments that are shown (release/path-affine.ts), as `affineParameters` does.
 * Shape   texts: one character per residue, one target after the other in list order
 * Unit    as of `AffineParameters`
 */
export function pathParameters(
  { pathAffine: affine, targets }: Pick<Release, 'pathAffine' | 'targets'>,
  query: AlignedProtein,
  list: Uint32Array,
  texts?: Uint8Array,
): AffineParameters {
  return affineParameters({ affine, targets }, query, list, texts);
}

/** Affine parameters of a query with these tokens. */
function pairAffine(
  { withProfiles, ...affine }: ReleaseAffine,
  { profile }: Pick<QueryTokens, 'profile'>,
): PairAffine {
  return profile === undefined ? affine : (withProfiles ?? affine);
}

/**
 * Sequences of listed targets, one after the other; empty if letters do not score.
 * Shape   one character per residue, in list order
 * Unit    ASCII codes
 */
export function targetTexts(
  { affine, targets }: Pick<Release, 'affine' | 'targets'>,
  list: Uint32Array,
): Uint8Array {
  if ((affine.letterScores ?? affine.withProfiles?.letterScores) === undefined) return new Uint8Array(0);
  return textOf(Array.from(list, (target) => targets.sequence(target)).join(''));
}

function textOf(sequence: string): Uint8Array {
  return Buffer.from(sequence, 'latin1');
}

/**
 * Affine score of a protein with itself along the diagonal: Σ max(0, s(t, t)).
 * It normalises affine scores, so that a protein against itself has about 1.
 * Shape   tokens.values int8 [tokens.length × dimension]
 * Unit    substitution score; an integer
 * Range   0..65,535 × 32,767
 */
export function diagonalSelfScore(
  tokens: QueryTokens,
  sequence: string,
  dimension: number,
  affine: ReleaseAffine,
): number {
  const { letterScores: scores, ...parameters } = pairAffine(affine, tokens);
  if (scores === undefined) return selfScore(tokens, dimension, parameters);
  const letters = { scores, query: Buffer.from(sequence, 'latin1'), targets: new Uint8Array(0) };
  return selfScore(tokens, dimension, { ...parameters, letters });
}
