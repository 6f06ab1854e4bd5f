import { mkdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { writing } from '../../build-release/writing.js';
import type { ApplianceConfig } from '../../config.js';
import { readEvidenceIds } from '../../engine/open-engine.js';
import { Fault, Refusal } from '../../errors.js';
import {
  NEIGHBOURS_FORMAT,
  neighboursDirectory,
  neighboursId,
  type NeighboursCard,
} from '../../neighbours/card.js';
import { createEdgesFile, readGraph } from '../../neighbours/edges-file.js';
import {
  graphBounds,
  readNeighboursCard,
  verifyNeighbours,
  writeNeighboursCard,
} from '../../neighbours/sidecar.js';
import { lockFolder } from '../../processes.js';
import { policyId, policyListing } from '../../recall/policy-card.js';
import { readPolicyCard } from '../../recall/policy-sidecar.js';
import { hashFile } from '../../release/hashed-file.js';
import { openRelease } from '../../release/open.js';
import type { Release } from '../../release/release.js';
import { referencePolicyId } from '../../search/plan.js';
import { calibrationId } from '../../significance/card.js';
import { readCalibrationCard } from '../../significance/sidecar.js';
import { openCatalog, selectOneRelease, type IndexCatalog, type LocatedRelease } from '../catalog.js';
import { writerName } from '../cluster/slurm.js';
import { readJson } from '../cluster/task-files.js';
import {
  checkTask,
  runUnitsByTasks,
  runUnitsHere,
  type PendingTasks,
  type TaskOptions,
} from '../cluster/units.js';
import type { PipelineEvents } from '../events/notices.js';
import { measuring } from '../measure.js';
import { isMeasuredAlike } from './earlier.js';
import {
  folderAt,
  missingPacks,
  packRange,
  packStartsOf,
  readPlan,
  storePlan,
  workFolder,
  type FinishedPack,
  type NeighboursPlan,
  type WorkFolder,
} from './plan.js';
import type { NeighbourRules } from './rows.js';
import { runPacks } from './task.js';

/** Each target has at most its nearest 100 others, with E-values up to 10: what a walk over the graph needs. */
const RULES: NeighbourRules = { limit: 100, maxExpected: 10 };

export interface NeighboursOptions {
  /** Slug of a database, or a release id. */
  readonly database: string;
  /** Searches every row in full, even if an earlier release of the database has a graph. */
  readonly isFull?: boolean;
  /** Divides the work among tasks; absent where this process searches. */
  readonly tasks?: TaskOptions;
}

export type NeighboursResult =
  | {
      readonly kind: 'computed';
      readonly release: LocatedRelease;
      /** `graph_…` */
      readonly id: string;
      readonly card: NeighboursCard;
      /** True where the release had this graph already. */
      readonly isKnown: boolean;
    }
  | ({ readonly kind: 'divided'; readonly release: LocatedRelease } & PendingTasks);

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Computes the graph of neighbours of a release, here or by tasks of a cluster, and stores it beside the release. A
 * repeated call resumes. The edges depend on release, evidence and rules only: neither on sittings nor on tasks.
 * Notice: `job_submitted`. Stage: `compare`.
 * Errors  Refusal `database_not_found`, `significance_unavailable`, `build_running`, `calibration_changed`; those of
 *         `measuring` and `writing`; Faults of encoder, kernels and disk; the signal's reason
 */
export async function computeNeighbours(
  options: NeighboursOptions,
  config: ApplianceConfig,
  environment: Environment,
  events: PipelineEvents,
): Promise<NeighboursResult> {
  const { release, plan } = await openCatalog(config, (catalog) => planNeighbours(options, catalog));
  const { slug } = plan.release;
  const located = { slug, id: release.id, directory: release.directory };
  const known = await knownCard(release, plan, options.isFull === true);
  if (known !== undefined) {
    return { kind: 'computed', release: located, id: neighboursId(known), card: known, isKnown: true };
  }
  const compute = async (): Promise<NeighboursResult> => {
    const folder = workFolder(release.directory);
    await mkdir(folder.path, { recursive: true });
    const unlock = await lockFolder(folder.path, `The neighbours of ${slug} are being found`);
    try {
      await storePlan(folder, plan);
      if (options.tasks === undefined) {
        await computeHere({ folder, plan, config, events }, writerName(environment));
      } else {
        const pending = await computeByTasks({ folder, plan, config, events }, options.tasks);
        if (pending !== undefined) return { kind: 'divided', release: located, ...pending };
      }
      const card = await collect(release, folder, plan);
      await rm(folder.path, { recursive: true, maxRetries: 5 });
      return { kind: 'computed', release: located, id: neighboursId(card), card, isKnown: false };
    } finally {
      await unlock();
    }
  };
  return writing(dirname(release.directory), () => measuring(located, 'neighbours', compute));
}

/**
 * Runs one task of a divided graph. Returns its number of packs.
 * @param path  folder of the unfinished graph
 * @param task  0..taskCount−1
 * Errors  Refusal `invalid_option` for a task out of range, `batch_not_found`; those of runPacks
 */
export async function runNeighboursTask(
  path: string,
  taskCount: number,
  task: number,
  config: ApplianceConfig,
  environment: Environment,
): Promise<number> {
  checkTask(task, taskCount);
  const folder = folderAt(path);
  const { packStarts } = await readPlan(folder);
  const packs = Array.from(packStarts.keys()).filter((pack) => pack % taskCount === task);
  await runPacks(folder, { packs, name: writerName(environment) }, config);
  return packs.length;
}

/** Resolves the release, its evidence, and the graph that it extends. Only this step reads the catalog. */
async function planNeighbours(
  { database, isFull = false }: NeighboursOptions,
  catalog: IndexCatalog,
): Promise<{ readonly release: Release; readonly plan: NeighboursPlan }> {
  const located = selectOneRelease(catalog, database);
  const { slug, id, directory } = located;
  const release = await openRelease(directory);
  const evidence = await readEvidenceIds(directory, {
    id,
    targetCount: release.targets.count,
  });
  const { qualificationId } = evidence;
  if (evidence.calibrationId === null) {
    throw new Refusal(
      'significance_unavailable',
      `${slug} has no qualified calibration, and neighbours are chosen by E-value: ` +
        `run "gloaming index calibrate ${database}" first.`,
    );
  }
  const card = qualificationId === null ? undefined : await readPolicyCard(directory);
  const listing = card && policyListing(RULES.limit + 1, card);
  const plan = {
    release: { directory, id, slug },
    calibrationId: evidence.calibrationId,
    qualificationId,
    policyId: listing === undefined ? referencePolicyId(release.manifest) : policyId(listing.policy),
    rules: RULES,
    earlier: isFull ? null : await findEarlier(catalog, located, release),
    packStarts: packStartsOf(release.targets),
    targetCount: release.targets.count,
  };
  return { release, plan };
}

/**
 * The newest other release of the database whose graph can give candidates, if any. It measures pairs alike and has the
 * reference null of this release. The E-values of one query then differ by one factor.
 */
async function findEarlier(
  { table, scanned }: IndexCatalog,
  { slug, id, directory }: LocatedRelease,
  { manifest }: Release,
): Promise<NeighboursPlan['earlier']> {
  const reference = (await readCalibrationCard(directory))?.reference?.id;
  if (reference === undefined) return null;
  for (const row of table.releases(slug)) {
    const found = scanned.releases.find((one) => one.slug === slug && one.id === row.id);
    if (found === undefined || found.id === id || !isMeasuredAlike(manifest, found.manifest)) continue;
    const card = await readNeighboursCard(found.directory).catch(() => undefined);
    const calibration = await readCalibrationCard(found.directory).catch(() => undefined);
    if (card?.release_id !== found.id || calibration?.reference?.id !== reference) continue;
    if (calibrationId(calibration) !== card.calibration_id) continue;
    if (card.limit !== RULES.limit || card.max_expected !== RULES.maxExpected) continue;
    return { directory: found.directory, id: found.id, graphId: neighboursId(card) };
  }
  return null;
}

/** The card of an intact graph that was computed with the same evidence. */
async function knownCard(
  { id, directory }: Release,
  { calibrationId: calibration, policyId: policy, rules }: NeighboursPlan,
  isFull: boolean,
): Promise<NeighboursCard | undefined> {
  const card = await readNeighboursCard(directory).catch(() => undefined);
  const isSame =
    card?.calibration_id === calibration &&
    card.policy_id === policy &&
    card.limit === rules.limit &&
    card.max_expected === rules.maxExpected &&
    !(isFull && card.extends !== null);
  return isSame && (await verifyNeighbours(directory, id)).length === 0 ? card : undefined;
}

interface Session {
  readonly folder: WorkFolder;
  readonly plan: NeighboursPlan;
  readonly config: ApplianceConfig;
  readonly events: PipelineEvents;
}

function computeHere({ folder, plan, config, events }: Session, name: string): Promise<void> {
  return runUnitsHere(packsToRun(folder, plan), events, (packs, onPack) =>
    runPacks(folder, { packs, name, signal: events.signal, onPack }, config),
  );
}

function packsToRun(folder: WorkFolder, plan: NeighboursPlan) {
  return { unitCount: plan.packStarts.length, missingUnits: () => missingPacks(folder, plan) };
}

/** Submits the packs to Slurm and waits. Without a submission, returns the tasks to submit. */
function computeByTasks(
  { folder, plan, config, events }: Session,
  tasks: TaskOptions,
): Promise<PendingTasks | undefined> {
  const work = {
    script: join(folder.path, 'neighbours.sbatch'),
    job: {
      name: `gloaming-${plan.release.slug}`,
      command: [...tasks.program, 'index', 'neighbours-shard', folder.path, String(tasks.count)],
      environment: { GLOAMING_INDEXES: config.indexesFolder },
      logFolder: folder.path,
    },
    ...packsToRun(folder, plan),
  };
  return runUnitsByTasks(work, tasks, events);
}

/** Joins the packs in their order beside the release. */
async function collect(
  { id, directory, manifest, targets }: Release,
  folder: WorkFolder,
  plan: NeighboursPlan,
): Promise<NeighboursCard> {
  const destination = neighboursDirectory(directory);
  await mkdir(destination, { recursive: true });
  const file = await createEdgesFile(join(destination, 'edges.new'));
  const rules = { limit: plan.rules.limit, max_expected: plan.rules.maxExpected };
  const counts = { targets: targets.count, edges: 0, isolated: 0 };
  let processorSeconds = 0;
  try {
    for (const pack of plan.packStarts.keys()) {
      const { finished, path } = await checkedPack(folder, pack);
      const bounds = graphBounds(targets, { ...rules, counts: { ...counts, edges: finished.edgeCount } });
      const { offsets, ...edges } = await readGraph(path, bounds);
      const queries = new Uint32Array(finished.edgeCount);
      const [start, end] = packRange(plan, pack);
      for (let target = start; target < end; target += 1) {
        queries.fill(target, offsets[target], offsets[target + 1]);
        if (offsets[target] === offsets[target + 1]) counts.isolated += 1;
      }
      await file.add(queries, edges);
      counts.edges += finished.edgeCount;
      processorSeconds += finished.processorSeconds;
    }
  } catch (cause) {
    await file.abandon();
    throw cause;
  }
  const isApproximate = plan.policyId !== referencePolicyId(manifest);
  const card: NeighboursCard = {
    format: NEIGHBOURS_FORMAT,
    release_id: id,
    calibration_id: plan.calibrationId,
    encoder: { id: manifest.encoder.id, sha256: manifest.encoder.sha256 },
    policy_id: plan.policyId,
    qualification_id: isApproximate ? plan.qualificationId : null,
    ...rules,
    counts,
    edges: await file.finish(),
    extends: plan.earlier && { release_id: plan.earlier.id, graph_id: plan.earlier.graphId },
    processor_seconds: Math.round(processorSeconds * 1e3) / 1e3,
  };
  await writeNeighboursCard(directory, card);
  return card;
}

/** A finished pack whose edges are as they were written. Errors  Fault where they are not */
async function checkedPack(
  folder: WorkFolder,
  pack: number,
): Promise<{ readonly finished: FinishedPack; readonly path: string }> {
  const mark = folder.mark(pack);
  const finished = await readJson<FinishedPack>(mark);
  const path = join(folder.path, finished.edges.path);
  const { sha256 } = await hashFile(path).catch(() => ({ sha256: 'missing' }));
  if (sha256 === finished.edges.sha256) return { finished, path };
  throw new Fault(`${path} is damaged; remove ${mark} and run the same command again.`);
}
