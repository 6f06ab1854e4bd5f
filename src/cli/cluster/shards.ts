import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { loadConfig } from '../../config.js';
import { findEncoder } from '../../encoder/find.js';
import { encoderOptionsOf, loadEncoder } from '../../encoder/load.js';
import { Refusal } from '../../errors.js';
import { encodeShard } from '../../build-release/shards/encode-shard.js';
import { readPlan, shardProgress, type PlannedShards } from '../../build-release/shards/plan.js';
import type { CommandContext } from '../terminal/command.js';
import { sumOf, type Progress, type ProgressState } from '../terminal/progress.js';
import { openHomologs } from './homologs.js';
import { arrayOf, batchScript, readSlurmWish, runArray, taskName, type SlurmWish } from './slurm.js';

/** How a build is told to be divided. */
export interface ShardFlags {
  readonly shards?: number;
  readonly slurm?: string;
}

/** `gloaming index shard`: what each task of a divided build runs. */
export function addShardCommand(index: Command, context: CommandContext): void {
  index
    .command('shard')
    .description('encode one shard of a divided build; its script calls this for each task')
    .argument('<folder>', 'folder of the shards, as "index build --shards" names it')
    .argument('<shard>', 'its number, from 0 on')
    .option('--alignments <folder>', 'of the relatives, where they are given')
    .action((folder: string, shard: string, { alignments }: Pick<ShardSession, 'alignments'>) =>
      encodeOne(resolve(folder), Number(shard), alignments, context),
    );
}

async function encodeOne(
  folder: string,
  shard: number,
  alignments: string | undefined,
  { environment, stdout }: CommandContext,
): Promise<void> {
  const config = loadConfig(environment);
  const { encoder: wanted, relatives: homologs } = await readPlan(folder);
  const encoder = await loadEncoder(await findEncoder(wanted.id, config), encoderOptionsOf(config));
  const opened = homologs && openHomologs(homologs.background, { encoder, config, alignments });
  try {
    const task = { folder, shard, task: taskName(environment) };
    const residues = await encodeShard(
      task,
      { encoder, buildHomologs: opened?.buildHomologs },
      { onResidues: () => undefined },
    );
    stdout.write(`Shard ${shard}: ${residues.toLocaleString('en')} residues encoded.\n`);
  } finally {
    await opened?.close();
    await encoder.close();
  }
}

/** What a divided build works with besides its plan. */
export interface ShardSession {
  readonly slug: string;
  readonly indexesFolder: string;
  /** The folder, where relatives are given. */
  readonly alignments?: string;
  readonly wish: SlurmWish | undefined;
  readonly progress: Progress;
  readonly signal: AbortSignal;
  readonly context: CommandContext;
}

/**
 * How many shards the flags ask for, and how Slurm is to run them; undefined where the build is not divided.
 * Errors  Refusal `invalid_option` where the count is not named, or twice and differently
 */
export function readShardFlags({
  shards,
  slurm,
}: ShardFlags): { readonly count: number; readonly wish: SlurmWish | undefined } | undefined {
  const wish = slurm === undefined ? undefined : readSlurmWish(slurm);
  const count = shards ?? wish?.taskCount;
  if (count === undefined && wish === undefined) return undefined;
  if (count === undefined || (wish?.taskCount !== undefined && wish.taskCount !== count)) {
    throw new Refusal(
      'invalid_option',
      'Name the number of shards once: --shards 64, or array=64 in --slurm.',
    );
  }
  return { count, wish };
}

/**
 * Has the missing shards encoded by Slurm and waits for them; or, without it, writes a script and says how to use it.
 * Returns whether all shards are there
 */
export async function encodeShards(planned: PlannedShards, session: ShardSession): Promise<boolean> {
  const { slug, indexesFolder, alignments, wish, progress, signal, context } = session;
  const missing = async (): Promise<readonly number[]> => (await shardProgress(planned)).missing;
  const left = await missing();
  if (left.length === 0) return true;
  const script = join(planned.folder, 'encode.sbatch');
  const given = alignments === undefined ? [] : ['--alignments', resolve(alignments)];
  const job = {
    name: `gloaming-${slug}`,
    command: [process.execPath, resolve(process.argv[1]), 'index', 'shard', planned.folder, ...given],
    environment: { GLOAMING_INDEXES: indexesFolder },
    logFolder: planned.folder,
  };
  await writeFile(script, batchScript(job));
  if (wish === undefined) {
    progress.end();
    context.stdout.write(
      `${left.length} of ${planned.plan.shards.length} shards of ${slug} are to be encoded:\n\n` +
        `  sbatch --array=${arrayOf(left, undefined)} ${script}\n\n` +
        'When they are, the same command puts them together and goes on.\n',
    );
    return false;
  }
  const show = async (): Promise<void> => progress.update(await encodingOf(planned));
  const say = (line: string): void => {
    progress.end();
    context.stderr.write(`${line}\n`);
  };
  await runArray({ script, wish, missing, onWait: show, say, signal });
  await show();
  return true;
}

async function encodingOf(planned: PlannedShards): Promise<ProgressState> {
  const { residues } = await shardProgress(planned);
  const tasks = planned.plan.shards.map((shard, at) => ({ done: residues[at], total: shard.residues }));
  return { stage: 'encode', ...sumOf(tasks), tasks };
}
