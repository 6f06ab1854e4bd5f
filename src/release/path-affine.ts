import { profilePathAffine } from './profile-affine.js';
import type { ReleaseManifest } from './release.js';

/*
 * Parameters of the alignments that are shown. Scores find relatives, and paths say which residues correspond. Other
 * parameters are best for each: paths of gloaming-4 are right where letters and profiles weigh less beside tokens, and
 * where gaps cost more. Share of the residue pairs of BAliBASE references that an alignment has, and share of its pairs
 * that are in the reference (RV11 under 20 % identity; RV12 from 20 % to 30 %):
 *
 *                     parameters of scores      these
 *   without homologs  .376 .459; .692 .750      .393 .493; .713 .771
 *   with homologs     .459 .547; .761 .803      .511 .577; .782 .812
 *
 * Paths by a smaller offset have more of the pairs, and more that are wrong.
 */

/** Share of the letters' weight in scores. */
const LETTERS_SHARE = 1 / 2;
/** Share of the offset of scores, and multiple of their gap opening. */
const OFFSET_SHARE = 0.94;
const GAP_OPEN_FACTOR = 1.4;
/** What the kernels take at most. */
const GAP_OPEN_MOST = 4_095;

/**
 * Returns the affine parameters of the paths of a release, in the form of the manifest. Without letters and profiles
 * they are those of the scores, because such encoders were not measured.
 */
export function pathAffine({
  affine,
  encoder,
}: Pick<ReleaseManifest, 'affine' | 'encoder'>): ReleaseManifest['affine'] {
  const { offset, gap_open: gapOpen, blosum62, profile } = affine;
  return {
    ...affine,
    ...(blosum62 !== undefined && {
      offset: Math.round(OFFSET_SHARE * offset),
      gap_open: Math.min(GAP_OPEN_MOST, Math.round(GAP_OPEN_FACTOR * gapOpen)),
      blosum62: Math.max(1, Math.round(LETTERS_SHARE * blosum62)),
    }),
    ...(profile !== undefined && { profile: profilePathAffine(affine, encoder.inverse_step) }),
  };
}
