import type { ExportRow } from './rows.js';

/** Writes candidates in one format. Bytes come when there are enough of them; all of them in order are the file. */
export interface ExportEncoder {
  /** Errors  Refusal `export_not_possible` where the file would pass a bound */
  add(rows: readonly ExportRow[]): Uint8Array;
  end(): Uint8Array;
  /** Records so far. */
  readonly recordCount: number;
}
