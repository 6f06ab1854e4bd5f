/*
 * Entry point of the thread that writes one export. Its input is stored blocks of rows, its output the bytes of the
 * file.
 */
import { parentPort, workerData } from 'node:worker_threads';
import type { HomologyCandidate } from '../../contract/search/candidate-set.js';
import type { HomologyQueryResult } from '../../contract/runs/run-kinds.js';
import type { PresentedPropagation } from '../../contract/search/propagation.js';
import type { Warning } from '../../contract/grammar/envelope.js';
import { assert, Refusal, type RefusalDetails } from '../../errors.js';
import { EXPORT_QUERY_MAX_BYTES } from '../../limits.js';
import type { RefusalCode } from '../../refusal-codes.js';
import { unpackRows } from '../../store/tables/run-rows.js';
import { evidenceOfPresented } from '../evidence.js';
import { pickCutOffs, propagationWithinCutOffs, selectByEvidence } from '../select.js';
import { formatOf, type ExportOptions } from './formats.js';
import type { ExportedSearch, ExportQuery } from './rows.js';

/** Settings of the thread. */
export interface ExportSettings {
  readonly options: ExportOptions;
  readonly search: ExportedSearch;
  /** The query of a run with a single query; absent if each row of the run is a query with its candidates. */
  readonly query?: ExportQuery;
  /** Propagated hits of the single query. */
  readonly propagation?: PresentedPropagation;
}

/** Rows [start, end) of a stored block, as far as the block has them; null requests the end of the file. */
export type ExportRequest = {
  readonly packed: Uint8Array;
  readonly start: number;
  readonly end: number;
  /** Sequences of the queries in these rows, if the format needs them. */
  readonly sequences?: readonly string[];
} | null;

/** Output for the rows of one request. */
export interface ExportPiece {
  readonly bytes: Uint8Array;
  readonly rowCount: number;
  readonly candidateCount: number;
  /** Counts of the file so far: records, targets with a record, and candidates that cut-offs excluded. */
  readonly recordCount: number;
  readonly writtenCount: number;
  readonly leftOutCount: number;
  readonly warnings: readonly Warning[];
}

/** Response to a request, in the order of the requests. */
export type ExportAnswer =
  | { readonly piece: ExportPiece }
  | {
      readonly refusal: {
        readonly code: RefusalCode;
        readonly message: string;
        readonly details: RefusalDetails;
      };
    }
  | { readonly failure: string };

assert(parentPort !== null, 'this file is run as a worker only');
const port = parentPort;
const { options, search, query, propagation } = workerData as ExportSettings;
const { sort = 'rank' } = options;
const cutOffs = pickCutOffs(options);
const format = formatOf(options);
const encoder = format.encoder(search);
/** Candidates of the single query, if they are written together. */
const waiting: HomologyCandidate[] = [];
let waitingBytes = 0;
let leftOutCount = 0;

port.on('message', (request: ExportRequest) => {
  void answer(request).then((answered) =>
    port.postMessage(answered, 'piece' in answered ? [answered.piece.bytes.buffer as ArrayBuffer] : []),
  );
});

async function answer(request: ExportRequest): Promise<ExportAnswer> {
  try {
    return { piece: request === null ? await endPiece() : await rowsPiece(request) };
  } catch (error) {
    if (!(error instanceof Refusal))
      return { failure: error instanceof Error ? error.message : String(error) };
    const { code, message, details } = error;
    return { refusal: { code, message, details } };
  }
}

async function rowsPiece({
  packed,
  start,
  end,
  sequences,
}: NonNullable<ExportRequest>): Promise<ExportPiece> {
  const rows = (await unpackRows(packed)).slice(start, end);
  if (query !== undefined) {
    const candidates = rows as readonly HomologyCandidate[];
    return pieceOf(await addOfOne(query, candidates), rows.length, candidates.length);
  }
  const pieces: Uint8Array[] = [];
  let candidateCount = 0;
  for (const [at, row] of (rows as readonly HomologyQueryResult[]).entries()) {
    const sequence = sequences?.[at];
    const named = { index: row.query_index, id: row.query_id, ...(sequence !== undefined && { sequence }) };
    candidateCount += row.candidates.length + furtherHits(row.propagation);
    pieces.push(await encode({ ...named, ...propagatedOf(row.propagation) }, row.candidates));
  }
  return pieceOf(Buffer.concat(pieces), rows.length, candidateCount);
}

async function endPiece(): Promise<ExportPiece> {
  const isWaiting = query !== undefined && isWrittenTogether();
  const last = isWaiting
    ? await encode({ ...query, ...propagatedOf(propagation) }, waiting)
    : Buffer.alloc(0);
  return pieceOf(Buffer.concat([last, encoder.end()]), 0, furtherHits(propagation));
}

/** In order of rank, rows are written as they arrive, unless the format needs all of them at once. */
function isWrittenTogether(): boolean {
  const isPropagated = propagation !== undefined && format.holdsPropagation === true;
  return sort !== 'rank' || format.needsWholeQueries || isPropagated;
}

async function addOfOne(one: ExportQuery, candidates: readonly HomologyCandidate[]): Promise<Uint8Array> {
  if (!isWrittenTogether()) return encode(one, candidates);
  for (const candidate of candidates) waitingBytes += JSON.stringify(candidate).length;
  if (waitingBytes > EXPORT_QUERY_MAX_BYTES) {
    throw new Refusal(
      'export_not_possible',
      `The candidates take more than ${EXPORT_QUERY_MAX_BYTES} bytes: too many to be put in another order. ` +
        'Export them by rank as tsv, m8, parquet or arrow.',
    );
  }
  waiting.push(...candidates);
  return Buffer.alloc(0);
}

/** Propagated hits of a query within the cut-offs, if the format holds them. */
function propagatedOf(whole: PresentedPropagation | undefined): Pick<ExportQuery, 'propagated'> {
  if (whole === undefined || format.holdsPropagation !== true) return {};
  return { propagated: { hits: propagationWithinCutOffs(whole, cutOffs).hits, sort } };
}

/** Propagated hits that are records beside the candidates. */
function furtherHits(whole: PresentedPropagation | undefined): number {
  const { hits } = propagatedOf(whole).propagated ?? { hits: [] };
  return hits.filter(({ is_candidate: isCandidate }) => !isCandidate).length;
}

async function encode(one: ExportQuery, candidates: readonly HomologyCandidate[]): Promise<Uint8Array> {
  // Stored rows are ordered by rank.
  if (sort === 'rank' && Object.keys(cutOffs).length === 0) return encoder.add(one, candidates);
  const selected = selectByEvidence(candidates, evidenceOfPresented, { cutOffs, sort });
  leftOutCount += selected.leftOutCount;
  return encoder.add(one, selected.selected);
}

/** The bytes are transferred to the other thread, so they must have memory of their own. */
function pieceOf(bytes: Uint8Array, rowCount: number, candidateCount: number): ExportPiece {
  const isAlone = bytes.length === bytes.buffer.byteLength;
  return {
    bytes: isAlone ? bytes : Uint8Array.from(bytes),
    rowCount,
    candidateCount,
    recordCount: encoder.recordCount,
    writtenCount: encoder.targetCount ?? encoder.recordCount,
    leftOutCount: leftOutCount + (encoder.leftOutCount ?? 0),
    warnings: encoder.warnings ?? [],
  };
}
