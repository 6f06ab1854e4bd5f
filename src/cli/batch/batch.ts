import { resolve } from 'node:path';
import type { Command } from 'commander';
import { loadConfig } from '../../config.js';
import { Refusal } from '../../errors.js';
import { BATCH_MAX_TASKS, RETAINED_MAX_CANDIDATES } from '../../limits.js';
import {
  runBatchTask,
  searchBatch,
  type BatchOptions,
  type BatchResult,
} from '../../pipelines/batch/batch.js';
import { arrayOf } from '../../pipelines/cluster/slurm.js';
import type { TaskOptions } from '../../pipelines/cluster/units.js';
import { readQueries } from '../../pipelines/search.js';
import { fastaFile } from '../../sequence/fasta.js';
import { readSlurmArray, thisProgram } from '../cluster/options.js';
import { noticeText } from '../index/notices.js';
import { CUT_OFF_LIMIT } from '../search/options.js';
import { readFilterExpressions } from '../search/filter.js';
import { positiveInteger } from '../terminal/arguments.js';
import type { CommandContext } from '../terminal/command.js';
import { runPipeline } from '../terminal/pipeline.js';
import {
  addSearchSettings,
  alignmentBoundsOf,
  describeCutAlignments,
  type SearchSettingFlags,
} from '../terminal/search-settings.js';
import { refuseOverwrite } from '../terminal/overwrite.js';

interface BatchFlags extends SearchSettingFlags {
  readonly database: string;
  readonly output: string;
  readonly propagation?: boolean;
  readonly parts?: number;
  /** GiB. */
  readonly memory?: number;
  readonly tasks?: number;
  readonly slurm?: string;
}

const DEFAULT_LIMIT = 100;

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
  const command = batch
    .command('search')
    .description('search a database with the proteins of a FASTA file, into a Parquet file')
    .argument('<fasta>', 'FASTA file, plain or compressed')
    .requiredOption('-d, --database <name>', 'slug of a database, or a release id')
    .requiredOption(
      '-o, --output <file.parquet>',
      'where the candidates go; <file>.work lies beside it until then',
    );
  addSearchSettings(command, {
    limit: 'nearest candidates of each query (default: 100; with --propagation: 1000)',
    evidence: 'what to compute beside the ranking (default: pairwise_sequence_alignment)',
    probability: 'fill the column of the probability that a candidate is a homolog',
    hasMaxEvalue: false,
  })
    .option(
      '--propagation',
      'also targets that only the neighbours of hits lead to, in a database with neighbours',
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
  refuseOverwrite(fasta, options.output);
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
  const { alignments } = options.settings;
  if (result.kind === 'searched' && alignments !== undefined) {
    context.stderr.write(describeCutAlignments(result.cutCount, alignments));
  }
}

function batchOptionsOf(flags: BatchFlags): BatchOptions {
  const propagates = isPropagated(flags);
  const { database, limit = propagates ? CUT_OFF_LIMIT : DEFAULT_LIMIT, parts, memory } = flags;
  const { evidence = 'pairwise_sequence_alignment', guarantee = 'approximate' } = flags;
  const { significance = 'if_available', homologs = 'as_release', databaseSize } = flags;
  const { queryRange, probability } = flags;
  const alignments = alignmentBoundsOf(flags);
  if (limit > RETAINED_MAX_CANDIDATES) {
    throw new Refusal('invalid_option', `--limit goes up to ${RETAINED_MAX_CANDIDATES}.`);
  }
  return {
    database,
    output: resolve(flags.output),
    settings: {
      limit,
      evidence,
      guarantee,
      significance,
      relatives: homologs,
      ...(databaseSize !== undefined && { databaseSize }),
      ...(queryRange !== undefined && { queryRange }),
      ...(probability === true && { probability: 'required' as const }),
      ...(alignments && { alignments }),
    },
    filter: readFilterExpressions(flags.filter) ?? null,
    parts,
    memory,
    ...(propagates && { propagates }),
    tasks: readTaskFlags(flags),
  };
}

/** Errors  Refusal `invalid_option` without the E-values and alignments that walks start from, or with others */
function isPropagated({ propagation, evidence, significance, databaseSize }: BatchFlags): boolean {
  if (propagation !== true) return false;
  const isWithout = evidence === 'candidate_measurement' || significance === 'not_requested';
  if (!isWithout && databaseSize === undefined) return true;
  throw new Refusal(
    'invalid_option',
    '--propagation starts from alignments with the E-values of the release. Leave out --evidence ' +
      'candidate_measurement, --significance not_requested and --database-size.',
  );
}

/** Reads the flags that divide a batch; undefined where this process searches. Errors  Refusal `invalid_option` */
function readTaskFlags({ tasks, slurm }: BatchFlags): TaskOptions | undefined {
  const slurmArray = slurm === undefined ? undefined : readSlurmArray(slurm);
  const count = tasks ?? slurmArray?.taskCount;
  if (count === undefined && slurmArray === undefined) return undefined;
  if (count === undefined || count > BATCH_MAX_TASKS || (slurmArray?.taskCount ?? count) !== count) {
    throw new Refusal(
      'invalid_option',
      `Name the number of tasks once, ${BATCH_MAX_TASKS} at most: --tasks 64, or array=64 in --slurm.`,
    );
  }
  return { count, slurmArray, program: thisProgram() };
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
