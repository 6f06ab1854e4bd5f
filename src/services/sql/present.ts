import { ARROW_STREAM_TYPE, type SqlResult } from '../../contract/sql.js';
import { Refusal } from '../../errors.js';
import { INLINE_RESPONSE_MAX_BYTES, SQL_BATCH_MAX_ROWS } from '../../limits.js';
import type { SqlCursor } from '../../sql/engine/engine.js';
import type { BytesReply, Reply } from '../reply.js';

/**
 * The first rows as JSON; one row more than asked for tells whether there are more.
 * Errors  those of the cursor; Refusal `response_too_large`
 */
export async function jsonReply(cursor: SqlCursor, limit: number): Promise<Reply<SqlResult>> {
  const rows: unknown[][] = [];
  let bytes = 0;
  try {
    for (let isDone = false; !isDone && rows.length <= limit;) {
      const batch = await cursor.fetch(Math.min(SQL_BATCH_MAX_ROWS, limit + 1 - rows.length));
      for (const row of batch.rows ?? []) {
        bytes += JSON.stringify(row).length;
        if (bytes > INLINE_RESPONSE_MAX_BYTES && rows.length < limit) throw tooLarge(rows.length);
        rows.push(row as unknown[]);
      }
      isDone = batch.isDone;
    }
  } finally {
    cursor.close();
  }
  const isLimited = rows.length > limit;
  if (isLimited) rows.length = limit;
  const columns = (cursor.shape.columns ?? []).map(({ name, type }) => ({ name, type }));
  const value: SqlResult = {
    object: 'sql_result',
    columns,
    rows,
    row_count: rows.length,
    is_row_limit_reached: isLimited,
  };
  return { value, rowCount: rows.length };
}

function tooLarge(fitting: number): Refusal {
  return new Refusal(
    'response_too_large',
    `The answer exceeds 16 MiB; ${fitting} rows would fit. Ask for fewer, or for ${ARROW_STREAM_TYPE}.`,
    { fitting_row_count: fitting },
  );
}

/**
 * All rows as an Arrow stream. The first batch is there before the answer begins: what fails at once is refused as
 * anything is.
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
