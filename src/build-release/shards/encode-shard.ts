import { mkdir, rename, rm } from 'node:fs/promises';
import { canonicalJson } from '../../canonical.js';
import type { Encoder } from '../../encoder/encoder.js';
import { Refusal } from '../../errors.js';
import { exists, syncFolder } from '../../files.js';
import { lockFolder } from '../../processes.js';
import type { BuildHomologs } from '../build-options.js';
import { encodeProteins, type EncodeOptions } from '../encode-proteins.js';
import { proteinTokens } from '../protein-tokens.js';
import { describeHomologs } from '../release-stages.js';
import { readPlan, shardFolder } from './plan.js';

export interface ShardTask {
  /** Folder that `planShards` returned. */
  readonly folder: string;
  /** Zero-based index of the shard. */
  readonly shard: number;
  /** Name of the task, [A-Za-z0-9_-]. A task restarted under the same name resumes its work. */
  readonly task: string;
}

/** Encoder and homologs, which must agree with the plan. */
export interface ShardMakers {
  readonly encoder: Encoder;
  readonly buildHomologs?: BuildHomologs;
}

/**
 * Encodes one shard of a build, with homologs if the build has them. A shard that is already encoded is a no-op.
 * Returns the number of residues that this call encoded.
 * Errors  Refusal `build_not_found`, `encoder_changed`; `invalid_option` for a shard that is not in the plan;
 *         `relatives_unavailable` for a homolog source or rules other than those of the plan; `build_running` where
 *         another process on this machine has the same task; those of encodeProteins
 */
export async function encodeShard(
  { folder, shard, task }: ShardTask,
  { encoder, buildHomologs }: ShardMakers,
  options: EncodeOptions,
): Promise<number> {
  const { shards, encoder: plannedEncoder, relatives: homologs } = await readPlan(folder);
  const range = shards[shard];
  if (range === undefined) {
    throw new Refusal(
      'invalid_option',
      `The shards of this build are 0 to ${shards.length - 1}; there is no shard ${shard}.`,
    );
  }
  if (encoder.digest !== plannedEncoder.sha256) {
    throw new Refusal(
      'encoder_changed',
      `This build was planned with another version of the encoder ${plannedEncoder.id}.`,
    );
  }
  const described = buildHomologs && describeHomologs(buildHomologs);
  if (canonicalJson(described ?? null) !== canonicalJson(homologs ?? null)) {
    throw new Refusal(
      'relatives_unavailable',
      'This build was planned by another version of the program, which searches homologs differently.',
    );
  }
  const done = shardFolder(folder, shard);
  if (await exists(done.path)) return 0;
  const own = shardFolder(folder, shard, task);
  // Does not create parent folders, because the folder of a finished build must not reappear.
  await mkdir(own.path).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code !== 'EEXIST') throw cause;
  });
  const unlock = await lockFolder(own.path, 'This shard is being encoded');
  let encodedResidues: number;
  try {
    ({ encodedResidues } = await encodeProteins(proteinTokens(encoder, buildHomologs), range, own, options));
  } finally {
    await unlock();
  }
  await publish(own.path, done.path);
  await syncFolder(folder);
  return encodedResidues;
}

/** Renames the task's folder to the shard. If another task was faster, removes the folder. */
async function publish(own: string, done: string): Promise<void> {
  try {
    await rename(own, done);
  } catch (cause) {
    if (!(await exists(done))) throw cause;
    await rm(own, { recursive: true, force: true });
  }
}
