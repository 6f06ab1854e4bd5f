import { writeFileSync } from 'node:fs';
import { statementFailure } from './failure.js';
import type { EngineAnswer, EngineAnswers, EngineCall, EngineRequest } from './messages.js';
import { Statements } from './statements.js';
import { openWorld } from './world.js';

/* The process of one organization's engine. A statement that crashes it does not affect the server. */

const statements = new Statements();

async function answer(request: EngineRequest): Promise<EngineAnswers[keyof EngineAnswers]> {
  switch (request.kind) {
    case 'open':
      statements.open(await openWorld(request.world, request.limits));
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

/** Makes the kernel's out-of-memory killer prefer this process to the server. */
function offerToEnd(): void {
  try {
    writeFileSync('/proc/self/oom_score_adj', '1000');
  } catch {
    // Only Linux has this score.
  }
}

offerToEnd();
process.on('message', (call: EngineCall) => void respond(call).then((result) => process.send?.(result)));
// The process must not outlive the server, even during a computation.
process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'));
