import { readFileSync } from 'node:fs';
import { text as readAll } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { Option, type Command } from 'commander';
import type { RunStatus } from '../../contract/runs/run-states.js';
import type { Run } from '../../contract/runs/runs.js';
import { Refusal } from '../../errors.js';
import { positiveInteger } from '../terminal/arguments.js';
import type { CommandContext } from '../terminal/command.js';
import { formatAmount, formatDuration } from '../terminal/progress.js';
import { createRun, runsClient } from './client.js';
import { addExport } from './export.js';
import { formatRows, RESULT_FORMATS, resultRows, type ResultFormat } from './results.js';
import { STAGES_OF_RUNS, watchRun } from './watch.js';
import { formatTable } from '../terminal/table.js';

interface SubmitFlags {
  readonly database?: string;
  readonly limit: number;
  readonly evidence: string;
  readonly label?: string;
  readonly priority?: string;
  readonly request?: boolean;
  readonly watch?: boolean;
}

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
    .action(async ({ status, count }: { status?: RunStatus; count: number }) => {
      const query = { limit: Math.min(count, 100), status };
      const { body: list } = await runsClient(context).call('runs.list', { query });
      context.stdout.write(tableOf(list.data));
    });
  runs
    .command('watch')
    .description('show the progress of a run until it ends')
    .argument('<run>', 'run id')
    .action(async (id: string) => report(await watchRun(id, runsClient(context), context), context));
  runs
    .command('cancel')
    .description('end a run that is queued or at work')
    .argument('<run>', 'run id')
    .action(async (id: string) => {
      const { body } = await runsClient(context).call('runs.cancel', { params: { run_id: id } });
      context.stdout.write(`${body.data.id} is cancelled.\n`);
    });
  runs
    .command('results')
    .description('write the rows of a run, waiting for those that are still to come')
    .argument('<run>', 'run id')
    .addOption(
      new Option('-f, --format <format>', 'one JSON object a line, or columns')
        .choices(RESULT_FORMATS)
        .default('json'),
    )
    .action((id: string, { format }: { format: ResultFormat }) => writeResults(id, format, context));
  addExport(runs, context);
}

function addSubmit(runs: Command, context: CommandContext): void {
  runs
    .command('submit')
    .description('search every protein of a FASTA file in one run, and print the id of the run')
    .argument('<file>', 'FASTA file, plain or gzip, or - for standard input')
    .option('-d, --database <name>', 'slug or id of a database; default: the default one')
    .option('-l, --limit <count>', 'candidates of each query', positiveInteger, 100)
    .addOption(
      new Option('--evidence <kind>', 'what to compute beside the ranking')
        .choices(['candidate_measurement', 'pairwise_sequence_alignment'])
        .default('candidate_measurement'),
    )
    .option('--label <text>', 'your name of the run; default: the file')
    .addOption(new Option('--priority <level>', 'among your own runs').choices(['high', 'normal', 'low']))
    .option('--request', 'the file is a whole request of POST /v1/runs, as JSON')
    .option('-w, --watch', 'show its progress until it ends')
    .action((file: string, flags: SubmitFlags) => submit(file, flags, context));
}

async function submit(file: string, flags: SubmitFlags, context: CommandContext): Promise<void> {
  const client = runsClient(context);
  const content = file === '-' ? await readAll(context.stdin) : readFile(file);
  const body = flags.request === true ? readRequest(content, file) : batchRequest(content, file, flags);
  const run = await createRun(client, body);
  context.stdout.write(`${run.id}\n`);
  if (flags.watch === true) report(await watchRun(run.id, client, context), context);
}

function batchRequest(fasta: string, file: string, flags: SubmitFlags): unknown {
  const { database, limit, evidence, label, priority } = flags;
  const name = label ?? (file === '-' ? undefined : file.slice(-256));
  return {
    endpoint: 'homology.batch_search',
    input: { fasta, limit, evidence, ...(database !== undefined && { database }) },
    ...(name !== undefined && { label: name }),
    ...(priority !== undefined && { priority }),
  };
}

function readFile(file: string): string {
  try {
    const bytes = readFileSync(file);
    const isGzip = bytes[0] === 0x1f && bytes[1] === 0x8b;
    return (isGzip ? gunzipSync(bytes) : bytes).toString('utf8');
  } catch (cause) {
    throw new Refusal('file_not_found', `${file} cannot be read: ${(cause as Error).message}`);
  }
}

function readRequest(content: string, file: string): unknown {
  try {
    return JSON.parse(content) as unknown;
  } catch (cause) {
    throw new Refusal('invalid_json', `${file} is not JSON: ${(cause as Error).message}`);
  }
}

async function writeResults(id: string, format: ResultFormat, context: CommandContext): Promise<void> {
  const rows = resultRows(id, runsClient(context));
  for await (const line of formatRows(rows, format)) {
    if (!context.stdout.write(line))
      await new Promise<void>((resolve) => context.stdout.once('drain', resolve));
  }
}

function report(run: Run, { stderr }: CommandContext): void {
  const { id, endpoint, result, progress, started_at, finished_at } = run;
  const tookMs = Date.parse(finished_at ?? '') - Date.parse(started_at ?? '');
  const work = formatAmount(progress.total_count, STAGES_OF_RUNS[endpoint]);
  const rows = result?.row_count ? `, ${result.row_count} rows` : '';
  stderr.write(`${id} completed: ${work}${rows}, ${formatDuration(tookMs)}.\n`);
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
