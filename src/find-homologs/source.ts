import { LRUCache } from 'lru-cache';
import type { Encoder } from '../encoder/encoder.js';
import { encodeFamilies } from '../homologs/encode.js';
import type { HomologFinder } from '../homologs/finder.js';
import type { EncodedFamily, FamilySource } from '../homologs/source.js';
import type { FamilyTokenForm } from '../homologs/tokens.js';
import { FAMILY_CACHE_MAX_BYTES } from '../limits.js';

/** Queries' tokens by a finder; those of the last queries are kept. */
export function createFamilySource(
  encoder: Encoder,
  finder: HomologFinder,
  form: FamilyTokenForm,
): FamilySource {
  const known = new LRUCache<string, EncodedFamily>({
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
      const fresh = new Map<string, EncodedFamily>();
      for (let start = 0; start < missing.length; start += finder.batchProteins) {
        const batch = missing.slice(start, start + finder.batchProteins);
        const families = await finder.find(
          batch.map((sequence) => ({ sequence })),
          options,
        );
        const tokens = await encodeFamilies(encoder, families, form, options);
        for (const [index, { sequence, homologs }] of families.entries()) {
          fresh.set(sequence, { tokens: tokens[index], homologs: homologs.length });
        }
      }
      const found = sequences.map((sequence) => fresh.get(sequence) ?? known.get(sequence)!);
      for (const [sequence, family] of fresh) known.set(sequence, family);
      return found;
    },
  };
}
