import { join } from 'node:path';
import type { ApplianceConfig } from '../../config.js';
import { openTokens } from '../../engine/open-engine.js';
import { createEdgesFile } from '../../neighbours/edges-file.js';
import { readNeighbours } from '../../neighbours/sidecar.js';
import { Fault } from '../../errors.js';
import { exists } from '../../files.js';
import { openRelease } from '../../release/open.js';
import type { Release } from '../../release/release.js';
import { openTokenReader } from '../../release/rows/token-reader.js';
import { openPlannedEngine } from '../cluster/planned-engine.js';
import { publishFile } from '../cluster/task-files.js';
import { mapEarlierRows, type EarlierRows } from './earlier.js';
import { packRange, readPlan, type FinishedPack, type NeighboursPlan, type WorkFolder } from './plan.js';
import { computeRows, type NeighbourRows } from './rows.js';

/** Packs of one process, which opens the release once for all of them. */
export interface PackTask {
  readonly packs: readonly number[];
  /** Unique among running tasks: temporary files have it in their names. */
  readonly name: string;
  readonly signal?: AbortSignal;
  readonly onPack?: () => void;
}

/**
 * Computes the unfinished ones of some packs. Packs that another task has finished are skipped.
 * Errors  Refusal `batch_not_found`; `calibration_changed` where the evidence of the release differs from the plan;
 *         Faults of encoder, kernels and disk; the signal's reason
 */
export async function runPacks(folder: WorkFolder, task: PackTask, config: ApplianceConfig): Promise<void> {
  const plan = await readPlan(folder);
  const { engine: opened, close } = await openPlannedEngine(plan, config);
  try {
    const { release, backend } = opened;
    const earlier = await openEarlier(plan, release);
    const engine = { ...opened, store: await openTokens(release, backend) };
    const reader = await openTokenReader(release);
    try {
      const work = { engine, reader, rules: plan.rules, earlier, signal: task.signal };
      for (const pack of task.packs) {
        task.signal?.throwIfAborted();
        if (await exists(folder.mark(pack))) continue;
        const before = process.cpuUsage();
        const rows = await computeRows(...packRange(plan, pack), work);
        const { user, system } = process.cpuUsage(before);
        await publishPack(folder, pack, rows, (user + system) / 1e6, task.name);
        task.onPack?.();
      }
    } finally {
      await reader.close();
      engine.store.close();
    }
  } finally {
    await close();
  }
}

async function publishPack(
  folder: WorkFolder,
  pack: number,
  { queries, edges }: NeighbourRows,
  processorSeconds: number,
  name: string,
): Promise<void> {
  const file = await createEdgesFile(join(folder.path, `${pack}.${name}.new`));
  await file.add(queries, edges);
  const finished: FinishedPack = { edges: await file.finish(), edgeCount: queries.length, processorSeconds };
  await publishFile(folder.mark(pack), name, Buffer.from(JSON.stringify(finished)));
}

async function openEarlier(plan: NeighboursPlan, release: Release): Promise<EarlierRows | undefined> {
  if (plan.earlier === null) return undefined;
  const { directory, graphId } = plan.earlier;
  const earlier = await openRelease(directory);
  const neighbours = await readNeighbours(earlier);
  if (neighbours?.id === graphId) return mapEarlierRows(release, earlier, neighbours.graph, plan.rules.limit);
  throw new Fault(`The graph of ${directory} was removed or computed anew since this work was planned.`);
}
