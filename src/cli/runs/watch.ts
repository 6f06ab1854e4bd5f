import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from '../../contract/document/client.js';
import type { RunEndpointKey } from '../../contract/runs/run-kinds.js';
import type { Run } from '../../contract/runs/runs.js';
import { isRefusalCode } from '../../contract/grammar/refusals.js';
import { isFinal } from '../../contract/runs/run-states.js';
import { Fault, Refusal } from '../../errors.js';
import type { CommandContext } from '../terminal/command.js';
import { createProgress, type ProgressStage } from '../terminal/progress.js';

/** What the units of work of each endpoint are called. */
export const STAGES_OF_RUNS: Readonly<Record<RunEndpointKey, ProgressStage>> = {
  'homology.search': 'search',
  'homology.batch_search': 'search',
  'homology.export': 'export',
  'sequences.msa.build': 'align',
  'structure.predict': 'predict',
};

const RECONNECT_MS = 1_000;
/** A server that is restarted is back within this. */
const RECONNECT_MAX_TRIES = 120;

/**
 * Shows a run's progress until it ends, over restarts of the server.
 * Errors  Refusal where the run failed or was cancelled; Fault where the server stays away
 */
export async function watchRun(
  runId: string,
  client: Client,
  { stderr }: Pick<CommandContext, 'stderr'>,
): Promise<Run> {
  const progress = createProgress(stderr);
  const params = { run_id: runId };
  let lastEventId: string | undefined;
  let tries = 0;
  try {
    for (;;) {
      try {
        const headers: Record<string, string> = lastEventId ? { 'Last-Event-ID': lastEventId } : {};
        for await (const { id, data } of client.events('runs.events.stream', { params, headers })) {
          lastEventId = id ?? lastEventId;
          tries = 0;
          const { endpoint, progress: come } = data.data;
          if (come === undefined) continue;
          const { done_count: done, total_count: total } = come;
          progress.update({ stage: STAGES_OF_RUNS[endpoint], done, total });
        }
        const { data: run } = (await client.call('runs.get', { params })).body;
        if (isFinal(run.status)) return requireCompleted(run);
      } catch (error) {
        // A stream that broke off is a TypeError of fetch; a server that is gone, a Fault of the client.
        if (!(error instanceof Fault || error instanceof TypeError) || tries === RECONNECT_MAX_TRIES)
          throw error;
      }
      tries += 1;
      await pause(RECONNECT_MS);
    }
  } finally {
    progress.end();
  }
}

function requireCompleted(run: Run): Run {
  if (run.status === 'completed') return run;
  const { code = '', message } = run.error ?? {};
  const why = message === undefined ? '' : `: ${message}`;
  const ended = run.status === 'cancelled' ? 'run_cancelled' : 'run_failed';
  throw new Refusal(isRefusalCode(code) ? code : ended, `${run.id} ${VERBS[run.status]}${why}`);
}

const VERBS: Readonly<Record<string, string>> = { failed: 'failed', cancelled: 'was cancelled' };
