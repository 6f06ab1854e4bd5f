/* Entry point of the thread that writes one export: stored blocks of rows go in, bytes of the file come out. */
import { parentPort, workerData } from 'node:worker_threads';
import type { HomologyCandidate } from '../../contract/search/candidate-set.js';
import type { HomologyQueryResult } from '../../contract/runs/run-kinds.js';
import type { ExportFormatName } from '../../contract/runs/run-files.js';
import { assert, Refusal, type RefusalDetails } from '../../errors.js';
import type { RefusalCode } from '../../refusal-codes.js';
import { unpackRows } from '../../store/tables/run-rows.js';
import { FORMATS } from './formats.js';
import { LONE_QUERY_ID, type ExportRow } from './rows.js';

/** What the thread is started for. */
export interface ExportSettings {
  readonly format: ExportFormatName;
  /** Sequence of the query, where the format needs it. */
  readonly query: string;
  /** Rows of the run are queries with their candidates, and not candidates. */
  readonly isBatch: boolean;
}

/** Rows [start, end) of a stored block, as far as it has them; null for the end of the file. */
export type ExportRequest = {
  readonly packed: Uint8Array;
  readonly start: number;
  readonly end: number;
} | null;

/** What came of the rows of one request. */
export interface ExportPiece {
  readonly bytes: Uint8Array;
  readonly rowCount: number;
  readonly candidateCount: number;
  /** Records in the file so far. */
  readonly recordCount: number;
}

/** To each request, in order. */
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
const { format, query, isBatch } = workerData as ExportSettings;
const encoder = FORMATS[format].encoder(query);

port.on('message', (request: ExportRequest) => {
  void answer(request).then((answered) =>
    port.postMessage(answered, 'piece' in answered ? [answered.piece.bytes.buffer as ArrayBuffer] : []),
  );
});

async function answer(request: ExportRequest): Promise<ExportAnswer> {
  try {
    if (request === null) return { piece: pieceOf(encoder.end(), 0, 0) };
    const taken = (await unpackRows(request.packed)).slice(request.start, request.end);
    const rows = isBatch ? rowsOfQueries(taken) : rowsOfCandidates(taken);
    return { piece: pieceOf(encoder.add(rows), taken.length, rows.length) };
  } catch (error) {
    if (!(error instanceof Refusal))
      return { failure: error instanceof Error ? error.message : String(error) };
    const { code, message, details } = error;
    return { refusal: { code, message, details } };
  }
}

/** The bytes go to the other thread, so they must have memory of their own. */
function pieceOf(bytes: Uint8Array, rowCount: number, candidateCount: number): ExportPiece {
  const isAlone = bytes.length === bytes.buffer.byteLength;
  return {
    bytes: isAlone ? bytes : Uint8Array.from(bytes),
    rowCount,
    candidateCount,
    recordCount: encoder.recordCount,
  };
}

function rowsOfQueries(taken: readonly unknown[]): readonly ExportRow[] {
  return (taken as readonly HomologyQueryResult[]).flatMap(
    ({ query_index: queryIndex, query_id: queryId, candidates }) =>
      candidates.map((candidate) => ({ queryIndex, queryId, candidate })),
  );
}

function rowsOfCandidates(taken: readonly unknown[]): readonly ExportRow[] {
  return (taken as readonly HomologyCandidate[]).map((candidate) => ({
    queryIndex: 0,
    queryId: LONE_QUERY_ID,
    candidate,
  }));
}
