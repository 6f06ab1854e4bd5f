import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { canonicalJson } from '../../canonical.js';
import { Refusal } from '../../errors.js';
import { BATCH_PACK_MAX_QUERIES } from '../../limits.js';
import { neighboursDirectory } from '../../neighbours/card.js';
import { exists, replaceFile } from '../../files.js';
import type { FileEntry, TargetTable } from '../../release/release.js';
import { batchEnd } from '../../search/batches.js';
import { readJson } from '../cluster/task-files.js';
import type { PlannedRelease } from '../cluster/planned-engine.js';
import type { NeighbourRules } from './rows.js';

/*
 * An unfinished graph has a folder `<release id>.neighbours.work/` beside its release:
 *
 *   plan.json             NeighboursPlan: release, evidence, rules and division.
 *   edges-<sha256>.arrow  edges of one pack of queries, in the form of the graph's own file.
 *   <pack>.json           FinishedPack; written last, as the mark of a finished pack.
 *
 * Packs depend on the release only, and their edges on pack and plan only. Neither sittings nor the number of tasks
 * change a byte of the graph.
 */

export interface NeighboursPlan extends PlannedRelease {
  readonly release: PlannedRelease['release'] & { readonly slug: string };
  readonly calibrationId: string;
  readonly policyId: string;
  readonly rules: NeighbourRules;
  /** Release whose graph gives candidates to the rows of unchanged targets. */
  readonly earlier: { readonly directory: string; readonly id: string; readonly graphId: string } | null;
  /** First target of each pack, ascending from 0. */
  readonly packStarts: readonly number[];
  readonly targetCount: number;
}

export interface FinishedPack {
  readonly edges: FileEntry;
  readonly edgeCount: number;
  readonly processorSeconds: number;
}

/** Returns the paths of an unfinished graph. */
export function workFolder(releaseDirectory: string) {
  return folderAt(`${neighboursDirectory(releaseDirectory)}.work`);
}

export function folderAt(path: string) {
  return {
    path,
    plan: join(path, 'plan.json'),
    mark: (pack: number): string => join(path, `${pack}.json`),
  };
}

export type WorkFolder = ReturnType<typeof folderAt>;

/** Divides the targets into packs of queries that share scans. */
export function packStartsOf(targets: TargetTable): readonly number[] {
  const all = Array.from({ length: targets.count }, (_, target) => target);
  const starts: number[] = [];
  for (let start = 0; start < all.length;) {
    starts.push(start);
    start = batchEnd(all, start, BATCH_PACK_MAX_QUERIES, (target) => targets.length(target));
  }
  return starts;
}

/** Returns the targets of a pack: from the first up to, but not including, the second. */
export function packRange({ packStarts, targetCount }: NeighboursPlan, pack: number): [number, number] {
  return [packStarts[pack], packStarts[pack + 1] ?? targetCount];
}

/**
 * Writes the plan. Finished packs of the same plan stay; those of another plan are removed.
 * Errors  those of the file system
 */
export async function storePlan(folder: WorkFolder, plan: NeighboursPlan): Promise<void> {
  const stored = await readJson<NeighboursPlan>(folder.plan).catch(() => undefined);
  if (stored !== undefined && canonicalJson(stored) === canonicalJson(plan)) return;
  for (const pack of plan.packStarts.keys()) await rm(folder.mark(pack), { force: true });
  await replaceFile(folder.plan, JSON.stringify(plan));
}

/** Reads the plan. Errors  Refusal `batch_not_found`; Fault where it is damaged */
export async function readPlan({ path, plan }: WorkFolder): Promise<NeighboursPlan> {
  if (await exists(plan)) return readJson<NeighboursPlan>(plan);
  throw new Refusal(
    'batch_not_found',
    `There is no unfinished graph in ${path}: it is done, or was not begun.`,
  );
}

/** Returns the unfinished packs, ascending. Errors  none */
export async function missingPacks(
  folder: WorkFolder,
  { packStarts }: NeighboursPlan,
): Promise<readonly number[]> {
  const missing: number[] = [];
  for (const pack of packStarts.keys()) if (!(await exists(folder.mark(pack)))) missing.push(pack);
  return missing;
}
