import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { encodeShard } from '../../build-release/shards/encode-shard.js';
import { readPlan, shardProgress, type PlannedShards } from '../../build-release/shards/plan.js';
import type { ApplianceConfig } from '../../config.js';
import { findEncoder } from '../../encoder/find.js';
import { encoderOptionsOf, loadEncoder } from '../../encoder/load.js';
import type { PipelineEvents } from '../events/notices.js';
import { sumOf, type ProgressState } from '../events/progress.js';
import { openHomologs } from './homologs.js';
import { batchScript, runArray, taskName, type Cluster } from './slurm.js';

/** How a build is divided among tasks. */
export interface ShardOptions extends Cluster {
  /** Shards of the encoding. 1.. */
  readonly count: number;
}

export interface ShardTask {
  /** Folder of the shards. */
  readonly folder: string;
  /** From 0. */
  readonly shard: number;
  /** Folder of given alignments, where the homologs are given. */
  readonly alignments?: string;
}

/**
 * Encodes one shard of a divided build. Returns its number of residues.
 * Errors  Refusal where the plan is missing or the shard out of range; Faults of encoder and disk
 */
export async function encodeOneShard(
  { folder, shard, alignments }: ShardTask,
  config: ApplianceConfig,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<number> {
  const { encoder: planned, relatives: homologs } = await readPlan(folder);
  const encoder = await loadEncoder(await findEncoder(planned.id, config), encoderOptionsOf(config));
  const opened = homologs && openHomologs(homologs.background, { encoder, config, alignments });
  try {
    const task = { folder, shard, task: taskName(environment) };
    const work = { encoder, buildHomologs: opened?.buildHomologs };
    return await encodeShard(task, work, { onResidues: () => undefined });
  } finally {
    await opened?.close();
    await encoder.close();
  }
}

/** Shards that tasks still have to encode, and the script that Slurm runs for each. */
export interface PendingShards {
  readonly slug: string;
  /** Numbers of the shards, ascending. */
  readonly missing: readonly number[];
  readonly shardCount: number;
  readonly script: string;
}

interface ShardSession extends ShardOptions {
  readonly slug: string;
  readonly indexesFolder: string;
  readonly alignments?: string;
}

/**
 * Has Slurm encode the missing shards and waits for them. Without a submission, writes the script and returns the
 * shards that it has to encode; undefined where all are encoded. Notice: `job_submitted`. Stage: `encode`.
 * Errors  those of batchScript and runArray
 */
export async function encodeShards(
  planned: PlannedShards,
  { slug, indexesFolder, alignments, program, slurmArray }: ShardSession,
  { signal, onProgress, onNotice }: PipelineEvents,
): Promise<PendingShards | undefined> {
  const missingShards = async (): Promise<readonly number[]> => (await shardProgress(planned)).missing;
  const missing = await missingShards();
  if (missing.length === 0) return undefined;
  const script = join(planned.folder, 'encode.sbatch');
  const inputs = alignments === undefined ? [] : ['--alignments', resolve(alignments)];
  const job = {
    name: `gloaming-${slug}`,
    command: [...program, 'index', 'shard', planned.folder, ...inputs],
    environment: { GLOAMING_INDEXES: indexesFolder },
    logFolder: planned.folder,
  };
  await writeFile(script, batchScript(job));
  if (slurmArray === undefined) return { slug, missing, shardCount: planned.plan.shards.length, script };
  const report = async (): Promise<void> => onProgress?.(await encodingOf(planned));
  const onSubmit = (submitted: string, taskCount: number): void =>
    onNotice?.({ kind: 'job_submitted', job: submitted, taskCount });
  await runArray({ script, slurmArray, missing: missingShards, onWait: report, onSubmit, signal });
  await report();
  return undefined;
}

async function encodingOf(planned: PlannedShards): Promise<ProgressState> {
  const { residues } = await shardProgress(planned);
  const tasks = planned.plan.shards.map((shard, at) => ({ done: residues[at], total: shard.residues }));
  return { stage: 'encode', ...sumOf(tasks), tasks };
}
