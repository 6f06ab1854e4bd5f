import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from '../../clients/typescript/client.js';
import type { Run } from '../../clients/typescript/types/runs.js';
import type { RunEndpointKey } from '../../contract/runs/run-kinds.js';
import { isRefusalCode } from '../../contract/grammar/refusals.js';
import { Fault, Refusal } from '../../errors.js';
import type { CommandContext } from '../terminal/command.js';
import { createProgress, formatAmount, formatDuration, type ProgressStage } from '../terminal/progress.js';

/** Names of the units of work of each endpoint. */
const STAGES_OF_RUNS: Readonly<Record<RunEndpointKey, ProgressStage>> = {
  'homology.search': 'search',
  'homology.batch_search': 'search',
  'homology.annotate': 'search',
  'homology.export': 'export',
  'sequences.msa.build': 'align',
  'sequences.relatives': 'search',
  'structure.predict': 'predict',
};

const RECONNECT_MS = 1_000;
/** Retries during a restart of the server. */
const RECONNECT_MAX_TRIES = 120;

/**
 * Waits for the end of a run, also over restarts of the server, and shows its progress unless switched off.
 * Errors  Refusal when the run failed or was cancelled; Fault when the server stays unreachable
 */
export async function watchRun(
  runId: string,
  client: Client,
  { stderr }: Pick<CommandContext, 'stderr'>,
  isShown = true,
): Promise<Run> {
  const progress = isShown ? createProgress(stderr) : undefined;
  try {
    for (let tries = 0; ; tries += 1) {
      try {
        for await (const { data } of client.watch(runId)) {
          tries = 0;
          if (data.progress === undefined) continue;
          const { done_count: done, total_count: total } = data.progress;
          progress?.update({ stage: STAGES_OF_RUNS[data.endpoint], done, total });
        }
        return requireCompleted(await client.run(runId));
      } catch (error) {
        if (!(error instanceof Fault) || tries === RECONNECT_MAX_TRIES) throw error;
      }
      await pause(RECONNECT_MS);
    }
  } finally {
    progress?.end();
  }
}

/** One line on a run that has completed. */
export function reportRun(run: Run, { stderr }: Pick<CommandContext, 'stderr'>): void {
  const { id, endpoint, result, progress, started_at, finished_at } = run;
  const tookMs = Date.parse(finished_at ?? '') - Date.parse(started_at ?? '');
  const work = formatAmount(progress.total_count, STAGES_OF_RUNS[endpoint]);
  const rows = result?.row_count ? `, ${result.row_count} rows` : '';
  const { left_out_count: leftOut = 0 } = (result?.summary ?? {}) as { readonly left_out_count?: number };
  const cut = leftOut === 0 ? '' : `, ${leftOut} candidates left out by the cut-offs`;
  stderr.write(`${id} completed: ${work}${rows}${cut}, ${formatDuration(tookMs)}.\n`);
}

/** Returns a run that has ended. Errors  Refusal with the code of its failure, `run_failed` or `run_cancelled` */
export function requireCompleted(run: Run): Run {
  if (run.status === 'completed') return run;
  const { code = '', message } = run.error ?? {};
  const why = message === undefined ? '' : `: ${message}`;
  const ended = run.status === 'cancelled' ? 'run_cancelled' : 'run_failed';
  throw new Refusal(isRefusalCode(code) ? code : ended, `${run.id} ${VERBS[run.status]}${why}`);
}

const VERBS: Readonly<Record<string, string>> = { failed: 'failed', cancelled: 'was cancelled' };
