import { rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Option, type Command } from 'commander';
import { sha256Hex } from '../../canonical.js';
import { loadConfig, type ApplianceConfig } from '../../config.js';
import { readEvidenceIds } from '../../engine/open-engine.js';
import { Refusal } from '../../errors.js';
import { BATCH_MAX_TASKS, GIBIBYTE_BYTES, RETAINED_MAX_CANDIDATES } from '../../limits.js';
import { openRelease } from '../../release/open.js';
import type {
  EvidenceRequest,
  Guarantee,
  QueryHomologs,
  SignificanceRequirement,
} from '../../search/search-types.js';
import { fastaFile } from '../../sequence/fasta.js';
import { joinParquet } from '../../sql/join-parquet.js';
import { arrayOf, batchScript, readSlurmWish, runArray, taskName, type SlurmWish } from '../cluster/slurm.js';
import { selectOneRelease, withCatalog, type IndexCatalog } from '../index/catalog.js';
import { readFilterExpressions } from '../search/filter.js';
import { readQueries } from '../search/queries.js';
import { positiveInteger } from '../terminal/arguments.js';
import type { CommandContext } from '../terminal/command.js';
import { createJobProgress, type JobProgress } from '../terminal/job.js';
import { sumOf, type TaskProgress } from '../terminal/progress.js';
import {
  batchFolder,
  makePlan,
  missingUnits,
  readJson,
  readPlan,
  unitsOf,
  type BatchFolder,
  type BatchPlan,
} from './plan.js';
import { runUnits } from './task.js';

interface BatchFlags {
  readonly database: string;
  readonly output: string;
  readonly limit: number;
  readonly filter: readonly string[];
  readonly evidence: EvidenceRequest;
  readonly guarantee: Guarantee;
  readonly significance: SignificanceRequirement;
  readonly relatives: QueryHomologs;
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
    .action((folder: string, tasks: string, task: string) =>
      runTask(batchFolder(resolve(folder)), Number(tasks), Number(task), context),
    );
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
        'whether queries are given relatives where the targets have them',
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

async function runTask(
  folder: BatchFolder,
  taskCount: number,
  task: number,
  { environment, stdout }: CommandContext,
): Promise<void> {
  if (!Number.isInteger(taskCount) || !Number.isInteger(task) || task < 0 || task >= taskCount) {
    throw new Refusal(
      'invalid_option',
      `A batch of ${taskCount} tasks has the numbers 0 to ${taskCount - 1}.`,
    );
  }
  const places = unitsOf(await readPlan(folder))
    .map((_, place) => place)
    .filter((place) => place % taskCount === task);
  await runUnits(folder, { places, name: taskName(environment) }, loadConfig(environment));
  stdout.write(`Task ${task}: ${places.length} units done.\n`);
}

async function search(fasta: string, flags: BatchFlags, context: CommandContext): Promise<void> {
  const divided = readTaskFlags(flags);
  const config = loadConfig(context.environment);
  const output = resolve(flags.output);
  const folder = batchFolder(`${output}.work`);
  // Only here, and only until it is known what is searched: tasks need no catalog.
  const described = await withCatalog(context, (catalog) => describe(catalog, flags));
  const plan = await makePlan(folder, described, readQueries(fastaFile(fasta)));
  const session = { folder, plan, config, context };
  if (divided === undefined) await searchHere(session);
  else if (!(await searchThere(session, divided))) return;
  await collect(session, output);
}

type Described = Omit<BatchPlan, 'chunkStarts' | 'queryCount'>;

async function describe(catalog: IndexCatalog, flags: BatchFlags): Promise<Described> {
  const { limit, evidence, guarantee, significance, relatives: homologs } = flags;
  if (limit > RETAINED_MAX_CANDIDATES) {
    throw new Refusal('invalid_option', `--limit goes up to ${RETAINED_MAX_CANDIDATES}.`);
  }
  const { directory, id, slug } = selectOneRelease(catalog, flags.database);
  const { targets, manifest } = await openRelease(directory);
  const known = { id, targetCount: targets.count };
  const { calibrationId, qualificationId } = await readEvidenceIds(directory, known);
  return {
    release: { directory, id, slug },
    calibrationId,
    qualificationId,
    settings: {
      ...{ limit, evidence, guarantee, significance },
      ...(manifest.relatives !== undefined && { relatives: homologs }),
    },
    filter: readFilterExpressions(flags.filter) ?? null,
    parts: partsOf(flags, manifest.files.tokens.size_bytes),
  };
}

/**
 * Into how many parts the database is divided: as many as are asked for, or as few as let the tokens of each fit.
 * Errors  Refusal `invalid_option` where both are asked for, or too many parts
 */
export function partsOf({ parts, memory }: Pick<BatchFlags, 'parts' | 'memory'>, tokenBytes: number): number {
  const count = memory === undefined ? (parts ?? 1) : Math.ceil(tokenBytes / (memory * GIBIBYTE_BYTES));
  if (count >= 1 && count <= BATCH_MAX_TASKS && (parts === undefined || memory === undefined)) return count;
  throw new Refusal(
    'invalid_option',
    `A batch has 1 to ${BATCH_MAX_TASKS} parts: by --parts, or by a --memory of ` +
      `${(tokenBytes / GIBIBYTE_BYTES / BATCH_MAX_TASKS).toPrecision(2)} GiB at least.`,
  );
}

interface Divided {
  readonly taskCount: number;
  readonly wish: SlurmWish | undefined;
}

/** Undefined where all is done here. */
function readTaskFlags({ tasks, slurm }: BatchFlags): Divided | undefined {
  const wish = slurm === undefined ? undefined : readSlurmWish(slurm);
  const taskCount = tasks ?? wish?.taskCount;
  if (taskCount === undefined && wish === undefined) return undefined;
  if (
    taskCount === undefined ||
    taskCount > BATCH_MAX_TASKS ||
    (wish?.taskCount ?? taskCount) !== taskCount
  ) {
    throw new Refusal(
      'invalid_option',
      `Name the number of tasks once, ${BATCH_MAX_TASKS} at most: --tasks 64, or array=64 in --slurm.`,
    );
  }
  return { taskCount, wish };
}

interface Session {
  readonly folder: BatchFolder;
  readonly plan: BatchPlan;
  readonly config: ApplianceConfig;
  readonly context: CommandContext;
}

async function searchHere({ folder, plan, config, context }: Session): Promise<void> {
  const progress = jobProgress({ folder, plan, config, context });
  const missing = await missingUnits(folder, plan);
  const total = unitsOf(plan).length;
  let done = total - missing.length;
  const show = (): void => progress.update({ stage: 'compare', done, total });
  show();
  const onUnit = (): void => {
    done += 1;
    show();
  };
  try {
    if (missing.length > 0) {
      await runUnits(folder, { places: missing, name: taskName(context.environment), onUnit }, config);
    }
  } finally {
    progress.close();
  }
}

/** Returns whether all is done; without Slurm that is for whoever submits the script. */
async function searchThere(session: Session, { taskCount, wish }: Divided): Promise<boolean> {
  const { folder, plan, config, context } = session;
  const total = unitsOf(plan).length;
  const missing = async (): Promise<readonly number[]> => {
    const tasks = (await missingUnits(folder, plan)).map((place) => place % taskCount);
    return [...new Set(tasks)].sort((a, b) => a - b);
  };
  const left = await missing();
  if (left.length === 0) return true;
  const script = join(folder.path, 'search.sbatch');
  const job = {
    name: `gloaming-${plan.release.slug}`,
    command: [process.execPath, resolve(process.argv[1]), 'batch', 'task', folder.path, String(taskCount)],
    environment: { GLOAMING_INDEXES: config.indexesFolder },
    logFolder: folder.path,
  };
  await writeFile(script, batchScript(job));
  if (wish === undefined) {
    context.stdout.write(
      `  sbatch --array=${arrayOf(left, undefined)} ${script}\n\n` +
        'When it is done, the same command writes the output.\n',
    );
    return false;
  }
  const progress = jobProgress(session);
  const controller = new AbortController();
  const stop = (): void =>
    controller.abort(new Refusal('interrupted', 'Interrupted. The same command goes on from here.'));
  process.once('SIGINT', stop).once('SIGTERM', stop);
  const show = async (): Promise<void> => {
    const tasks = tasksOf(total, taskCount, await missingUnits(folder, plan));
    progress.update({ stage: 'compare', ...sumOf(tasks), tasks });
  };
  const say = (line: string): void => {
    progress.end();
    context.stderr.write(`${line}\n`);
  };
  try {
    await runArray({ script, wish, missing, onWait: show, say, signal: controller.signal });
    await show();
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop);
    progress.close();
  }
  return true;
}

function jobProgress({ plan, config, context }: Session): JobProgress {
  const name = { command: 'batch search', database: plan.release.slug };
  return createJobProgress(context.stderr, config.dataFolder, name);
}

/** How many units each task has, and has done. */
export function tasksOf(
  unitCount: number,
  taskCount: number,
  missing: readonly number[],
): readonly TaskProgress[] {
  const left = new Uint32Array(taskCount);
  for (const place of missing) left[place % taskCount] += 1;
  return Array.from(left, (count, task) => {
    const total = Math.ceil(Math.max(0, unitCount - task) / taskCount);
    return { done: total - count, total };
  });
}

/** Puts the chunks together, in their order, and takes the folder away. */
async function collect({ folder, plan, context }: Session, output: string): Promise<void> {
  let chain = sha256Hex('');
  for (const chunk of plan.chunkStarts.keys()) {
    const digests = await readJson<readonly string[]>(folder.digests(chunk));
    for (const digest of digests) chain = sha256Hex(chain + digest);
  }
  await joinParquet([...plan.chunkStarts.keys()].map(folder.rows), output);
  await rm(folder.path, { recursive: true, maxRetries: 5 });
  context.stdout.write(
    `Searched ${plan.release.slug} with ${plan.queryCount.toLocaleString('en')} queries.\n` +
      `  release        ${plan.release.id}\n  result_sha256  ${chain}\n  candidates     ${output}\n`,
  );
}
