import type { StatementFailureKind } from './failure.js';
import type { EngineLimits } from './world.js';
import type { SqlWorld } from '../world.js';

/* What the server and the process of an engine say to each other. Each request has one answer, by its id. */

export type SqlParameter = string | number | boolean | null;

/** How rows come: arrays of JSON with commas between them, an Arrow stream, or messages of the PostgreSQL protocol. */
export type SqlEncoding =
  /** At most so many rows, in so many bytes; rows past the limit are counted, not written. */
  | { readonly kind: 'json'; readonly limit: number; readonly maxBytes: number }
  | { readonly kind: 'arrow' }
  /** 0 text and 1 binary, by column; one for all, or none for text. */
  | { readonly kind: 'postgres'; readonly formats: readonly number[] };

export interface SqlColumn {
  readonly name: string;
  /** As the engine writes it: `VARCHAR`, `DECIMAL(10,2)`. */
  readonly type: string;
  /** Type of the PostgreSQL protocol that comes closest. */
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

export interface StatementShape {
  /** Absent for a text without a statement. */
  readonly columns?: readonly SqlColumn[];
  /** Types of the PostgreSQL protocol; 0 where the engine cannot tell. */
  readonly parameterTypeIds: readonly number[];
}

/** At most SQL_BATCH_MAX_BYTES of a result: where rows are cut in two, they count with their last byte. */
export interface SqlBatch {
  readonly rowCount: number;
  readonly isDone: boolean;
  readonly bytes?: Uint8Array;
  /** More rows within the limit than its bytes allow, and how many would have fitted: the end of a JSON result. */
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
