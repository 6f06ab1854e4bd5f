import { encodeHomologSets } from '../homologs/encode.js';
import { withoutHomologs } from '../homologs/finder.js';
import { refuseRange } from './refusals.js';
import type { EncodedQuery, ProteinQuery, QueryRange, SearchEngine, SearchRequest } from './search-types.js';

/**
 * Returns the tokens of each query: of the encoder alone, or of its homologs if the release's targets have homologs.
 * Errors  Fault of the encoder; those of the homolog source; the signal's reason
 */
export async function encode(
  queries: readonly ProteinQuery[],
  { relatives: homologs }: Pick<SearchRequest, 'relatives'>,
  { encoder, profileEncoder }: Pick<SearchEngine, 'encoder' | 'profileEncoder'>,
  options: { readonly signal?: AbortSignal },
): Promise<readonly EncodedQuery[]> {
  const sequences = queries.map(({ sequence }) => sequence);
  if (profileEncoder === undefined) {
    const tokens = await encoder.encode(sequences, options);
    return queries.map((query, index) => ({ ...query, tokens: tokens[index] }));
  }
  if (homologs === 'none') {
    const tokens = await encodeHomologSets(
      encoder,
      sequences.map(withoutHomologs),
      profileEncoder.form,
      options,
    );
    const none = { count: 0, elapsedMs: 0 };
    return queries.map((query, index) => ({ ...query, tokens: tokens[index], relatives: none }));
  }
  const startedMs = performance.now();
  const encoded = await profileEncoder.encode(sequences, options);
  const elapsedMs = performance.now() - startedMs;
  return queries.map((query, index) => {
    const { tokens, homologs: count } = encoded[index];
    return { ...query, tokens, relatives: { count, elapsedMs } };
  });
}

/** The queries cut to the range; the queries as they are without one. Errors  those of refuseRange */
export function stretchesOf<Query extends ProteinQuery>(
  queries: readonly Query[],
  range: QueryRange | undefined,
): readonly Query[] {
  if (range === undefined) return queries;
  return queries.map((query) => {
    refuseRange(query, range);
    return { ...query, sequence: query.sequence.slice(range.start, range.end) };
  });
}
