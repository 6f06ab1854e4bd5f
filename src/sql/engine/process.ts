import { writeFileSync } from 'node:fs';
import type { DuckDBConnection } from '@duckdb/node-api';
import { StatementFailure, statementFailure } from './failure.js';
import type { EngineAnswer, EngineAnswers, EngineCall, EngineRequest } from './messages.js';
import { describeStatement, startStatement, type RunningStatement } from './statement.js';
import { openWorld, type OpenWorld } from './world.js';

/*
 * The process of one organization's engine. Whatever a statement does to it, the server only sees it end. A newer world
 * replaces the one before for the statements that come after it.
 */

interface HeldWorld {
  readonly world: OpenWorld;
  statementCount: number;
}

interface HeldStatement {
  readonly held: HeldWorld;
  readonly connection: DuckDBConnection;
  running?: RunningStatement;
  isInterrupted: boolean;
}

const statements = new Map<number, HeldStatement>();
let current: HeldWorld | undefined;

function release(held: HeldWorld): void {
  if (held !== current && held.statementCount === 0) held.world.close();
}

async function withConnection<Result>(
  work: (connection: DuckDBConnection, held: HeldWorld) => Promise<Result>,
): Promise<Result> {
  const held = current as HeldWorld;
  held.statementCount += 1;
  const connection = await held.world.connect();
  try {
    return await work(connection, held);
  } finally {
    connection.closeSync();
    held.statementCount -= 1;
    release(held);
  }
}

function interrupt(statementId: number): void {
  const statement = statements.get(statementId);
  if (statement === undefined) return;
  statement.isInterrupted = true;
  statement.connection.interrupt();
}

function close(statementId: number): void {
  const statement = statements.get(statementId);
  if (statement === undefined) return;
  statements.delete(statementId);
  statement.connection.closeSync();
  statement.held.statementCount -= 1;
  release(statement.held);
}

async function start(request: Extract<EngineRequest, { readonly kind: 'start' }>) {
  const held = current as HeldWorld;
  held.statementCount += 1;
  const connection = await held.world.connect();
  const statement: HeldStatement = { held, connection, isInterrupted: false };
  statements.set(request.statementId, statement);
  const { sql, parameters, encoding } = request;
  statement.running = await startStatement(sql, parameters, encoding, connection, held.world);
  return statement.running.shape;
}

function interrupted(): StatementFailure {
  return new StatementFailure('interrupted', 'It was interrupted.');
}

async function fetchRows(statementId: number, maxRows: number) {
  const statement = statements.get(statementId);
  if (statement?.running === undefined || statement.isInterrupted) throw interrupted();
  try {
    return await statement.running.fetch(maxRows);
  } catch (error) {
    throw statement.isInterrupted ? interrupted() : error;
  }
}

async function answer(request: EngineRequest): Promise<EngineAnswers[keyof EngineAnswers]> {
  switch (request.kind) {
    case 'open': {
      const before = current;
      current = { world: await openWorld(request.world, request.limits), statementCount: 0 };
      if (before !== undefined) release(before);
      return true;
    }
    case 'describe':
      return withConnection((connection, { world }) => describeStatement(request.sql, connection, world));
    case 'start':
      return start(request);
    case 'fetch':
      return fetchRows(request.statementId, request.maxRows);
    case 'interrupt':
      interrupt(request.statementId);
      return true;
    case 'close':
      close(request.statementId);
      return true;
  }
}

async function respond({ id, ...request }: EngineCall): Promise<EngineAnswer> {
  try {
    return { id, value: await answer(request as EngineRequest) };
  } catch (error) {
    const { kind, message } = statementFailure(error);
    return { id, failure: { kind, message } };
  }
}

/** Where memory runs out, the system ends this process before the server. */
function offerToEnd(): void {
  try {
    writeFileSync('/proc/self/oom_score_adj', '1000');
  } catch {
    // Not every system has such a score.
  }
}

offerToEnd();
process.on('message', (call: EngineCall) => void respond(call).then((result) => process.send?.(result)));
// Without its server it must not go on, whatever it computes.
process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'));
