import { resolve } from 'node:path';
import { Refusal } from '../../errors.js';
import type { ShardOptions } from '../../pipelines/cluster/shards.js';
import type { SlurmArray } from '../../pipelines/cluster/slurm.js';

/** Flags that divide a build. */
export interface ShardFlags {
  readonly shards?: number;
  readonly slurm?: string;
}

/** sbatch's own options that say how its command works, which is ours to say. */
const OURS: ReadonlySet<string> = new Set([
  'wait',
  'parsable',
  'wrap',
  'output',
  'job-name',
  'test-only',
  'help',
]);
const OPTION = /^[a-z][a-z-]*(=[^\s,]+)?$/;

/**
 * Reads the flags that divide a build; undefined where this process encodes.
 * Errors  Refusal `invalid_option` where the count is missing, or named twice and differently
 */
export function readShardFlags({
  shards,
  slurm,
}: ShardFlags): Pick<ShardOptions, 'count' | 'slurmArray'> | undefined {
  const slurmArray = slurm === undefined ? undefined : readSlurmArray(slurm);
  const count = shards ?? slurmArray?.taskCount;
  if (count === undefined && slurmArray === undefined) return undefined;
  if (count === undefined || (slurmArray?.taskCount !== undefined && slurmArray.taskCount !== count)) {
    throw new Refusal(
      'invalid_option',
      'Name the number of shards once: --shards 64, or array=64 in --slurm.',
    );
  }
  return { count, slurmArray };
}

/** Command line that starts this program, without its arguments. */
export function thisProgram(): readonly string[] {
  return [process.execPath, resolve(process.argv[1])];
}

/**
 * Reads `--slurm partition=gpu,array=64%8`.
 * Errors  Refusal `invalid_option` for what is no option of sbatch, or is ours to set
 */
export function readSlurmArray(text: string): SlurmArray {
  const options: string[] = [];
  let array: Pick<SlurmArray, 'taskCount' | 'atOnce'> = {};
  for (const part of text.split(',')) {
    const [name] = part.split('=');
    if (!OPTION.test(part) || OURS.has(name)) {
      throw new Refusal(
        'invalid_option',
        `--slurm expects options of sbatch, "partition=gpu,time=12:00:00,array=64"; ${JSON.stringify(part)} is none.`,
      );
    }
    if (name === 'array') array = readArray(part.slice('array='.length));
    else options.push(`--${part}`);
  }
  return { options, ...array };
}

function readArray(text: string): Pick<SlurmArray, 'taskCount' | 'atOnce'> {
  const [, count, atOnce] = /^(\d{1,5})(?:%(\d{1,5}))?$/.exec(text) ?? [];
  if (count === undefined) {
    throw new Refusal(
      'invalid_option',
      `--slurm expects array=<tasks> or array=<tasks>%<at once>; it is ${text}.`,
    );
  }
  return { taskCount: Number(count), ...(atOnce !== undefined && { atOnce: Number(atOnce) }) };
}
