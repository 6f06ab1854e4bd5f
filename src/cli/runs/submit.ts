import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { text as readAll } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { Option, type Command } from 'commander';
import type { BatchSearchRunInput, RunRequest } from '../../clients/typescript/types/runs.js';
import { Refusal } from '../../errors.js';
import { needAlignments } from '../../services/select.js';
import { readFilterExpressions } from '../search/filter.js';
import type { CommandContext } from '../terminal/command.js';
import {
  addSearchSettings,
  alignmentBoundsOf,
  type SearchSettingFlags,
} from '../terminal/search-settings.js';
import { addCutOffOptions, cutOffsOf, type CutOffFlags } from '../terminal/selection.js';
import { runsClient } from './client.js';
import { RESULT_FORMATS, writeResults, type ResultFormat } from './results.js';
import { reportRun, watchRun } from './watch.js';

interface SubmitFlags extends CutOffFlags, SearchSettingFlags {
  readonly database?: string;
  readonly label?: string;
  readonly priority?: RunRequest['priority'];
  readonly propagation?: boolean;
  readonly request?: boolean;
  readonly watch?: boolean;
  readonly wait?: boolean;
  readonly format: ResultFormat;
  readonly output?: string;
}

const DEFAULT_LIMIT = 100;

/** `gloaming runs submit`: a whole FASTA file as one run. */
export function addSubmit(runs: Command, context: CommandContext): void {
  const command = runs
    .command('submit')
    .description('search every protein of a FASTA file in one run, and print the id of the run')
    .argument('<file>', 'FASTA file, plain or gzip, or - for standard input');
  command.option('-d, --database <name>', 'slug or id of a database; default: the default one');
  addSearchSettings(addCutOffOptions(command), {
    limit: `nearest candidates of each query (default: ${DEFAULT_LIMIT})`,
    evidence:
      'what to compute beside the ranking (default: alignments where options or propagation need them)',
    probability: 'also the probability that a candidate is a homolog',
  })
    .option(
      '--propagation',
      'also targets that only the neighbours of hits lead to, in a database with neighbours',
    )
    .option('--label <text>', 'your name of the run; default: the name of the file')
    .addOption(new Option('--priority <level>', 'among your own runs').choices(['high', 'normal', 'low']))
    .option('--request', 'the file is a whole request of POST /v1/runs, as JSON')
    .option('-w, --watch', 'show its progress until it ends')
    .option('--wait', 'wait for its end without showing anything')
    .addOption(
      new Option('-f, --format <format>', 'of --output: one JSON object a line, or columns')
        .choices(RESULT_FORMATS)
        .default('json'),
    )
    .option('-o, --output <file>', 'wait for its end, and write its rows here')
    .action((file: string, flags: SubmitFlags) => submit(file, flags, context));
}

async function submit(file: string, flags: SubmitFlags, context: CommandContext): Promise<void> {
  const client = runsClient(context);
  const content = file === '-' ? await readAll(context.stdin) : readFile(file);
  const body = flags.request === true ? readRequest(content, file) : batchRequest(content, file, flags);
  const run = await client.submit(body);
  context.stdout.write(`${run.id}\n`);
  if (flags.watch !== true && flags.wait !== true && flags.output === undefined) return;
  reportRun(await watchRun(run.id, client, context, flags.watch === true), context);
  if (flags.output !== undefined) await writeResults(run.id, flags, context);
}

function batchRequest(fasta: string, file: string, flags: SubmitFlags): RunRequest {
  if (fasta.trim() === '') throw new Refusal('invalid_fasta', `${file} holds no FASTA record.`);
  const { database, limit = DEFAULT_LIMIT, label, priority } = flags;
  const { guarantee, significance, homologs, databaseSize, queryRange, probability } = flags;
  const bounds = alignmentBoundsOf(flags);
  const cutOffs = cutOffsOf(flags);
  const filter = readFilterExpressions(flags.filter) as BatchSearchRunInput['filter'];
  const propagates = flags.propagation === true;
  const needsAlignments = propagates || bounds !== undefined || needAlignments(cutOffs);
  const evidence = flags.evidence ?? (needsAlignments ? 'pairwise_sequence_alignment' : undefined);
  const name = label ?? (file === '-' ? undefined : basename(file));
  return {
    endpoint: 'homology.batch_search',
    input: {
      fasta,
      limit,
      ...cutOffs,
      ...(evidence !== undefined && { evidence }),
      ...(database !== undefined && { database }),
      ...(filter !== undefined && { filter }),
      ...(guarantee !== undefined && { guarantee }),
      ...(significance !== undefined && { significance }),
      ...(homologs !== undefined && { relatives: homologs }),
      ...(databaseSize !== undefined && { database_size: databaseSize }),
      ...(propagates && { propagation: 'required' as const }),
      ...(queryRange !== undefined && { query_range: queryRange }),
      ...(probability === true && { probability: 'required' }),
      ...(bounds && {
        alignments: { maximum_count: bounds.maxCount, maximum_expected_false_hits: bounds.maxEValue },
      }),
    },
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

/** Reads the request without a check, because the server validates it. */
function readRequest(content: string, file: string): RunRequest {
  try {
    return JSON.parse(content) as RunRequest;
  } catch (cause) {
    throw new Refusal('invalid_json', `${file} is not JSON: ${(cause as Error).message}`);
  }
}
