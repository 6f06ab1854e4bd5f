import type { StatementFailureKind } from './failure.js';
import type { EngineLimits } from './world.js';
import type { SqlWorld } from '../world.js';

/* What the server and the process of an engine say to each other. Each request has one answer, by its id. */

export type SqlParameter = string | number | boolean | null;

/** How rows come: values for JSON, an Arrow stream, or messages of the PostgreSQL protocol. */
export type SqlEncoding =
  | { readonly kind: 'json' }
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
  | { readonly kind: 'describe'; readonly sql: string }
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

export interface SqlBatch {
  readonly rowCount: number;
  readonly isDone: boolean;
  /** Of the JSON encoding. */
  readonly rows?: readonly (readonly unknown[])[];
  /** Of the others. */
  readonly bytes?: Uint8Array;
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
