import { SQL_BATCH_MAX_ROWS } from '../limits.js';
import type { SqlCursor } from '../sql/engine/engine.js';
import { commandComplete, dataRow, rowDescription } from './wire/answers.js';
import { shownColumn, type CommandAnswer } from './commands.js';
import type { Write } from './session-state.js';

/** Messages that answer a statement about the session. */
export function commandMessages(
  { tag, value }: CommandAnswer,
  formats: readonly number[],
): readonly Buffer[] {
  const rows =
    value === undefined ? [] : [rowDescription([shownColumn(value.name)], formats), dataRow([value.text])];
  return [...rows, commandComplete(tag)];
}

/** Sends rows until the result or `maxRows` is exhausted. Errors  those of the cursor and of the connection */
export async function sendRows(
  cursor: SqlCursor,
  maxRows: number,
  write: Write,
): Promise<{ readonly count: number; readonly isDone: boolean }> {
  let count = 0;
  let isDone = false;
  while (!isDone && count < maxRows) {
    const batch = await cursor.fetch(Math.min(SQL_BATCH_MAX_ROWS, maxRows - count));
    if (batch.bytes !== undefined && batch.bytes.length > 0) await write(Buffer.from(batch.bytes));
    count += batch.rowCount;
    isDone = batch.isDone;
  }
  return { count, isDone };
}
