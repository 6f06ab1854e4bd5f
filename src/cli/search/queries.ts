import { Refusal } from '../../errors.js';
import { batchesOf, largestBatchSize } from '../../search/batches.js';
import { searchMany } from '../../search/search.js';
import type { SearchSettings } from '../../search/search-types.js';
import { type FastaInput, readFasta, refuseRecord } from '../../sequence/fasta.js';
import { parseFastaHeader } from '../../sequence/fasta-header.js';
import { normaliseProtein } from '../../sequence/protein.js';
import type { NamedQuery, SearchReport } from './report.js';

/**
 * The proteins of a FASTA input, normalised.
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

/** Errors  Refusal `invalid_option` for a second query, before the first is worked on */
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

/** What all reports of one command share. */
export type SearchPlace = Pick<SearchReport, 'engine' | 'database' | 'serverVersion'>;

/** Searches the queries in batches and reports each in its turn; equal to searching them one by one. */
export async function* searchAll(
  queries: AsyncIterable<NamedQuery>,
  settings: SearchSettings,
  place: SearchPlace,
  signal: AbortSignal,
): AsyncGenerator<SearchReport> {
  const { targetSpace, ...request } = settings;
  const { release } = place.engine;
  for await (const batch of batchesOf(queries, largestBatchSize(settings))) {
    const results = await searchMany(batch, settings, place.engine, signal);
    for (const [index, result] of results.entries()) {
      yield {
        ...place,
        query: batch[index],
        result,
        request,
        release,
        targetSpace,
        sort: 'rank',
        leftOutCount: 0,
      };
    }
  }
}
