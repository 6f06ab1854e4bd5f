import { Ajv2020 } from 'ajv/dist/2020.js';
import { Refusal } from '../../errors.js';
import { parseStrictJsonInTurns } from '../../json/strict.js';
import {
  RUNS_AT_WORK_MAX_COUNT,
  PARTIAL_RESULTS_REQUEST_MAX_BYTES,
  WORKER_WAITING_PACKS_MAX_COUNT,
} from '../../limits.js';
import { encodePartialResults } from '../../search/partitions/encoding.js';
import { PARTIAL_RESULTS_PATH, PartialResultRequest } from '../../services/workers/partial-result-request.js';
import { ExecutionQueue } from '../admission/execution-queue.js';
import { readBody, requireJson } from '../body/body.js';
import { page, sendJson, type InternalPage } from '../internal-page.js';
import { TIMEOUTS } from '../listener.js';
import { principalOfKey } from '../steps/authenticate.js';
import { requireScope } from '../steps/scopes.js';
import type { Shell, ShellContext } from '../shell.js';

/**
 * The worker's side of distributed search: partial results of partitions (services/workers/), as bytes. Searches wait
 * in the queue of the appliance's own searches. Packs of runs have a queue of their own.
 */
export function partialResultPages(shell: Shell): readonly InternalPage[] {
  const { partitionResults } = shell;
  if (partitionResults === undefined) return [];
  const packs = new ExecutionQueue(
    {
      concurrentExecutions: RUNS_AT_WORK_MAX_COUNT,
      queuedExecutions: WORKER_WAITING_PACKS_MAX_COUNT,
      executionsPerKey: WORKER_WAITING_PACKS_MAX_COUNT,
    },
    shell.clock.nowMs,
  );
  const check = new Ajv2020().compile(PartialResultRequest);
  const read = async ({ req, res }: ShellContext): Promise<PartialResultRequest> => {
    requireJson(req);
    const { requestMs } = shell.timeouts ?? TIMEOUTS;
    const body = await parseStrictJsonInTurns(
      await readBody(req, res, PARTIAL_RESULTS_REQUEST_MAX_BYTES, requestMs),
    );
    if (check(body)) return body as PartialResultRequest;
    const [{ instancePath, message }] = check.errors!;
    throw new Refusal('validation_failed', `The request is not valid: body${instancePath} ${message}.`);
  };
  return [
    page('internal.parts.surveys', PARTIAL_RESULTS_PATH, (context) =>
      admitted(shell, context, async () => sendJson(context, { status: 'ok' })),
    ),
    page(
      'internal.parts.survey',
      PARTIAL_RESULTS_PATH,
      (context) =>
        admitted(shell, context, async () => {
          const { principal, requestId, signal, receivedAtMs, startDeadlineMs } = context.state;
          const request = await read(context);
          const place = (request.is_background ? packs : shell.admission.executions).takePlace(
            principal!.keyId,
          );
          try {
            await place.start(signal, startDeadlineMs);
            const partialResults = await partitionResults.partialResult(request, {
              ...principal!,
              requestId,
              signal,
              receivedAtMs,
            });
            context.status = 200;
            context.set({ 'Content-Type': 'application/octet-stream', 'Cache-Control': 'no-store' });
            context.body = encodePartialResults(partialResults);
          } finally {
            place.leave();
          }
        }),
      'POST',
    ),
  ];
}

/** Admits a key with scope search while there is room in the queue. */
async function admitted(shell: Shell, context: ShellContext, serve: () => Promise<void>): Promise<void> {
  const leave = shell.admission.enter();
  try {
    const principal = principalOfKey(shell, context.get('Authorization'));
    context.state.principal = principal;
    requireScope(principal, 'search', 'a survey');
    shell.admission.takeRequest(principal.keyId);
    await serve();
  } catch (error) {
    // `kernels_changed` is no code of the contract. Coordinators read it and write it into their log.
    if (!(error instanceof Refusal) || error.code !== 'kernels_changed') throw error;
    sendJson(context, { code: error.code, detail: error.message });
    context.status = 409;
  } finally {
    leave();
  }
}
