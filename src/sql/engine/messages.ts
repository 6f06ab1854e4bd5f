import type { StatementFailureKind } from './failure.js';
import type { EngineLimits } from './world.js';
import type { SqlWorld } from '../world.js';

/* Messages between the server and the process of an engine. Each request has one answer with the same id. */

/** The value of a statement parameter. */
export type SqlParameter = string | number | boolean | null;

/** Encoding of rows: JSON arrays separated by commas, an Arrow stream, or messages of the PostgreSQL protocol. */
export type SqlEncoding =
  /** Rows above `limit` are counted but not written. Above `maxBytes` the result ends. */
  | { readonly kind: 'json'; readonly limit: number; readonly maxBytes: number }
  | { readonly kind: 'arrow' }
  /** Format by column: 0 is text, 1 is binary. One value holds for all columns, and none means text. */
  | { readonly kind: 'postgres'; readonly formats: readonly number[] };

/** A column of a result. */
export interface SqlColumn {
  readonly name: string;
  /** Type name of the engine: `VARCHAR`, `DECIMAL(10,2)`. */
  readonly type: string;
  /** Closest type of the PostgreSQL protocol. */
  readonly postgresTypeId: number;
}

export type EngineRequest =
  | { readonly kind: 'open'; readonly world: SqlWorld; readonly limits: EngineLimits }
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

/** Columns and parameters of a statement. */
export interface StatementShape {
  /** Absent for a text without a statement. */
  readonly columns?: readonly SqlColumn[];
  /** Types of the PostgreSQL protocol; 0 is unknown. */
  readonly parameterTypeIds: readonly number[];
}

/** At most SQL_BATCH_MAX_BYTES of a result. Rows that are split between batches count in the last of them. */
export interface SqlBatch {
  readonly rowCount: number;
  readonly isDone: boolean;
  readonly bytes?: Uint8Array;
  /** Number of rows that fit into `maxBytes`; present if a JSON result ended there. */
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
