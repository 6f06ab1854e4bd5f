import { resolve } from 'node:path';
import { Option, type Command } from 'commander';
import { loadConfig } from '../../config.js';
import { Refusal } from '../../errors.js';
import { BATCH_MAX_TASKS } from '../../limits.js';
import { shortId } from '../../pipelines/catalog.js';
import { arrayOf } from '../../pipelines/cluster/slurm.js';
import type { TaskOptions } from '../../pipelines/cluster/units.js';
import {
  exportNeighbours,
  NEIGHBOUR_FORMATS,
  type NeighbourFormat,
} from '../../pipelines/neighbours/export.js';
import {
  computeNeighbours,
  runNeighboursTask,
  type NeighboursResult,
} from '../../pipelines/neighbours/neighbours.js';
import { readShardFlags, thisProgram, type ShardFlags } from '../cluster/options.js';
import { writeOutput } from '../search/output.js';
import { positiveInteger } from '../terminal/arguments.js';
import type { CommandContext } from '../terminal/command.js';
import { runPipeline } from '../terminal/pipeline.js';
import { formatDuration, formatQuantity } from '../terminal/progress.js';
import { noticeText } from './notices.js';

interface Flags extends ShardFlags {
  readonly full?: boolean;
  readonly export?: string;
  readonly format: NeighbourFormat;
}

const HELP = `
Killed at any moment, the same command goes on. A database that extends an earlier release with neighbours searches
only what is new.

Examples:
  gloaming index neighbours mylab
  gloaming index neighbours mylab --export edges.abc --format abc      for mcl edges.abc --abc`;

/** `gloaming index neighbours`. */
export function addNeighboursCommand(index: Command, context: CommandContext): void {
  index
    .command('neighbours')
    .description(
      'find the nearest 100 other proteins with E <= 10 of each protein, and keep them with the database',
    )
    .argument('<database>', 'slug or release id; of a database, its default release')
    .option('--full', 'search for each protein, even if an earlier release has neighbours')
    .option(
      '--shards <count>',
      'write a script for sbatch of so many tasks instead of searching here',
      positiveInteger,
    )
    .option('--slurm <options>', 'let Slurm search, and wait: partition=cpu,cpus-per-task=8,array=64')
    .option('--export <file>', 'write the pairs into a file')
    .addOption(new Option('--format <name>', 'form of that file').choices(NEIGHBOUR_FORMATS).default('tsv'))
    .addHelpText('after', HELP)
    .action((database: string, flags: Flags) => neighbours(database, flags, context));
}

/** `gloaming index neighbours-shard`: the command of each task. */
export function addNeighboursShardCommand(index: Command, context: CommandContext): void {
  index
    .command('neighbours-shard')
    .description('find the neighbours of one shard of a database; its script calls this for each task')
    .argument('<folder>', 'folder of the unfinished neighbours')
    .argument('<shards>', 'how many shards there are')
    .argument('<shard>', 'its number, from 0 on')
    .action(async (folder: string, shards: string, shard: string) => {
      const { environment, stdout } = context;
      const config = loadConfig(environment);
      const packs = await runNeighboursTask(
        resolve(folder),
        Number(shards),
        Number(shard),
        config,
        environment,
      );
      stdout.write(`Shard ${Number(shard)}: ${packs} parts done.\n`);
    });
}

async function neighbours(database: string, flags: Flags, context: CommandContext): Promise<void> {
  const { environment, stdout } = context;
  const config = loadConfig(environment);
  const options = { database, isFull: flags.full, tasks: readTasks(flags) };
  const result = await runPipeline(
    context,
    { command: 'index neighbours', database, dataFolder: config.dataFolder },
    noticeText,
    (events) => computeNeighbours(options, config, environment, events),
  );
  stdout.write(describe(result));
  if (result.kind !== 'computed' || flags.export === undefined) return;
  const path = resolve(flags.export);
  const count = await exportNeighbours(result.release, { path, format: flags.format }, (pieces, file) =>
    writeOutput(pieces, file, stdout),
  );
  stdout.write(`Wrote ${count.toLocaleString('en')} pairs to ${path}.\n`);
}

/** Errors  Refusal `invalid_option` */
function readTasks(flags: ShardFlags): TaskOptions | undefined {
  const shards = readShardFlags(flags);
  if (shards === undefined) return undefined;
  if (shards.count > BATCH_MAX_TASKS) {
    throw new Refusal('invalid_option', `There are ${BATCH_MAX_TASKS} shards at most.`);
  }
  return { ...shards, program: thisProgram() };
}

function describe(result: NeighboursResult): string {
  const { slug } = result.release;
  if (result.kind === 'divided') {
    return (
      `  sbatch --array=${arrayOf(result.missing, undefined)} ${result.script}\n\n` +
      'When it is done, the same command puts the neighbours together.\n'
    );
  }
  const { card, id, isKnown } = result;
  const { targets, edges, isolated } = card.counts;
  const head = isKnown
    ? `${slug} has its neighbours already; nothing was searched.`
    : `Found neighbours in ${slug}.`;
  const facts: readonly (readonly [string, string])[] = [
    ['release', card.release_id],
    ['graph', id],
    ['pairs', `${edges.toLocaleString('en')} of ${targets.toLocaleString('en')} proteins`],
    ['without any', isolated.toLocaleString('en')],
    ['policy', card.qualification_id === null ? 'exhaustive' : `approximate, ${card.policy_id}`],
    ...(card.extends === null ? [] : [['extends', shortId(card.extends.release_id)] as const]),
    ['size', formatQuantity(card.edges.size_bytes, 'B')],
    ['processor time', formatDuration(card.processor_seconds * 1_000)],
  ];
  return `${head}\n${facts.map(([name, value]) => `  ${name.padEnd(14)}  ${value}`).join('\n')}\n`;
}
