import { resolve } from 'node:path';
import type { Command } from 'commander';
import { loadConfig } from '../../config.js';
import { encodeOneShard, type PendingShards } from '../../pipelines/cluster/shards.js';
import { arrayOf } from '../../pipelines/cluster/slurm.js';
import type { CommandContext } from '../terminal/command.js';

/** `gloaming index shard`: the command of each task of a divided build. */
export function addShardCommand(index: Command, context: CommandContext): void {
  index
    .command('shard')
    .description('encode one shard of a divided build; its script calls this for each task')
    .argument('<folder>', 'folder of the shards, as "index build --shards" names it')
    .argument('<shard>', 'its number, from 0 on')
    .option('--alignments <folder>', 'alignments that give the homologs')
    .action(async (folder: string, shard: string, { alignments }: { readonly alignments?: string }) => {
      const { environment, stdout } = context;
      const task = { folder: resolve(folder), shard: Number(shard), alignments };
      const residues = await encodeOneShard(task, loadConfig(environment), environment);
      stdout.write(`Shard ${task.shard}: ${residues.toLocaleString('en')} residues encoded.\n`);
    });
}

/** Says which shards a person has to have encoded, and how. */
export function describePendingShards({ slug, missing, shardCount, script }: PendingShards): string {
  return (
    `${missing.length} of ${shardCount} shards of ${slug} are to be encoded:\n\n` +
    `  sbatch --array=${arrayOf(missing, undefined)} ${script}\n\n` +
    'When they are, the same command puts them together and goes on.\n'
  );
}
