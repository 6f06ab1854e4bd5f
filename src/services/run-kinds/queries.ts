import type { BatchSearchRunInput } from '../../contract/runs/run-kinds.js';
import { Refusal } from '../../errors.js';
import { faultAt, placeText, type Place, type RefusalLocation } from '../../places.js';
import {
  BATCH_FASTA_MAX_CHARACTERS,
  BATCH_MAX_QUERIES,
  FASTA_ID_MAX_CHARACTERS,
  REFUSAL_MAX_LOCATIONS,
} from '../../limits.js';
import { printable } from '../../printable.js';
import { refuseRange } from '../../search/refusals.js';
import { readFasta } from '../../sequence/fasta.js';
import { parseFastaHeader } from '../../sequence/fasta-header.js';
import { normaliseProtein } from '../../sequence/protein.js';
import { Slice } from '../../turns.js';
import type { RequestContext } from '../context.js';
import type { Files, ManagedFile } from '../storage/files.js';

/** Members of an input that give the queries, and the stretch that each must have. */
type QueryInput = Pick<BatchSearchRunInput, 'queries' | 'fasta' | 'fasta_url' | 'query_range'>;

/** A query of a batch after normalisation. */
export interface BatchQuery {
  readonly id: string;
  readonly sequence: string;
}

interface RawQuery {
  readonly id?: string;
  readonly text: string;
  /** Position in the input of the run, and its human-readable form. */
  readonly place: Place;
  readonly line?: string;
}

/** Characters that are copied before the event loop gets a turn. */
const PIECE_CHARACTERS = 64 * 1024;
/** Characters of an invalid id that a message quotes. */
const SHOWN_ID_CHARACTERS = 40;

/**
 * Reads the queries of a run, of uploaded files, too, and the ids of these files.
 * Errors  those of readQueries
 */
export async function readManagedQueries(
  input: QueryInput,
  context: RequestContext,
  files: Pick<Files, 'openManagedFile'>,
) {
  const fileIds: string[] = [];
  const queries = await readQueries(input, (url) => {
    const file = files.openManagedFile(url, context);
    fileIds.push(file.id);
    return file;
  });
  return { queries, fileIds };
}

/**
 * Reads the queries of a batch, normalised, in their order.
 * Errors  Refusal `invalid_queries` with every query that cannot be searched; those of the file
 */
async function readQueries(input: QueryInput, openFasta: OpenFasta): Promise<readonly BatchQuery[]> {
  const queries: BatchQuery[] = [];
  const errors: RefusalLocation[] = [];
  let faultCount = 0;
  const slice = new Slice();
  for await (const { id, text, place, line } of rawQueries(input, openFasta)) {
    const index = queries.length + faultCount;
    if (index === BATCH_MAX_QUERIES) {
      throw new Refusal('invalid_queries', `A batch has at most ${BATCH_MAX_QUERIES} queries.`, {
        param: String(place[1]),
        maximum_query_count: BATCH_MAX_QUERIES,
      });
    }
    if (slice.isOver) await slice.pause();
    try {
      // The schema has bounded ids that are members of a request.
      if (line !== undefined) refuseId(id);
      const query = { id: id ?? String(index), sequence: normaliseProtein(text).sequence };
      if (input.query_range !== undefined) refuseRange(query, input.query_range);
      queries.push(query);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      faultCount += 1;
      if (errors.length === REFUSAL_MAX_LOCATIONS) continue;
      const message = line === undefined ? error.message : `${line}: ${error.message}`;
      const value = error.details.id ?? text;
      errors.push(faultAt(place, message, { value, bounds: { query_index: index } }));
    }
  }
  if (faultCount === 0) return queries;
  throw new Refusal(
    'invalid_queries',
    `${faultCount} of ${queries.length + faultCount} queries cannot be searched; the first is ` +
      `${placeText(['input', ...(errors[0].place ?? []).slice(1)])}: ${errors[0].message}`,
    { errors, fault_count: faultCount },
  );
}

/** Ids of FASTA have the bound of ids of targets, and no character that acts on a terminal or reorders a line. */
function refuseId(id = ''): void {
  const shown = printable(id);
  if (id.length <= FASTA_ID_MAX_CHARACTERS && shown === id) return;
  const fault = shown === id ? `has ${id.length} characters` : 'has control characters';
  throw new Refusal(
    'invalid_queries',
    `The id "${shown.slice(0, SHOWN_ID_CHARACTERS)}…" ${fault}; an id has at most ${FASTA_ID_MAX_CHARACTERS} ` +
      'characters and no control characters.',
    { id: shown },
  );
}

/** Texts with one line per query. A single text if an earlier version has written it. */
export type PackedQueries = string | readonly string[];

/**
 * Packs queries as texts of some thousand residues each, which are written and read faster than objects. The id is
 * JSON, because it may hold any character; a sequence holds letters only.
 * Errors  none
 */
export async function packQueries(queries: readonly BatchQuery[]): Promise<PackedQueries> {
  const texts: string[] = [];
  const slice = new Slice();
  let text = '';
  for (const { id, sequence } of queries) {
    text += `${text === '' ? '' : '\n'}${sequence} ${JSON.stringify(id)}`;
    if (text.length < PIECE_CHARACTERS) continue;
    texts.push(text);
    text = '';
    if (slice.isOver) await slice.pause();
  }
  return text === '' ? texts : [...texts, text];
}

/** Lines of packed queries. Each line is parsed when its query is searched. Errors  none */
export async function unpackQueries(packed: PackedQueries): Promise<readonly string[]> {
  const lines: string[] = [];
  const slice = new Slice();
  for (const text of typeof packed === 'string' ? [packed] : packed) {
    for (const line of text.split('\n')) lines.push(line);
    if (slice.isOver) await slice.pause();
  }
  return lines;
}

export function readPackedQuery(line: string): BatchQuery {
  const end = line.indexOf(' ');
  return { id: JSON.parse(line.slice(end + 1)) as string, sequence: line.slice(0, end) };
}

/** Length of a packed query, without parsing it. Unit  residues */
export function packedLength(line: string): number {
  return line.indexOf(' ');
}

/** Opens an uploaded file. Errors  Refusal `file_not_managed`, `file_not_found`, `permission_denied` */
type OpenFasta = (url: string) => Pick<ManagedFile, 'path' | 'bytes' | 'close'>;

async function* rawQueries(
  { queries, fasta, fasta_url: url }: QueryInput,
  openFasta: OpenFasta,
): AsyncGenerator<RawQuery> {
  for (const [index, { id, sequence }] of (queries ?? []).entries()) {
    yield { id, text: sequence, place: ['body', 'queries', index, 'sequence'] };
  }
  if (fasta !== undefined) yield* fastaQueries('fasta', 'fasta', bytesOf(fasta));
  if (url === undefined) return;
  const file = openFasta(url);
  try {
    yield* fastaQueries('fasta_url', file.path, file.bytes);
  } finally {
    file.close();
  }
}

async function* bytesOf(text: string): AsyncGenerator<Uint8Array> {
  const slice = new Slice();
  for (let start = 0; start < text.length;) {
    let end = start + PIECE_CHARACTERS;
    // Does not split a surrogate pair.
    if ((text.codePointAt(end - 1) ?? 0) > 0xffff) end += 1;
    yield Buffer.from(text.slice(start, end));
    start = end;
    if (slice.isOver) await slice.pause();
  }
}

async function* fastaQueries(
  member: 'fasta' | 'fasta_url',
  name: string,
  bytes: AsyncIterable<Uint8Array>,
): AsyncGenerator<RawQuery> {
  let characters = 0;
  try {
    for await (const { header, text, place } of readFasta({ file: name, bytes })) {
      // A small gzip file may expand to more than the memory of the server.
      characters += header.length + text.length;
      if (characters > BATCH_FASTA_MAX_CHARACTERS) {
        throw new Refusal(
          'invalid_queries',
          `A batch has at most ${BATCH_FASTA_MAX_CHARACTERS} characters of FASTA; divide it into several runs.`,
          { maximum_fasta_characters: BATCH_FASTA_MAX_CHARACTERS },
        );
      }
      const id = parseFastaHeader(header).id || undefined;
      yield { id, text, place: ['body', member], line: `${name}:${place.line}` };
    }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    throw new Refusal('invalid_queries', error.message, { ...error.details, param: member });
  }
}
