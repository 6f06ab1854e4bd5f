/*
 * Entry point of the process that reads the control state before the server opens it. Arguments: <folder>
 * <milliseconds>.
 */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { Refusal } from '../errors.js';
import { CONTROL_FILE, CONTROL_FOLDER } from './prepare.js';
import { openSnapshot } from './snapshot.js';

/** Lower bound on a row with its key and LMDB's header. */
const ROW_MIN_BYTES = 8;

const [, , dataFolder, budgetMs] = process.argv;
const endsAtMs = performance.now() + Number(budgetMs);
try {
  await readAll();
} catch (error) {
  // Data of a newer program are not damage. The program that opens them refuses with its own message.
  if (!(error instanceof Refusal && error.code === 'data_folder_newer')) {
    process.stdout.write(`${(error as Error).message}\n`);
    process.exitCode = 1;
  }
}

async function readAll(): Promise<void> {
  const mostRows = statSync(join(dataFolder, CONTROL_FOLDER, CONTROL_FILE)).size / ROW_MIN_BYTES;
  const snapshot = await openSnapshot(dataFolder);
  let rowCount = 0;
  for (const table of snapshot.tableNames) {
    const before = rowCount;
    for (const { bytes } of snapshot.rows(table)) {
      // Reads every byte, because a long row has pages of its own.
      bytes.includes(0);
      rowCount += 1;
      if (rowCount > mostRows) throw new Error('it has more rows than bytes');
      if (performance.now() > endsAtMs) return snapshot.close();
    }
    // A page of noise can pass for an empty one, and ends the process that writes to it.
    const [read, stated] = [rowCount - before, snapshot.rowCount(table)];
    if (read !== stated) throw new Error(`its table ${table} has ${read} rows instead of ${stated}`);
  }
  await snapshot.close();
}
