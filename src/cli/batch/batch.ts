import { resolve } from 'node:path';
import { Option, type Command } from 'commander';
import { loadConfig } from '../../config.js';
import { Refusal } from '../../errors.js';
import { BATCH_MAX_TASKS, RETAINED_MAX_CANDIDATES } from '../../limits.js';
import {
  runBatchTask,
  searchBatch,
  type BatchOptions,
  type BatchResult,
  type TaskOptions,
} from '../../pipelines/batch/batch.js';
import { arrayOf } from '../../pipelines/cluster/slurm.js';
import { readQueries } from '../../pipelines/search.js';
import { fastaFile } from '../../sequence/fasta.js';
import { readSlurmWish, thisProgram } from '../cluster/options.js';
import { noticeText } from '../index/notices.js';
import { readFilterExpressions } from '../search/filter.js';
import { positiveInteger } from '../terminal/arguments.js';
import type { CommandContext } from '../terminal/command.js';
import { runPipeline } from '../terminal/pipeline.js';

type Settings = BatchOptions['settings'];

interface BatchFlags {
  readonly database: string;
  readonly output: string;
  readonly limit: number;
  readonly filter: readonly string[];
  readonly evidence: Settings['evidence'];
  readonly guarantee: Settings['guarantee'];
  readonly significance: Settings['significance'];
  readonly relatives: NonNullable<Settings['relatives']>;
  readonly parts?: number;
  /** GiB. */
  readonly memory?: number;
  readonly tasks?: number;
  readonly slurm?: string;
}

const HELP = `
Every node must see the indexes folder and the one of the output. Killed at any moment, the same command goes on.
The file has the columns of a run's Parquet export, and is the same to the byte however many parts, tasks and nodes
there were.

Examples:
  gloaming batch search proteome.fasta -d mylab -o found.parquet
  gloaming batch search proteomes.fasta.gz -d uniref50 -o found.parquet --parts 8 --slurm partition=cpu,array=64`;

/** `gloaming batch search|task`: many queries on one machine or a cluster, without a server. */
export function register(program: Command, context: CommandContext): void {
  const batch = program
    .command('batch')
    .description('many queries on one machine or a cluster, without a server');
  batch
    .command('task')
    .description('do one task of a batch; its script calls this')
    .argument('<folder>', 'folder of the batch')
    .argument('<tasks>', 'how many tasks there are')
    .argument('<task>', 'its number, from 0 on')
    .action(async (folder: string, tasks: string, task: string) => {
      const { environment, stdout } = context;
      const config = loadConfig(environment);
      const path = resolve(folder);
      const unitCount = await runBatchTask(path, Number(tasks), Number(task), config, environment);
      stdout.write(`Task ${Number(task)}: ${unitCount} units done.\n`);
    });
  addSearch(batch, context);
}

function addSearch(batch: Command, context: CommandContext): void {
  const choice = (flag: string, text: string, choices: readonly string[], chosen: string): Option =>
    new Option(flag, text).choices(choices).default(chosen);
  batch
    .command('search')
    .description('search a database with the proteins of a FASTA file, into a Parquet file')
    .argument('<fasta>', 'FASTA file, plain or gzip')
    .requiredOption('-d, --database <name>', 'slug of a database, or a release id')
    .requiredOption(
      '-o, --output <file.parquet>',
      'where the candidates go; <file>.work lies beside it until then',
    )
    .option('-l, --limit <count>', 'nearest candidates of each query', positiveInteger, 100)
    .addOption(
      new Option('--filter <expression>', 'as "gloaming search" takes it; repeated: all must hold')
        .argParser((value: string, earlier: readonly string[]) => [...earlier, value])
        .default([], 'none'),
    )
    .addOption(
      choice(
        '--evidence <kind>',
        'what to compute beside the ranking',
        ['candidate_measurement', 'pairwise_sequence_alignment'],
        'pairwise_sequence_alignment',
      ),
    )
    .addOption(
      choice('--guarantee <kind>', 'what the ranking must be', ['approximate', 'exhaustive'], 'approximate'),
    )
    .addOption(
      choice(
        '--significance <kind>',
        'whether E-values are wanted',
        ['not_requested', 'if_available', 'required'],
        'if_available',
      ),
    )
    .addOption(
      choice(
        '--relatives <kind>',
        'whether homologs of the queries are searched, where the targets have homologs',
        ['as_release', 'none'],
        'as_release',
      ),
    )
    .option('--parts <count>', 'divide the database into so many parts (default: 1)', positiveInteger)
    .option('--memory <GiB>', 'divide it into parts whose tokens fit, where it is larger than memory', Number)
    .option(
      '--tasks <count>',
      'write a script for sbatch of so many tasks instead of searching here',
      positiveInteger,
    )
    .option('--slurm <options>', 'let Slurm search, and wait: partition=cpu,cpus-per-task=8,array=64')
    .addHelpText('after', HELP)
    .action((fasta: string, flags: BatchFlags) => search(fasta, flags, context));
}

async function search(fasta: string, flags: BatchFlags, context: CommandContext): Promise<void> {
  const options = batchOptionsOf(flags);
  const config = loadConfig(context.environment);
  const { dataFolder } = config;
  const queries = readQueries(fastaFile(fasta));
  const result = await runPipeline(
    context,
    { command: 'batch search', database: options.database, dataFolder },
    noticeText,
    (events) => searchBatch(queries, options, config, context.environment, events),
  );
  context.stdout.write(describeBatch(result, options));
}

function batchOptionsOf(flags: BatchFlags): BatchOptions {
  const { database, limit, evidence, guarantee, significance, relatives, parts, memory } = flags;
  if (limit > RETAINED_MAX_CANDIDATES) {
    throw new Refusal('invalid_option', `--limit goes up to ${RETAINED_MAX_CANDIDATES}.`);
  }
  return {
    database,
    output: resolve(flags.output),
    settings: { limit, evidence, guarantee, significance, relatives },
    filter: readFilterExpressions(flags.filter) ?? null,
    parts,
    memory,
    tasks: readTaskFlags(flags),
  };
}

/** Reads the flags that divide a batch; undefined where this process searches. Errors  Refusal `invalid_option` */
function readTaskFlags({ tasks, slurm }: BatchFlags): TaskOptions | undefined {
  const wish = slurm === undefined ? undefined : readSlurmWish(slurm);
  const count = tasks ?? wish?.taskCount;
  if (count === undefined && wish === undefined) return undefined;
  if (count === undefined || count > BATCH_MAX_TASKS || (wish?.taskCount ?? count) !== count) {
    throw new Refusal(
      'invalid_option',
      `Name the number of tasks once, ${BATCH_MAX_TASKS} at most: --tasks 64, or array=64 in --slurm.`,
    );
  }
  return { count, wish, program: thisProgram() };
}

function describeBatch(result: BatchResult, { output }: BatchOptions): string {
  if (result.kind === 'divided') {
    return (
      `  sbatch --array=${arrayOf(result.missing, undefined)} ${result.script}\n\n` +
      'When it is done, the same command writes the output.\n'
    );
  }
  const { slug, queryCount, releaseId, resultSha256 } = result;
  return (
    `Searched ${slug} with ${queryCount.toLocaleString('en')} queries.\n` +
    `  release        ${releaseId}\n  result_sha256  ${resultSha256}\n  candidates     ${output}\n`
  );
}
