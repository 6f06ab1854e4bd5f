import { LRUCache } from 'lru-cache';
import type { Encoder } from '../encoder/encoder.js';
import { encodeHomologSets } from '../homologs/encode.js';
import type { HomologFinder } from '../homologs/finder.js';
import type { EncodedProfile, ProfileEncoder } from '../homologs/profile-encoder.js';
import type { ProfileTokenForm } from '../homologs/tokens.js';
import { HOMOLOG_CACHE_MAX_BYTES } from '../limits.js';

/** Encodes queries with the homologs of a finder, and caches the tokens of the latest queries. */
export function createProfileEncoder(
  encoder: Encoder,
  finder: HomologFinder,
  form: ProfileTokenForm,
): ProfileEncoder {
  const cache = new LRUCache<string, EncodedProfile>({
    maxSize: HOMOLOG_CACHE_MAX_BYTES,
    sizeCalculation: ({ tokens }, sequence) =>
      sequence.length + tokens.values.length + (tokens.profile?.length ?? 0),
  });
  return {
    form,
    ...(finder.list && { list: finder.list }),
    async encode(sequences, options) {
      options?.signal?.throwIfAborted();
      const missing = [...new Set(sequences)].filter((sequence) => !cache.has(sequence));
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
      // Reads the cache before it adds to it, because an addition may evict a profile of this call.
      const profiles = sequences.map((sequence) => fresh.get(sequence) ?? cache.get(sequence)!);
      for (const [sequence, profile] of fresh) cache.set(sequence, profile);
      return profiles;
    },
  };
}
