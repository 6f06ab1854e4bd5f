import { writeFileSync } from 'node:fs';
import { lowerPriority } from '../../processes.js';
import { statementFailure } from './failure.js';
import type { EngineAnswer, EngineAnswers, EngineCall, EngineRequest } from './messages.js';
import { Statements } from './statements.js';
import { openTables } from './open-tables.js';

/** In steps of nice(1). */
const LOWER_BY = 5;

/* Entry point of the process of one organization's engine. A crash ends this process only, not the server. */

const statements = new Statements();

async function answer(request: EngineRequest): Promise<EngineAnswers[keyof EngineAnswers]> {
  switch (request.kind) {
    case 'open':
      statements.open(await openTables(request.tables, request.limits));
      return true;
    case 'describe':
      return statements.describe(request.statementId, request.sql);
    case 'start':
      return statements.start(request);
    case 'fetch':
      return statements.fetch(request.statementId, request.maxRows);
    case 'interrupt':
      statements.interrupt(request.statementId);
      return true;
    case 'close':
      statements.close(request.statementId);
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

/** Raises the OOM score, so that the system kills this process before the server when memory runs out. */
function offerToEnd(): void {
  try {
    writeFileSync('/proc/self/oom_score_adj', '1000');
  } catch {
    // Only Linux has this score.
  }
}

/** Lowers the priority of this process, whose threads could fill all cores, so that the server answers beside it. */
function giveWay(): void {
  try {
    lowerPriority(process.pid, LOWER_BY);
  } catch {
    // A system without priorities runs it as it is.
  }
}

offerToEnd();
giveWay();
process.on('message', (call: EngineCall) => void respond(call).then((result) => process.send?.(result)));
// Ends the process with the server, even in the middle of a statement.
process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'));
