import { setImmediate } from 'node:timers/promises';
import type { BatchSearchRunInput } from '../../contract/runs/run-kinds.js';
import { Refusal } from '../../errors.js';
import { faultAt, placeText, type Place, type RefusalLocation } from '../../places.js';
import { BATCH_MAX_QUERIES, REFUSAL_MAX_LOCATIONS } from '../../limits.js';
import { readFasta } from '../../sequence/fasta.js';
import { normaliseProtein } from '../../sequence/protein.js';
import type { ManagedFile } from '../storage/files.js';

/** A query of a batch after normalisation. */
export interface BatchQuery {
  readonly id: string;
  readonly sequence: string;
}

interface RawQuery {
  readonly id?: string;
  readonly text: string;
  /** Where it stands in the input of the run, and for people within that. */
  readonly place: Place;
  readonly line?: string;
}

/** Queries normalised without a pause for others: about a millisecond. */
const QUERIES_PER_PAUSE = 500;

/**
 * The queries of a batch, normalised, in their order.
 * Errors  Refusal `invalid_queries` with every query that cannot be searched; those of the file
 */
export async function readQueries(
  input: BatchSearchRunInput,
  openFasta: OpenFasta,
): Promise<readonly BatchQuery[]> {
  const queries: BatchQuery[] = [];
  const errors: RefusalLocation[] = [];
  let faultCount = 0;
  for await (const { id, text, place, line } of rawQueries(input, openFasta)) {
    const index = queries.length + faultCount;
    if (index === BATCH_MAX_QUERIES) {
      throw new Refusal('invalid_queries', `A batch has at most ${BATCH_MAX_QUERIES} queries.`, {
        param: String(place[1]),
        maximum_query_count: BATCH_MAX_QUERIES,
      });
    }
    if (index % QUERIES_PER_PAUSE === 0) await setImmediate();
    try {
      queries.push({ id: id ?? String(index), sequence: normaliseProtein(text).sequence });
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      faultCount += 1;
      if (errors.length === REFUSAL_MAX_LOCATIONS) continue;
      const message = line === undefined ? error.message : `${line}: ${error.message}`;
      errors.push(faultAt(place, message, { value: text, bounds: { query_index: index } }));
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

/**
 * Queries as one text, a line for each: a hundred thousand of them are read back as fast as one string.
 * An id may hold anything, so it stands as JSON; a sequence holds letters only.
 */
export function packQueries(queries: readonly BatchQuery[]): string {
  return queries.map(({ id, sequence }) => `${sequence} ${JSON.stringify(id)}`).join('\n');
}

/** Lines of packed queries; each is read when its turn comes. */
export function unpackQueries(packed: string): readonly string[] {
  return packed.split('\n');
}

export function readPackedQuery(line: string): BatchQuery {
  const end = line.indexOf(' ');
  return { id: JSON.parse(line.slice(end + 1)) as string, sequence: line.slice(0, end) };
}

/** Residues of a packed query, without reading it. */
export function packedLength(line: string): number {
  return line.indexOf(' ');
}

/** Opens an uploaded file. Errors  Refusal `file_not_managed`, `file_not_found`, `permission_denied` */
type OpenFasta = (url: string) => Pick<ManagedFile, 'path' | 'bytes' | 'close'>;

async function* rawQueries(
  { queries, fasta, fasta_url: url }: BatchSearchRunInput,
  openFasta: OpenFasta,
): AsyncGenerator<RawQuery> {
  for (const [index, { id, sequence }] of (queries ?? []).entries()) {
    yield { id, text: sequence, place: ['body', 'queries', index, 'sequence'] };
  }
  if (fasta !== undefined) yield* fastaQueries('fasta', 'fasta', [Buffer.from(fasta)]);
  if (url === undefined) return;
  const file = openFasta(url);
  try {
    yield* fastaQueries('fasta_url', file.path, file.bytes);
  } finally {
    file.close();
  }
}

async function* fastaQueries(
  member: 'fasta' | 'fasta_url',
  name: string,
  pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
): AsyncGenerator<RawQuery> {
  const bytes = (async function* () {
    yield* pieces;
  })();
  try {
    for await (const { header, text, place } of readFasta({ file: name, bytes })) {
      const id = header.split(/\s/, 1)[0] || undefined;
      yield { id, text, place: ['body', member], line: `${name}:${place.line}` };
    }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    throw new Refusal('invalid_queries', error.message, { ...error.details, param: member });
  }
}
