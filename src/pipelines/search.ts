import { Refusal } from '../errors.js';
import { batchesOf, largestBatchSize } from '../search/batches.js';
import { searchMany } from '../search/search.js';
import type { NamedQuery, SearchEngine, SearchResult, SearchSettings } from '../search/search-types.js';
import { type FastaInput, readFasta, refuseRecord } from '../sequence/fasta.js';
import { parseFastaHeader } from '../sequence/fasta-header.js';
import { normaliseProtein } from '../sequence/protein.js';

export { eValueOf } from '../search/candidate-significance.js';
export type {
  AlignmentBounds,
  Candidate,
  EvidenceRequest,
  Guarantee,
  NamedQuery,
  PairwiseAlignment,
  QueryHomologs,
  QueryRange,
  SearchEngine,
  SearchRequest,
  SearchResult,
  SearchSettings,
  SignificanceRequirement,
} from '../search/search-types.js';

/** Receives the id of a query and the counts of its replaced letters, by letter. */
type OnReplaced = (queryId: string, replaced: Readonly<Record<string, number>>) => void;

/**
 * Reads and normalises the proteins of a FASTA input.
 * @param onReplaced  called for each query with letters that normalisation replaces
 * Errors  the refusals of reading and normalising, with file, line, record and id
 */
export async function* readQueries(input: FastaInput, onReplaced?: OnReplaced): AsyncGenerator<NamedQuery> {
  for await (const record of readFasta(input)) {
    const { id, name, description } = parseFastaHeader(record.header);
    const named = { id: id === '' ? `query_${record.place.record}` : id, description: name ?? description };
    try {
      const { sequence, normalizationId, replaced } = normaliseProtein(record.text);
      if (Object.keys(replaced).length > 0) onReplaced?.(named.id, replaced);
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
          'Name a folder/ or a file.tar with --output for the alignments of many queries.',
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
  for await (const batch of batchesOf(queries, largestBatchSize(settings))) {
    const results = await searchMany(batch, settings, engine, signal);
    for (const [index, result] of results.entries()) yield { query: batch[index], result };
  }
}
