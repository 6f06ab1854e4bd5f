import type { StatementFailureKind } from './failure.js';
import type { EngineLimits } from './open-tables.js';
import type { SqlTables } from '../tables.js';

/* Messages between the server and the process of an engine. Each request has one answer with the same id. */

export type SqlParameter = string | number | boolean | null;

/** Encoding of the rows: JSON arrays with commas between them, an Arrow stream, or PostgreSQL protocol messages. */
export type SqlEncoding =
  /** At most `limit` rows in `maxBytes` bytes. Rows beyond the limit are counted and not written. */
  | { readonly kind: 'json'; readonly limit: number; readonly maxBytes: number }
  | { readonly kind: 'arrow' }
  /** Format of each column, 0 text or 1 binary. One element applies to all columns; none is text. */
  | { readonly kind: 'postgres'; readonly formats: readonly number[] };

export interface SqlColumn {
  readonly name: string;
  /** Spelled as the engine does: `VARCHAR`, `DECIMAL(10,2)`. */
  readonly type: string;
  /** Closest type of the PostgreSQL protocol. */
  readonly postgresTypeId: number;
}

export type EngineRequest =
  | { readonly kind: 'open'; readonly tables: SqlTables; readonly limits: EngineLimits }
  | { readonly kind: 'describe'; readonly statementId: number; readonly sql: string }
  | {
      readonly kind: 'start';
      readonly statementId: number;
      readonly sql: string;
      readonly parameters: readonly SqlParameter[];
      readonly encoding: SqlEncoding;
    }
  | { readonly kind: 'fetch'; readonly statementId: number; readonly maxRows: number }
  | { readonly kind: 'interrupt'; readonly statementId: number }
  | { readonly kind: 'close'; readonly statementId: number };

export interface StatementShape {
  /** Absent for a text without a statement. */
  readonly columns?: readonly SqlColumn[];
  /** Types of the PostgreSQL protocol; 0 if the engine cannot infer the type. */
  readonly parameterTypeIds: readonly number[];
}

/**
 * At most SQL_BATCH_MAX_BYTES of a result. Rows that are split over batches count in the batch with their last byte.
 */
export interface SqlBatch {
  readonly rowCount: number;
  readonly isDone: boolean;
  readonly bytes?: Uint8Array;
  /** Present if the rows exceed the bytes of a JSON result: the number of rows that fit. The result ends here. */
  readonly fittingRowCount?: number;
}

export interface EngineAnswers {
  readonly open: true;
  readonly describe: StatementShape;
  readonly start: StatementShape;
  readonly fetch: SqlBatch;
  readonly interrupt: true;
  readonly close: true;
}

export type EngineCall = EngineRequest & { readonly id: number };
export type EngineAnswer =
  | { readonly id: number; readonly value: EngineAnswers[keyof EngineAnswers] }
  | {
      readonly id: number;
      readonly failure: { readonly kind: StatementFailureKind; readonly message: string };
    };
