import { mkdir, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Encoder } from '../../encoder/encoder.js';
import { Refusal } from '../../errors.js';
import { BUILD_MAX_SHARDS } from '../../limits.js';
import { buildFolderAt, readState, writeState, type BuildFolder } from '../build-folder.js';
import type { HomologsManifest } from '../../release/release.js';
import { readEncoded, type SpoolRange } from '../encode-proteins.js';
import type { EncodeFolder } from '../encoded-files.js';
import { readProteinSpool } from '../protein-spool.js';
import type { Corpus } from '../read-proteins.js';

/*
 * Files of a distributed build, in the build folder (build-folder.ts):
 *
 *   shards/<count>/plan.json      ShardPlan: the ranges of all shards
 *   shards/<count>/<k>/           shard k, complete: tokens.arrow, self-scores.i32 and encoded.json; with homologs also
 *                                 profiles.arrow and families.f64
 *   shards/<count>/<k>.<task>/    the same files while a task encodes the shard
 *
 * Each task has its own folder, which it renames to the shard at the end. A shard is therefore complete or absent, even
 * if tasks are lost, duplicated or killed. The first complete shard stays; all tasks would write the same bytes.
 */

const PLAN_FILE = 'plan.json';
const PLAN_MEMBERS = ['encoder', 'shards'] as const;

export interface ShardPlan {
  readonly encoder: { readonly id: string; readonly sha256: string };
  /** Homolog source and rules for all tasks; undefined for a build without homologs. */
  readonly relatives?: Omit<HomologsManifest, 'counts'>;
  readonly shards: readonly SpoolRange[];
}

export interface PlannedShards {
  /** Folder of the plan and its shards, which a task gets together with the index of its shard. */
  readonly folder: string;
  readonly plan: ShardPlan;
}

interface PlannedWith extends Pick<ShardPlan, 'relatives'> {
  readonly encoder: Pick<Encoder, 'card' | 'digest'>;
}

/**
 * Creates the plan of a build whose input was read, or returns the existing plan.
 * Errors  Refusal `invalid_option` for a count out of range; those of readState
 */
export async function openPlan(
  corpus: Corpus,
  { spool, shards }: BuildFolder,
  { encoder: { card, digest }, relatives: homologs }: PlannedWith,
  count: number,
): Promise<PlannedShards> {
  if (!Number.isInteger(count) || count < 1 || count > BUILD_MAX_SHARDS) {
    throw new Refusal(
      'invalid_option',
      `A build has 1 to ${BUILD_MAX_SHARDS} shards; ${count} is out of range.`,
    );
  }
  const folder = shardsFolder({ shards }, count);
  const path = join(folder, PLAN_FILE);
  const existing = await readState<ShardPlan>(path, PLAN_MEMBERS);
  if (existing !== undefined) return { folder, plan: existing };
  const encoder = { id: card.id, sha256: digest };
  const plan: ShardPlan = { encoder, relatives: homologs, shards: await divide(corpus, spool, count) };
  await mkdir(folder, { recursive: true });
  await writeState(path, plan);
  return { folder, plan };
}

/**
 * Reads the plan of a build.
 * Errors  Refusal `build_not_found` if there is none, before planning and after the build; those of readState
 */
export async function readPlan(folder: string): Promise<ShardPlan> {
  const plan = await readState<ShardPlan>(join(folder, PLAN_FILE), PLAN_MEMBERS);
  if (plan !== undefined) return plan;
  throw new Refusal(
    'build_not_found',
    `There is no plan of shards in ${folder}: the build is finished, or was not planned.`,
  );
}

export function shardsFolder({ shards }: Pick<BuildFolder, 'shards'>, count: number): string {
  return join(shards, String(count));
}

/** Returns the paths of a complete shard, or of a task's unfinished shard. */
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
  /** Durably encoded residues of each shard. */
  readonly residues: readonly number[];
  /** Incomplete shards, ascending. */
  readonly missing: readonly number[];
}

/** Returns the progress of all shards. Errors  those of readState */
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
 * Divides the proteins into shards of about equal numbers of residues. Shard k begins with the first protein at or
 * after k/count of all residues. A shard may be empty if a protein is longer than a shard. The result depends only on
 * the input.
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
