import type { Encoder } from '../encoder/encoder.js';
import { encodeHomologSets } from '../homologs/encode.js';
import { homologCountOf } from '../homologs/finder.js';
import type { QueryTokens } from '../kernels/kernels.js';
import { profileAffine } from '../release/profile-affine.js';
import type { ReleaseManifest } from '../release/release.js';
import type { BuildHomologs } from './build-options.js';
import type { SpooledProtein } from './protein-spool.js';

/** Tokens of one protein of a release. */
export interface BuiltTokens {
  readonly tokens: QueryTokens;
  /** Number of homologs in the profile. */
  readonly relatives: number;
}

/** Encodes the proteins of a build. Tokens depend only on the protein and on what the manifest names. */
export interface ProteinTokens {
  readonly dimension: number;
  readonly affine: ReleaseManifest['affine'];
  readonly hasProfiles: boolean;
  /** Recommended number of proteins per call. */
  readonly batchProteins: number;
  /** Number of calls to have pending at a time. */
  readonly aheadBatches: number;
  /** Errors  those of encoder and finder; the signal's reason */
  encode(proteins: readonly SpooledProtein[], signal?: AbortSignal): Promise<readonly BuiltTokens[]>;
}

/**
 * Proteins that are given to the encoder before the first is awaited. The number is large enough to occupy all threads
 * while one of them encodes a long protein.
 */
const AHEAD_MAX_PROTEINS = 1_024;

/**
 * Tokens of the encoder alone. The encoder serves calls in order, so that little work is lost if the process is killed.
 */
export function plainTokens(encoder: Encoder): ProteinTokens {
  return {
    dimension: encoder.card.dimension,
    affine: encoder.card.affine,
    hasProfiles: false,
    batchProteins: 1,
    aheadBatches: AHEAD_MAX_PROTEINS,
    async encode(proteins, signal) {
      const sequences = proteins.map(({ sequence }) => sequence);
      const encoded = await encoder.encode(sequences, { signal });
      return encoded.map((tokens) => ({ tokens, relatives: 0 }));
    },
  };
}

/** Tokens with homologs. The search for one batch runs while the previous batch is encoded. */
function profileTokens(encoder: Encoder, { finder, form }: BuildHomologs): ProteinTokens {
  const { affine, inverse_step: inverseStep } = encoder.card;
  return {
    dimension: form.dimension,
    affine: { ...affine, profile: profileAffine(affine, inverseStep) },
    hasProfiles: true,
    batchProteins: finder.batchProteins,
    aheadBatches: 2,
    async encode(proteins, signal) {
      const homologSets = await finder.find(proteins, { signal });
      const encoded = await encodeHomologSets(encoder, homologSets, form, { signal });
      return encoded.map((tokens, index) => ({ tokens, relatives: homologCountOf(homologSets[index]) }));
    },
  };
}

/** Returns the token source of a build, with homologs if the build has them. */
export function proteinTokens(encoder: Encoder, buildHomologs: BuildHomologs | undefined): ProteinTokens {
  return buildHomologs === undefined ? plainTokens(encoder) : profileTokens(encoder, buildHomologs);
}
