import { open, stat } from 'node:fs/promises';
import type { ProteinFormat } from '../build-release/sources/formats/protein-format.js';
import { Refusal } from '../errors.js';
import { searchRounds, type RoundSettings } from '../find-homologs/rounds.js';
import { HOMOLOG_RULES } from '../homologs/rules.js';
import { batchesOf, largestBatchSize } from '../search/batches.js';
import { searchMany } from '../search/search.js';
import type { NamedQuery, SearchEngine, SearchResult, SearchSettings } from '../search/search-types.js';
import { fastaFile, type FastaInput, readFasta, refuseRecord } from '../sequence/fasta.js';
import { parseFastaHeader } from '../sequence/fasta-header.js';
import { normaliseProtein } from '../sequence/protein.js';

export { cutCountOf } from '../search/further.js';
export { eValueOf } from '../search/pairs/candidate-significance.js';
export type {
  AlignmentBounds,
  Candidate,
  EvidenceRequest,
  FurtherAlignment,
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

/**
 * Reads the queries of a file: proteins of FASTA, or families of a Stockholm, A3M or HMMER3 file, recognised by its
 * name or first bytes. A family is a query with its members.
 * @param onReplaced  as of readQueries
 * Errors  those of readQueries and of reading families
 */
export async function* readQueryFile(path: string, onReplaced?: OnReplaced): AsyncGenerator<NamedQuery> {
  const format = await familyFormatOf(path);
  if (format === undefined) return yield* readQueries(fastaFile(path), onReplaced);
  const { homologSetOf } = await import('../homologs/family.js');
  for await (const { id, text, family, record } of format.read(fastaFile(path))) {
    try {
      const { sequence, normalizationId } = normaliseProtein(text);
      yield { id, sequence, normalizationId, homologSet: homologSetOf(sequence, family, HOMOLOG_RULES) };
    } catch (cause) {
      throw cause instanceof Refusal && record !== undefined ? refuseRecord(cause, record, id) : cause;
    }
  }
}

/**
 * Returns the format of a file of families; undefined for another file. Only a file that cannot be FASTA is recognised,
 * because the formats take time to load. A pipe is FASTA.
 */
async function familyFormatOf(path: string): Promise<ProteinFormat | undefined> {
  const isFile = await stat(path).then(
    (status) => status.isFile(),
    () => false,
  );
  if (!isFile || (!FAMILY_NAME.test(path) && (await firstByte(path)) === FASTA_START)) return undefined;
  const { recogniseFile } = await import('../build-release/sources/formats/recognise.js');
  const { format } = await recogniseFile(path);
  return format.hasFamilies === true ? format : undefined;
}

/** A3M begins as FASTA does. */
const FAMILY_NAME = /\.a3m(\.(gz|bgz|zst|xz))?$/i;
const FASTA_START = '>'.charCodeAt(0);

async function firstByte(path: string): Promise<number | undefined> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(1), 0, 1, 0);
    return bytesRead === 0 ? undefined : buffer[0];
  } finally {
    await file.close();
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
  inRounds?: Pick<RoundSettings, 'rounds' | 'maxEValue'>,
): AsyncGenerator<SearchedQuery> {
  for await (const batch of batchesOf(queries, largestBatchSize(settings))) {
    const results =
      inRounds === undefined
        ? await searchMany(batch, settings, engine, signal)
        : await searchRounds(batch, { ...settings, ...inRounds }, engine, signal);
    for (const [index, result] of results.entries()) yield { query: batch[index], result };
  }
}
