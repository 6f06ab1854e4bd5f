import type { Encoder } from '../encoder/encoder.js';
import { encodeHomologSets } from '../homologs/encode.js';
import type { QueryTokens } from '../kernels/kernels.js';
import { profileAffine } from '../release/profile-affine.js';
import type { ReleaseManifest } from '../release/release.js';
import type { BuildHomologs } from './build-options.js';
import type { SpooledProtein } from './protein-spool.js';

/** What a protein is in a release. */
export interface BuiltTokens {
  readonly tokens: QueryTokens;
  /** Relatives that count. */
  readonly relatives: number;
}

/** How a build's proteins become tokens: each depends on nothing but the protein and what the manifest names. */
export interface ProteinTokens {
  readonly dimension: number;
  readonly affine: ReleaseManifest['affine'];
  readonly hasProfiles: boolean;
  /** Proteins that a call is best made for, and calls that are made before the first is awaited. */
  readonly batchProteins: number;
  readonly aheadBatches: number;
  encode(proteins: readonly SpooledProtein[], signal?: AbortSignal): Promise<readonly BuiltTokens[]>;
}

/**
 * Handed to the encoder before the first of them is awaited: enough to hide a long protein among many
 * threads.
 */
const AHEAD_MAX_PROTEINS = 1_024;

/** By the encoder alone. It serves calls in their order, so the first is finished first and a kill costs little. */
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

/** With their relatives, which are looked for while those of the batch before are encoded. */
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
      return encoded.map((tokens, index) => ({ tokens, relatives: homologSets[index].homologs.length }));
    },
  };
}

export function proteinTokens(encoder: Encoder, buildHomologs: BuildHomologs | undefined): ProteinTokens {
  return buildHomologs === undefined ? plainTokens(encoder) : profileTokens(encoder, buildHomologs);
}
