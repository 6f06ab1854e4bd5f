import { Refusal } from '../errors.js';
import {
  BATCH_PACK_MAX_CANDIDATES,
  BATCH_PACK_MAX_PAIRS,
  BATCH_PACK_MAX_QUERIES,
  BATCH_PACK_MAX_RESIDUES,
} from '../limits.js';
import { searchMany } from '../search/search.js';
import type { NamedQuery, SearchEngine, SearchResult, SearchSettings } from '../search/search-types.js';
import { type FastaInput, readFasta, refuseRecord } from '../sequence/fasta.js';
import { parseFastaHeader } from '../sequence/fasta-header.js';
import { normaliseProtein } from '../sequence/protein.js';

export { eValueOf } from '../search/candidate-significance.js';
export type {
  Candidate,
  EvidenceRequest,
  Guarantee,
  NamedQuery,
  PairwiseAlignment,
  QueryHomologs,
  SearchEngine,
  SearchRequest,
  SearchResult,
  SearchSettings,
  SignificanceRequirement,
} from '../search/search-types.js';

/**
 * Reads and normalises the proteins of a FASTA input.
 * Errors  the refusals of reading and normalising, with file, line, record and id
 */
export async function* readQueries(input: FastaInput): AsyncGenerator<NamedQuery> {
  for await (const record of readFasta(input)) {
    const { id, name, description } = parseFastaHeader(record.header);
    const named = { id: id === '' ? `query_${record.place.record}` : id, description: name ?? description };
    try {
      const { sequence, normalizationId } = normaliseProtein(record.text);
      yield { ...named, sequence, normalizationId };
    } catch (cause) {
      throw cause instanceof Refusal ? refuseRecord(cause, record, named.id) : cause;
    }
  }
}

/** Passes one query on. Errors  Refusal `invalid_option` for a second query, before the first is searched */
export async function* onlyQuery(queries: AsyncIterable<NamedQuery>): AsyncGenerator<NamedQuery> {
  let only: NamedQuery | undefined;
  for await (const query of queries) {
    if (only !== undefined) {
      throw new Refusal(
        'invalid_option',
        `An A3M file holds the alignment of one query, but ${only.id} is followed by ${query.id}. ` +
          'Search them one by one.',
      );
    }
    only = query;
  }
  if (only !== undefined) yield only;
}

/** A query and its result. */
export interface SearchedQuery {
  readonly query: NamedQuery;
  readonly result: SearchResult;
}

/**
 * Searches the queries in batches and yields each result in the order of the queries. The results equal those of single
 * searches.
 * Errors  those of the queries and of searchMany
 */
export async function* searchAll(
  queries: AsyncIterable<NamedQuery>,
  settings: SearchSettings,
  engine: SearchEngine,
  signal: AbortSignal,
): AsyncGenerator<SearchedQuery> {
  // Every query of a batch holds its sums for all targets, and its candidates until they are written.
  const size = Math.min(
    BATCH_PACK_MAX_QUERIES,
    Math.floor(BATCH_PACK_MAX_PAIRS / Math.max(1, settings.targetSpace.searchedTargetCount)),
    Math.floor(BATCH_PACK_MAX_CANDIDATES / settings.limit),
  );
  for await (const pack of packsOf(queries, Math.max(1, size))) {
    const results = await searchMany(pack, settings, engine, signal);
    for (const [index, result] of results.entries()) yield { query: pack[index], result };
  }
}

/**
 * Packs queries in their order.
 * @param size  queries of a pack at most; its residues are bounded too, unless a single query exceeds the bound
 * Errors  those of the queries
 */
export async function* packsOf(
  queries: AsyncIterable<NamedQuery>,
  size: number,
): AsyncGenerator<NamedQuery[]> {
  let pack: NamedQuery[] = [];
  let residues = 0;
  for await (const query of queries) {
    residues += query.sequence.length;
    if (pack.length > 0 && (pack.length === size || residues > BATCH_PACK_MAX_RESIDUES)) {
      yield pack;
      pack = [];
      residues = query.sequence.length;
    }
    pack.push(query);
  }
  if (pack.length > 0) yield pack;
}
