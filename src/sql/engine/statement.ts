import {
  DuckDBTypeId,
  StatementType,
  type DuckDBConnection,
  type DuckDBPreparedStatement,
  type DuckDBResult,
  type DuckDBType,
  type DuckDBValue,
} from '@duckdb/node-api';
import { SQL_BATCH_MAX_BYTES } from '../../limits.js';
import { createArrowEncoder } from './arrow.js';
import { StatementFailure } from './failure.js';
import { givenTypes } from './given-types.js';
import { requireReading } from './gate.js';
import type { SqlBatch, SqlColumn, SqlEncoding, SqlParameter, StatementShape } from './messages.js';
import { encodeDataRows } from './postgres.js';
import { jsonOf, postgresTypeOf } from './values.js';

/** Connections and signal of one statement. */
export interface StatementPlace {
  readonly connection: DuckDBConnection;
  /** Connection for parsing only. It reads no rows. */
  readonly gate: DuckDBConnection;
  /**
   * Aborts at an interrupt. It is checked before each step, because a connection ignores an interrupt while it is idle.
   */
  readonly signal: AbortSignal;
}

/** A statement in progress. */
export interface RunningStatement {
  readonly shape: StatementShape;
  fetch(maxRows: number): Promise<SqlBatch>;
}

const NOTHING: RunningStatement = {
  shape: { parameterTypeIds: [] },
  fetch: () => Promise.resolve({ rowCount: 0, isDone: true }),
};

/** Returns parameters and columns without executing the statement. Errors  StatementFailure, and those of the engine */
export async function describeStatement(
  sql: string,
  { connection, gate, signal }: StatementPlace,
): Promise<StatementShape> {
  if (!(await requireReading(sql, gate))) return NOTHING.shape;
  signal.throwIfAborted();
  return shapeOf(await prepare(sql, connection));
}

/** Executes a statement. Rows are computed as they are fetched. Errors  StatementFailure, and those of the engine */
export async function startStatement(
  sql: string,
  parameters: readonly SqlParameter[],
  encoding: SqlEncoding,
  { connection, gate, signal }: StatementPlace,
): Promise<RunningStatement> {
  if (!(await requireReading(sql, gate))) return NOTHING;
  signal.throwIfAborted();
  await connection.run('BEGIN TRANSACTION READ ONLY');
  signal.throwIfAborted();
  const prepared = await prepare(sql, connection);
  signal.throwIfAborted();
  bind(prepared, parameters);
  const result = await prepared.stream();
  return new RunningResult(result, connection, encoding);
}

/** A result in progress. Buffers rows that the engine has computed and no fetch has returned. */
class RunningResult implements RunningStatement {
  readonly shape: StatementShape;
  readonly #result: DuckDBResult;
  readonly #connection: DuckDBConnection;
  readonly #encode: Encode;
  readonly #waiting: DuckDBValue[][] = [];
  #isExhausted = false;
  /** Encoded bytes that no fetch has returned yet. */
  #encoded: SqlBatch | undefined;

  constructor(result: DuckDBResult, connection: DuckDBConnection, encoding: SqlEncoding) {
    const [names, types] = [result.columnNames(), givenTypes(result)];
    this.shape = { columns: columnsOf(names, types), parameterTypeIds: [] };
    this.#result = result;
    this.#connection = connection;
    this.#encode = encoderOf(encoding, names, types);
  }

  async fetch(maxRows: number): Promise<SqlBatch> {
    const batch = this.#encoded ?? (await this.#next(maxRows));
    const { bytes } = batch;
    this.#encoded = undefined;
    if (bytes === undefined || bytes.length <= SQL_BATCH_MAX_BYTES) return batch;
    this.#encoded = { ...batch, bytes: bytes.subarray(SQL_BATCH_MAX_BYTES) };
    return { rowCount: 0, isDone: false, bytes: bytes.subarray(0, SQL_BATCH_MAX_BYTES) };
  }

  /** Returns the next rows, without a bound on their bytes. */
  async #next(maxRows: number): Promise<SqlBatch> {
    let bytes = 0;
    while (!this.#isExhausted && this.#waiting.length <= maxRows && bytes < SQL_BATCH_MAX_BYTES) {
      const more = await nextRows(this.#result);
      this.#isExhausted = more.length === 0;
      if (this.#isExhausted) await requireWhole(this.#connection);
      bytes += sizeOf(more);
      for (const row of more) this.#waiting.push(row);
    }
    const rows = this.#waiting.splice(0, maxRows);
    return this.#encode(rows, this.#isExhausted && this.#waiting.length === 0);
  }
}

/** Checks again: the engine must also prepare the statement as a reading one. */
async function prepare(sql: string, connection: DuckDBConnection): Promise<DuckDBPreparedStatement> {
  const prepared = await connection.prepare(sql);
  const { statementType } = prepared;
  if (statementType === StatementType.SELECT || statementType === StatementType.EXPLAIN) return prepared;
  throw new StatementFailure('refused', 'Only reading statements are executed, such as SELECT.');
}

function shapeOf(prepared: DuckDBPreparedStatement): StatementShape {
  const indices = Array.from({ length: prepared.columnCount }, (_, index) => index);
  const columns = columnsOf(
    indices.map((index) => prepared.columnName(index)),
    givenTypes(prepared),
  );
  const parameterTypeIds = Array.from({ length: prepared.parameterCount }, (_, index) =>
    isKnown(prepared.parameterTypeId(index + 1)) ? postgresTypeOf(prepared.parameterType(index + 1)) : 0,
  );
  return { columns, parameterTypeIds };
}

function columnsOf(names: readonly string[], types: readonly DuckDBType[]): SqlColumn[] {
  return types.map((type, index) => ({
    name: names[index],
    type: String(type),
    postgresTypeId: postgresTypeOf(type),
  }));
}

function isKnown(typeId: DuckDBTypeId): boolean {
  return typeId !== DuckDBTypeId.INVALID && typeId !== DuckDBTypeId.ANY && typeId !== DuckDBTypeId.SQLNULL;
}

/** Binds parameters. A text is bound as a number if the statement expects a number there and the text is one. */
function bind(prepared: DuckDBPreparedStatement, parameters: readonly SqlParameter[]): void {
  if (prepared.parameterCount !== parameters.length) {
    throw new StatementFailure(
      'invalid',
      `The statement takes ${prepared.parameterCount} parameters; got ${parameters.length}.`,
    );
  }
  for (const [index, value] of parameters.entries()) {
    const place = index + 1;
    const number = typeof value === 'string' ? numberIn(value, prepared.parameterTypeId(place)) : undefined;
    if (value === null) prepared.bindNull(place);
    else if (typeof value === 'boolean') prepared.bindBoolean(place, value);
    else if (typeof number === 'bigint') prepared.bindBigInt(place, number);
    else if (typeof number === 'number') prepared.bindDouble(place, number);
    else if (typeof value === 'string') prepared.bindVarchar(place, value);
    else if (Number.isSafeInteger(value)) prepared.bindBigInt(place, BigInt(value));
    else prepared.bindDouble(place, value);
  }
}

const INTEGERS = new Set([
  DuckDBTypeId.TINYINT,
  DuckDBTypeId.SMALLINT,
  DuckDBTypeId.INTEGER,
  DuckDBTypeId.BIGINT,
]);

function numberIn(text: string, typeId: DuckDBTypeId): bigint | number | undefined {
  if (INTEGERS.has(typeId) && /^[+-]?\d{1,18}$/.test(text)) return BigInt(text);
  const isNumber = typeId === DuckDBTypeId.DOUBLE || typeId === DuckDBTypeId.FLOAT;
  return isNumber && text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : undefined;
}

/**
 * Fails if the stream was cut short by an error. A failed stream ends like an exhausted one, but a failure also ends
 * the transaction.
 */
async function requireWhole(connection: DuckDBConnection): Promise<void> {
  try {
    await connection.run('SELECT 1');
  } catch {
    throw new StatementFailure(
      'invalid',
      'The statement failed while it computed rows: a value cannot be computed or converted, or memory ran out.',
    );
  }
}

async function nextRows(result: DuckDBResult): Promise<DuckDBValue[][]> {
  const chunk = await result.fetchChunk();
  return chunk === null || chunk.rowCount === 0 ? [] : chunk.getRows();
}

/** Approximate bytes of the rows. Only text can be large. */
function sizeOf(rows: readonly (readonly DuckDBValue[])[]): number {
  let bytes = 0;
  for (const row of rows) for (const value of row) bytes += typeof value === 'string' ? value.length : 8;
  return bytes;
}

type Encode = (rows: readonly DuckDBValue[][], isDone: boolean) => SqlBatch;

function encoderOf(encoding: SqlEncoding, names: readonly string[], types: readonly DuckDBType[]): Encode {
  if (encoding.kind === 'json') return jsonEncoderOf(encoding);
  if (encoding.kind === 'arrow') return arrowEncoderOf(names, types);
  const typeIds = types.map(postgresTypeOf);
  return (rows, isDone) => ({
    rowCount: rows.length,
    isDone,
    bytes: encodeDataRows(rows, typeIds, encoding.formats),
  });
}

/** Encodes one JSON list over all batches. */
function jsonEncoderOf({ limit, maxBytes }: Extract<SqlEncoding, { readonly kind: 'json' }>): Encode {
  let written = 0;
  let bytes = 0;
  return (rows, isDone) => {
    const pieces: Buffer[] = [];
    for (const row of rows.slice(0, limit - written)) {
      const text = Buffer.from(`${written === 0 ? '' : ','}${JSON.stringify(row.map(jsonOf))}`);
      bytes += text.length;
      if (bytes > maxBytes) return { rowCount: 0, isDone: true, fittingRowCount: written };
      pieces.push(text);
      written += 1;
    }
    return { rowCount: rows.length, isDone, bytes: Buffer.concat(pieces) };
  };
}

/** Encodes one Arrow stream over all batches. */
function arrowEncoderOf(names: readonly string[], types: readonly DuckDBType[]): Encode {
  const arrow = createArrowEncoder(names, types);
  let isStarted = false;
  return (rows, isDone) => {
    const pieces = [
      ...(isStarted ? [] : [arrow.start]),
      ...(rows.length === 0 ? [] : [arrow.batch(rows)]),
      ...(isDone ? [arrow.end] : []),
    ];
    isStarted = true;
    return { rowCount: rows.length, isDone, bytes: Buffer.concat(pieces) };
  };
}
