import { Option, type Command } from 'commander';
import type { Run } from '../../clients/typescript/types/runs.js';
import { positiveInteger } from '../terminal/arguments.js';
import type { CommandContext } from '../terminal/command.js';
import { runsClient } from './client.js';
import { addExport } from './export.js';
import { RESULT_FORMATS, writeResults, type ResultFormat } from './results.js';
import { addSubmit } from './submit.js';
import { reportRun, watchRun } from './watch.js';
import { formatTable } from '../terminal/table.js';

/** `gloaming runs submit|list|watch|cancel|results|export`, over HTTP against the server that GLOAMING_URL names. */
export function register(program: Command, context: CommandContext): void {
  const runs = program
    .command('runs')
    .description('retained work on a running server (GLOAMING_URL, GLOAMING_API_KEY)');
  addSubmit(runs, context);
  runs
    .command('list')
    .description('runs, newest first')
    .option('--status <status>', 'only those in this state')
    .option('-n, --count <count>', 'how many at most', positiveInteger, 20)
    .action(async ({ status, count }: { status?: Run['status']; count: number }) => {
      const query = { limit: Math.min(count, 100), status };
      const { data } = await runsClient(context).call('runs.list', { query });
      context.stdout.write(tableOf(data));
    });
  runs
    .command('watch')
    .description('show the progress of a run until it ends')
    .argument('<run>', 'run id')
    .action(async (id: string) => reportRun(await watchRun(id, runsClient(context), context), context));
  runs
    .command('cancel')
    .description('cancel a queued or running run')
    .argument('<run>', 'run id')
    .action(async (id: string) => {
      const run = await runsClient(context).cancel(id);
      context.stdout.write(`${run.id} is cancelled.\n`);
    });
  runs
    .command('results')
    .description('write the rows of a run by rank, waiting for rows that are not ready')
    .argument('<run>', 'run id')
    .addOption(
      new Option('-f, --format <format>', 'one JSON object a line, or columns')
        .choices(RESULT_FORMATS)
        .default('json'),
    )
    .action((id: string, { format }: { format: ResultFormat }) => writeResults(id, { format }, context));
  addExport(runs, context);
}

function tableOf(runs: readonly Run[]): string {
  const rows = runs.map(({ id, endpoint, status, progress, created_at, label }) => [
    id,
    endpoint,
    status,
    `${Math.floor(progress.fraction * 100)} %`,
    created_at,
    label ?? '',
  ]);
  return formatTable(['run', 'endpoint', 'status', 'done', 'created', 'label'], rows, new Set([3]));
}
