import { ARROW_STREAM_TYPE, type SqlResult } from '../../contract/sql.js';
import { Refusal } from '../../errors.js';
import { INLINE_RESPONSE_MAX_BYTES, SQL_BATCH_MAX_ROWS } from '../../limits.js';
import type { SqlCursor } from '../../sql/engine/engine.js';
import type { SqlEncoding } from '../../sql/engine/messages.js';
import type { JsonPieces } from '../../json/pieces.js';
import type { BytesReply, WrittenReply } from '../reply.js';

/** Limits the encoded rows to the bytes that a response may have. */
export function jsonEncoding(limit: number): SqlEncoding {
  return { kind: 'json', limit, maxBytes: INLINE_RESPONSE_MAX_BYTES };
}

/**
 * Returns the first rows as JSON from the engine. The engine is asked for one more row, which shows whether there are
 * more.
 * Errors  those of the cursor; Refusal `response_too_large`
 */
export async function jsonReply(cursor: SqlCursor, limit: number): Promise<WrittenReply> {
  const rows: Uint8Array[] = [];
  let count = 0;
  try {
    for (let isDone = false; !isDone && count <= limit;) {
      const batch = await cursor.fetch(Math.min(SQL_BATCH_MAX_ROWS, limit + 1 - count));
      if (batch.fittingRowCount !== undefined) throw tooLarge(batch.fittingRowCount);
      if (batch.bytes !== undefined) rows.push(batch.bytes);
      count += batch.rowCount;
      isDone = batch.isDone;
    }
  } finally {
    cursor.close();
  }
  const columns = (cursor.shape.columns ?? []).map(({ name, type }) => ({ name, type }));
  const rowCount = Math.min(count, limit);
  const value: SqlResult = {
    object: 'sql_result',
    columns,
    rows: [],
    row_count: rowCount,
    is_row_limit_reached: count > limit,
  };
  return { json: withRows(value, rows), rowCount };
}

/** The value as JSON, with these rows in place of its empty list. */
function withRows(value: SqlResult, rows: readonly Uint8Array[]): JsonPieces {
  const { object, columns, ...rest } = { ...value, rows: undefined };
  const head = JSON.stringify({ object, columns });
  return [
    Buffer.from(`${head.slice(0, -1)},"rows":[`),
    ...rows,
    Buffer.from(`],${JSON.stringify(rest).slice(1)}`),
  ];
}

function tooLarge(fitting: number): Refusal {
  return new Refusal(
    'response_too_large',
    `The answer exceeds 16 MiB; ${fitting} rows would fit. Ask for fewer, or for ${ARROW_STREAM_TYPE}.`,
    { fitting_row_count: fitting },
  );
}

/**
 * Returns all rows as an Arrow stream. The first batch is read before the response starts, so that an early failure
 * becomes an ordinary refusal.
 * Errors  those of the cursor
 */
export async function arrowReply(cursor: SqlCursor): Promise<BytesReply> {
  const first = await cursor.fetch(SQL_BATCH_MAX_ROWS);
  async function* bytes(): AsyncGenerator<Uint8Array> {
    for (let batch = first; ; batch = await cursor.fetch(SQL_BATCH_MAX_ROWS)) {
      if (batch.bytes !== undefined && batch.bytes.length > 0) yield batch.bytes;
      if (batch.isDone) return;
    }
  }
  const open = () => ({ bytes: bytes(), close: () => cursor.close() });
  return { bytes: { contentType: ARROW_STREAM_TYPE, open } };
}

/**
 * Returns the whole Arrow stream in memory, because the response is stored under its Idempotency-Key.
 * Errors  those of the cursor; Refusal `response_too_large`
 */
export async function storedArrowReply(cursor: SqlCursor): Promise<BytesReply> {
  const pieces: Uint8Array[] = [];
  let sizeBytes = 0;
  try {
    for (let isDone = false; !isDone;) {
      const batch = await cursor.fetch(SQL_BATCH_MAX_ROWS);
      pieces.push(batch.bytes ?? new Uint8Array(0));
      sizeBytes += batch.bytes?.length ?? 0;
      if (sizeBytes > INLINE_RESPONSE_MAX_BYTES) throw tooLargeToStore();
      isDone = batch.isDone;
    }
  } finally {
    cursor.close();
  }
  const whole = Buffer.concat(pieces);
  async function* bytes(): AsyncGenerator<Uint8Array> {
    yield whole;
  }
  const open = () => ({ bytes: bytes(), close: () => undefined });
  return { bytes: { contentType: ARROW_STREAM_TYPE, sizeBytes, whole, open } };
}

function tooLargeToStore(): Refusal {
  return new Refusal(
    'response_too_large',
    'A response stored under an Idempotency-Key has at most 16 MiB. A statement only reads: send it without ' +
      'one.',
  );
}
