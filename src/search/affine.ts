import type { AffineParameters, QueryTokens } from '../kernels/kernels.js';
import type { PairAffine, Release, ReleaseAffine } from '../release/release.js';

/** What is aligned with targets: a protein and its tokens. */
export interface AlignedProtein {
  readonly sequence: string;
  readonly tokens: QueryTokens;
}

/**
 * The release's affine parameters for one query and listed targets, with their letters where those score: those for
 * profiles where the query has one, too.
 * @param texts  of the same targets, where the caller has them at hand
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

/** How a protein with these tokens scores with the release's targets. */
export function pairAffine(
  { withProfiles, ...affine }: ReleaseAffine,
  { profile }: Pick<QueryTokens, 'profile'>,
): PairAffine {
  return profile === undefined ? affine : (withProfiles ?? affine);
}

/** The sequences of listed targets, one after the other; empty where their letters score nothing. */
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
