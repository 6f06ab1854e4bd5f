import { LRUCache } from 'lru-cache';
import type { Encoder } from '../encoder/encoder.js';
import { encodeHomologSets } from '../homologs/encode.js';
import type { HomologFinder } from '../homologs/finder.js';
import type { EncodedProfile, ProfileEncoder } from '../homologs/profile-encoder.js';
import type { ProfileTokenForm } from '../homologs/tokens.js';
import { FAMILY_CACHE_MAX_BYTES } from '../limits.js';

/** Queries' tokens by a finder; those of the last queries are kept. */
export function createProfileEncoder(
  encoder: Encoder,
  finder: HomologFinder,
  form: ProfileTokenForm,
): ProfileEncoder {
  const known = new LRUCache<string, EncodedProfile>({
    maxSize: FAMILY_CACHE_MAX_BYTES,
    sizeCalculation: ({ tokens }, sequence) =>
      sequence.length + tokens.values.length + (tokens.profile?.length ?? 0),
  });
  return {
    form,
    ...(finder.list && { list: finder.list }),
    async encode(sequences, options) {
      options?.signal?.throwIfAborted();
      const missing = [...new Set(sequences)].filter((sequence) => !known.has(sequence));
      const fresh = new Map<string, EncodedProfile>();
      for (let start = 0; start < missing.length; start += finder.batchProteins) {
        const batch = missing.slice(start, start + finder.batchProteins);
        const homologSets = await finder.find(
          batch.map((sequence) => ({ sequence })),
          options,
        );
        const tokens = await encodeHomologSets(encoder, homologSets, form, options);
        for (const [index, { sequence, homologs }] of homologSets.entries()) {
          fresh.set(sequence, { tokens: tokens[index], homologs: homologs.length });
        }
      }
      const found = sequences.map((sequence) => fresh.get(sequence) ?? known.get(sequence)!);
      for (const [sequence, homologSet] of fresh) known.set(sequence, homologSet);
      return found;
    },
  };
}
