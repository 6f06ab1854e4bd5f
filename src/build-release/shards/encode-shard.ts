import { mkdir, rename, rm, stat } from 'node:fs/promises';
import { canonicalJson } from '../../canonical.js';
import type { Encoder } from '../../encoder/encoder.js';
import { Refusal } from '../../errors.js';
import { syncFolder } from '../../release/hashed-file.js';
import { lockFolder } from '../../processes.js';
import type { BuildHomologs } from '../build-options.js';
import { encodeProteins, type EncodeOptions } from '../encode-proteins.js';
import { proteinTokens } from '../protein-tokens.js';
import { describeHomologs } from '../release-stages.js';
import { readPlan, shardFolder } from './plan.js';

export interface ShardTask {
  /** As `planShards` named it. */
  readonly folder: string;
  /** Zero-based. */
  readonly shard: number;
  /** Names who is at work: a task that is started again under its name goes on where it was; [A-Za-z0-9_-]. */
  readonly task: string;
}

/** What makes its proteins tokens, as the plan names it. */
export interface ShardMakers {
  readonly encoder: Encoder;
  readonly buildHomologs?: BuildHomologs;
}

/**
 * Encodes one shard of a build, with the relatives of its proteins where the build has such; at once where it is done
 * already.
 * Returns the residues that this call has encoded
 * Errors  Refusal `build_not_found`, `invalid_option` for a shard that the plan does not have, `encoder_changed`,
 *         `relatives_unavailable` where relatives are looked for otherwise than planned, `build_running` where a
 *         process of this machine is at the same task; those of encoding and of the finder
 */
export async function encodeShard(
  { folder, shard, task }: ShardTask,
  { encoder, buildHomologs }: ShardMakers,
  options: EncodeOptions,
): Promise<number> {
  const { shards, encoder: wanted, relatives: homologs } = await readPlan(folder);
  const range = shards[shard];
  if (range === undefined) {
    throw new Refusal('invalid_option', `This build has the shards 0 to ${shards.length - 1}, not ${shard}.`);
  }
  if (encoder.digest !== wanted.sha256) {
    throw new Refusal('encoder_changed', `This build is by another version of the encoder ${wanted.id}.`);
  }
  const found = buildHomologs && describeHomologs(buildHomologs);
  if (canonicalJson(found ?? null) !== canonicalJson(homologs ?? null)) {
    throw new Refusal(
      'relatives_unavailable',
      'Another version of the program divided this build: it looks for relatives otherwise.',
    );
  }
  const done = shardFolder(folder, shard);
  if (await exists(done.path)) return 0;
  const own = shardFolder(folder, shard, task);
  // Not its parents: a build that is done in the meantime must not come back.
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

/** Makes the task's folder the shard, unless another task was first. */
async function publish(own: string, done: string): Promise<void> {
  try {
    await rename(own, done);
  } catch (cause) {
    if (!(await exists(done))) throw cause;
    await rm(own, { recursive: true, force: true });
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
