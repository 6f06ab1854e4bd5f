import { mkdir, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Encoder } from '../../encoder/encoder.js';
import { Refusal } from '../../errors.js';
import { BUILD_MAX_SHARDS } from '../../limits.js';
import { buildFolderAt, readState, writeState, type BuildFolder } from '../build-folder.js';
import type { RelativesManifest as HomologsManifest } from '../../release/release.js';
import { readEncoded, type SpoolRange } from '../encode-proteins.js';
import type { EncodeFolder } from '../encoded-files.js';
import { readProteinSpool } from '../protein-spool.js';
import type { Corpus } from '../read-proteins.js';

/*
 * A build whose proteins several machines encode has, in its folder (build-folder.ts):
 *
 *   shards/<count>/plan.json      ShardPlan: where each shard starts and ends
 *   shards/<count>/<k>/           shard k, done: tokens.arrow and self-scores.i32 of its proteins, encoded.json;
 *                                 where they have relatives, profiles.arrow and families.f64
 *   shards/<count>/<k>.<task>/    the same, while a task is at it
 *
 * A task works in a folder of its own, which a rename makes the shard: whatever is lost, doubled or killed, a shard is
 * there whole or not at all, and the first one stays. Its bytes follow from its proteins, so it does not matter whose
 * it is.
 */

const PLAN_FILE = 'plan.json';

export interface ShardPlan {
  readonly encoder: { readonly id: string; readonly sha256: string };
  /** What each task looks for the relatives of its proteins in, and by which rules; absent where they have none. */
  readonly relatives?: Omit<HomologsManifest, 'counts'>;
  readonly shards: readonly SpoolRange[];
}

export interface PlannedShards {
  /** What a task is told, with the number of its shard. */
  readonly folder: string;
  readonly plan: ShardPlan;
}

interface PlannedWith extends Pick<ShardPlan, 'relatives'> {
  readonly encoder: Pick<Encoder, 'card' | 'digest'>;
}

/**
 * Makes the plan of a build that has been read, or finds it.
 * Errors  Refusal `invalid_option` for a count out of range
 */
export async function openPlan(
  corpus: Corpus,
  { spool, shards }: BuildFolder,
  { encoder: { card, digest }, relatives: homologs }: PlannedWith,
  count: number,
): Promise<PlannedShards> {
  if (!Number.isInteger(count) || count < 1 || count > BUILD_MAX_SHARDS) {
    throw new Refusal('invalid_option', `A build has 1 to ${BUILD_MAX_SHARDS} shards, not ${count}.`);
  }
  const folder = shardsFolder({ shards }, count);
  const path = join(folder, PLAN_FILE);
  const known = await readState<ShardPlan>(path);
  if (known !== undefined) return { folder, plan: known };
  const encoder = { id: card.id, sha256: digest };
  const plan: ShardPlan = { encoder, relatives: homologs, shards: await divide(corpus, spool, count) };
  await mkdir(folder, { recursive: true });
  await writeState(path, plan);
  return { folder, plan };
}

/**
 * Errors  Refusal `build_not_found` where there is none: the release is finished, or was never begun
 */
export async function readPlan(folder: string): Promise<ShardPlan> {
  const plan = await readState<ShardPlan>(join(folder, PLAN_FILE));
  if (plan !== undefined) return plan;
  throw new Refusal(
    'build_not_found',
    `There is no divided build in ${folder}: it is done, or was not begun.`,
  );
}

export function shardsFolder({ shards }: Pick<BuildFolder, 'shards'>, count: number): string {
  return join(shards, String(count));
}

/** Where shard `k` lies when it is done, or the task's part of it until then. */
export function shardFolder(
  folder: string,
  shard: number,
  task?: string,
): EncodeFolder & { readonly path: string } {
  const path = join(folder, task === undefined ? String(shard) : `${shard}.${task}`);
  const { encoded, scores, homologSets } = buildFolderAt(path);
  const { spool } = buildFolderAt(dirname(dirname(folder)));
  return { path, spool, encoded, scores, homologSets, release: path };
}

export interface ShardProgress {
  /** Residues of each shard that are safe on the disk. */
  readonly residues: readonly number[];
  /** Shards that no task has finished, ascending. */
  readonly missing: readonly number[];
}

/** How far the tasks have come. */
export async function shardProgress({ folder, plan }: PlannedShards): Promise<ShardProgress> {
  const names = await readdir(folder);
  const residues: number[] = [];
  const missing: number[] = [];
  for (const [shard, range] of plan.shards.entries()) {
    if (names.includes(String(shard))) {
      residues.push(range.residues);
      continue;
    }
    missing.push(shard);
    const tasks = names.filter((name) => name.startsWith(`${shard}.`));
    const states = await Promise.all(tasks.map((name) => readEncoded(buildFolderAt(join(folder, name)))));
    residues.push(Math.max(0, ...states.map((state) => state?.residues ?? 0)));
  }
  return { residues, missing };
}

/**
 * Shards of about as many residues each: shard k begins with the first protein at or after k/count of all residues. A
 * function of the input's order and nothing else; a shard may be empty where a protein is longer than others' share.
 */
async function divide(
  { targets, residues, spoolBytes }: Corpus,
  spool: string,
  count: number,
): Promise<SpoolRange[]> {
  const borders: { readonly target: number; readonly residue: number; readonly offset: number }[] = [];
  const place = { target: 0, residue: 0, offset: 0 };
  for await (const { protein, endOffset } of readProteinSpool(spool)) {
    while (borders.length < count && place.residue * count >= borders.length * residues)
      borders.push({ ...place });
    if (borders.length === count) break;
    place.target += 1;
    place.residue += protein.sequence.length;
    place.offset = endOffset;
  }
  const end = { target: targets, residue: residues, offset: spoolBytes };
  while (borders.length <= count) borders.push(end);
  return borders.slice(0, count).map((start, shard) => ({
    targets: borders[shard + 1].target - start.target,
    residues: borders[shard + 1].residue - start.residue,
    startOffset: start.offset,
    endOffset: borders[shard + 1].offset,
  }));
}
