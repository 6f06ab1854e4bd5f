import { encodeHomologSets } from '../homologs/encode.js';
import { assert, Refusal } from '../errors.js';
import { homologCountOf, withoutHomologs, type SelectedHomologSet } from '../homologs/finder.js';
import { reversed } from '../significance/control.js';
import { refuseRange } from './refusals.js';
import type { EncodedQuery, ProteinQuery, QueryRange, SearchEngine, SearchRequest } from './search-types.js';

/** How queries are encoded. */
interface EncodeSettings extends Pick<SearchRequest, 'relatives'> {
  /** Whether tokens of the encoder alone come with those of the reversed query. Default: false. */
  readonly isControlled?: boolean;
}

/**
 * Returns the tokens of each query: of the encoder alone, or of its homologs if the release's targets have homologs. A
 * query that is a family has its members as homologs. Either all queries are families, or none is.
 * Errors  Refusal `relatives_unavailable` for a family if the targets have no homologs; Fault of the encoder; those of
 *         the homolog source; the signal's reason
 */
export async function encode(
  queries: readonly ProteinQuery[],
  { relatives: homologs, isControlled = false }: EncodeSettings,
  {
    encoder,
    profileEncoder,
    isLowPriority,
  }: Pick<SearchEngine, 'encoder' | 'profileEncoder' | 'isLowPriority'>,
  options: { readonly signal?: AbortSignal },
): Promise<readonly EncodedQuery[]> {
  const families = queries.flatMap(({ homologSet }) => homologSet ?? []);
  if (families.length > 0) return encodeFamilies(queries, families, { encoder, profileEncoder }, options);
  const sequences = queries.map(({ sequence }) => sequence);
  if (profileEncoder === undefined) {
    const all = isControlled ? [...sequences, ...sequences.map(reversed)] : sequences;
    const tokens = await encoder.encode(all, options);
    return queries.map((query, index) => {
      return { ...query, tokens: tokens[index], reversedTokens: tokens[queries.length + index] };
    });
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
  const encoded = await profileEncoder.encode(sequences, { ...options, isLowPriority });
  const elapsedMs = performance.now() - startedMs;
  return queries.map((query, index) => {
    const { tokens, homologs: count } = encoded[index];
    return { ...query, tokens, relatives: { count, elapsedMs } };
  });
}

async function encodeFamilies(
  queries: readonly ProteinQuery[],
  families: readonly SelectedHomologSet[],
  { encoder, profileEncoder }: Pick<SearchEngine, 'encoder' | 'profileEncoder'>,
  options: { readonly signal?: AbortSignal },
): Promise<readonly EncodedQuery[]> {
  assert(families.length === queries.length, 'a call has families or proteins');
  if (profileEncoder === undefined) {
    throw new Refusal(
      'relatives_unavailable',
      'A family is compared with targets that have homologs, and those of this database have none. Search a database ' +
        'that was built with --homologs or of families.',
    );
  }
  const tokens = await encodeHomologSets(encoder, families, profileEncoder.form, options);
  return queries.map((query, index) => ({
    ...query,
    tokens: tokens[index],
    relatives: { count: homologCountOf(families[index]), elapsedMs: 0 },
  }));
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
