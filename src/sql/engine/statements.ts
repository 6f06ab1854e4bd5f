import type { DuckDBConnection } from '@duckdb/node-api';
import { StatementFailure } from './failure.js';
import type { EngineRequest, SqlBatch, StatementShape } from './messages.js';
import {
  describeStatement,
  startStatement,
  type RunningStatement,
  type StatementPlace,
} from './statement.js';
import type { OpenWorld } from './world.js';

interface HeldWorld {
  readonly world: OpenWorld;
  statementCount: number;
}

interface HeldStatement {
  readonly held: HeldWorld;
  /** Aborts when it is interrupted, whether it has its connection by then or not. */
  readonly interruption: AbortController;
  connection?: DuckDBConnection;
  running?: RunningStatement;
}

/** Statements of one organization, and the worlds that they read: a newer one replaces the one before. */
export class Statements {
  readonly #statements = new Map<number, HeldStatement>();
  #current: HeldWorld | undefined;

  /** Statements that come after it see this world; the one before is closed with the last of its own. */
  open(world: OpenWorld): void {
    const before = this.#current;
    this.#current = { world, statementCount: 0 };
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
   * It is held until it is closed, or fails to start.
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

  /** Ends what the statement has at work; one that is not held is left alone. */
  interrupt(statementId: number): void {
    const statement = this.#statements.get(statementId);
    statement?.interruption.abort(interrupted());
    statement?.connection?.interrupt();
  }

  /** Gives the statement up; a second call does nothing. */
  close(statementId: number): void {
    const statement = this.#statements.get(statementId);
    if (statement === undefined) return;
    this.#statements.delete(statementId);
    statement.connection?.closeSync();
    statement.held.statementCount -= 1;
    this.#release(statement.held);
  }

  /** Held before it connects, so that an interrupt finds it; whatever becomes of it, it is to be closed. */
  #enter(id: number): HeldStatement {
    const held = this.#current as HeldWorld;
    held.statementCount += 1;
    const statement = { held, interruption: new AbortController() };
    this.#statements.set(id, statement);
    return statement;
  }

  #release(held: HeldWorld): void {
    if (held !== this.#current && held.statementCount === 0) held.world.close();
  }
}

async function connect(statement: HeldStatement): Promise<StatementPlace> {
  const { world } = statement.held;
  const connection = await world.connect();
  statement.connection = connection;
  const { signal } = statement.interruption;
  signal.throwIfAborted();
  return { connection, gate: world.gate, signal };
}

function interrupted(): StatementFailure {
  return new StatementFailure('interrupted', 'It was interrupted.');
}
