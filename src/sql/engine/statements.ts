import type { DuckDBConnection } from '@duckdb/node-api';
import { StatementFailure } from './failure.js';
import type { EngineRequest, SqlBatch, StatementShape } from './messages.js';
import {
  describeStatement,
  startStatement,
  type RunningStatement,
  type StatementPlace,
} from './statement.js';
import type { OpenTables } from './open-tables.js';

interface HeldTables {
  readonly tables: OpenTables;
  statementCount: number;
}

interface HeldStatement {
  readonly held: HeldTables;
  /** Aborts at an interrupt, also before the statement has a connection. */
  readonly interruption: AbortController;
  connection?: DuckDBConnection;
  running?: RunningStatement;
}

/**
 * The open statements of one organization and the snapshots that they read. A newer snapshot replaces the current one.
 */
export class Statements {
  readonly #statements = new Map<number, HeldStatement>();
  #current: HeldTables | undefined;

  /** Opens a snapshot for the statements that follow. The previous snapshot closes with its last statement. */
  open(tables: OpenTables): void {
    const before = this.#current;
    this.#current = { tables, statementCount: 0 };
    if (before !== undefined) this.#release(before);
  }

  /** Errors  those of describeStatement; StatementFailure `interrupted` */
  async describe(statementId: number, sql: string): Promise<StatementShape> {
    const statement = this.#enter(statementId);
    try {
      return await describeStatement(sql, await connect(statement));
    } finally {
      this.close(statementId);
    }
  }

  /**
   * Starts a statement, which stays open until `close` unless the start fails.
   * Errors  those of startStatement; StatementFailure `interrupted`
   */
  async start({
    statementId,
    sql,
    parameters,
    encoding,
  }: Extract<EngineRequest, { readonly kind: 'start' }>): Promise<StatementShape> {
    const statement = this.#enter(statementId);
    try {
      statement.running = await startStatement(sql, parameters, encoding, await connect(statement));
      return statement.running.shape;
    } catch (error) {
      this.close(statementId);
      throw error;
    }
  }

  /** Errors  StatementFailure, and those of the engine */
  async fetch(statementId: number, maxRows: number): Promise<SqlBatch> {
    const statement = this.#statements.get(statementId);
    if (statement?.running === undefined) throw interrupted();
    const { signal } = statement.interruption;
    signal.throwIfAborted();
    try {
      return await statement.running.fetch(maxRows);
    } catch (error) {
      throw signal.aborted ? interrupted() : error;
    }
  }

  /** Interrupts a statement. A no-op if the statement is not open. */
  interrupt(statementId: number): void {
    const statement = this.#statements.get(statementId);
    statement?.interruption.abort(interrupted());
    statement?.connection?.interrupt();
  }

  /** Closes the statement. A second call is a no-op. */
  close(statementId: number): void {
    const statement = this.#statements.get(statementId);
    if (statement === undefined) return;
    this.#statements.delete(statementId);
    statement.connection?.closeSync();
    statement.held.statementCount -= 1;
    this.#release(statement.held);
  }

  /** Registers the statement before it connects, so that an interrupt finds it. The caller must close it. */
  #enter(id: number): HeldStatement {
    const held = this.#current as HeldTables;
    held.statementCount += 1;
    const statement = { held, interruption: new AbortController() };
    this.#statements.set(id, statement);
    return statement;
  }

  #release(held: HeldTables): void {
    if (held !== this.#current && held.statementCount === 0) held.tables.close();
  }
}

async function connect(statement: HeldStatement): Promise<StatementPlace> {
  const { tables } = statement.held;
  const connection = await tables.connect();
  statement.connection = connection;
  const { signal } = statement.interruption;
  signal.throwIfAborted();
  return { connection, gate: tables.gate, signal };
}

function interrupted(): StatementFailure {
  return new StatementFailure('interrupted', 'The statement was interrupted.');
}
