import { Refusal } from '../errors.js';
import { searchRounds, type RoundSettings } from '../find-homologs/rounds.js';
import { batchesOf, largestBatchSize } from '../search/batches.js';
import { searchMany } from '../search/search.js';
import type {
  NamedQuery,
  PairwiseAlignment,
  SearchEngine,
  SearchResult,
  SearchSettings,
} from '../search/search-types.js';
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

/** A stretch of a query. Zero-based and half-open. */
export interface QueryRange {
  readonly start: number;
  readonly end: number;
}

/** How queries are searched beside the settings of one search. */
export interface SearchAllOptions {
  /** Stretch of each query that is searched. Default: the whole query. */
  readonly range?: QueryRange;
  /** Searches in rounds (find-homologs/rounds.ts). Default: one search. */
  readonly inRounds?: Pick<RoundSettings, 'rounds' | 'maxEValue'>;
}

/**
 * Searches the queries in batches and yields each result in the order of the queries. The results equal those of single
 * searches. With a range, the result is that of its residues alone, and coordinates refer to the whole query.
 * Errors  Refusal `invalid_option` if a query ends before the range; those of the queries and of searchMany
 */
export async function* searchAll(
  queries: AsyncIterable<NamedQuery>,
  settings: SearchSettings,
  engine: SearchEngine,
  signal: AbortSignal,
  { range, inRounds }: SearchAllOptions = {},
): AsyncGenerator<SearchedQuery> {
  for await (const batch of batchesOf(queries, largestBatchSize(settings))) {
    const stretches = range === undefined ? batch : batch.map((query) => stretchOf(query, range));
    const results =
      inRounds === undefined
        ? await searchMany(stretches, settings, engine, signal)
        : await searchRounds(stretches, { ...settings, ...inRounds }, engine, signal);
    for (const [index, result] of results.entries()) {
      const query = batch[index];
      yield {
        query,
        result: range === undefined ? result : inWhole(result, range.start, query.sequence.length),
      };
    }
  }
}

function stretchOf(query: NamedQuery, { start, end }: QueryRange): NamedQuery {
  const { id, sequence } = query;
  if (end <= sequence.length) return { ...query, sequence: sequence.slice(start, end) };
  throw new Refusal(
    'invalid_option',
    `The query range ends at residue ${end}, but ${id} has ${sequence.length} residues.`,
  );
}

/** Moves the alignments of a stretch to the coordinates of its query. */
function inWhole(result: SearchResult, start: number, queryLength: number): SearchResult {
  const moved = <Alignment extends PairwiseAlignment>(alignment: Alignment): Alignment => {
    // An empty alignment has no place.
    if (alignment.cigar === '') return { ...alignment, queryLength };
    const { queryStart, queryEnd } = alignment;
    return {
      ...alignment,
      queryStart: queryStart + start,
      queryEnd: queryEnd + start,
      queryLength,
      queryCoverageRatio: (queryEnd - queryStart) / queryLength,
    };
  };
  const candidates = result.candidates.map((candidate) => {
    const { alignment, further } = candidate;
    return {
      ...candidate,
      ...(alignment && { alignment: moved(alignment) }),
      ...(further && { further: { ...further, alignments: further.alignments.map(moved) } }),
    };
  });
  return { ...result, candidates };
}
