import { rm } from 'node:fs/promises';
import { openTokens, type EngineWithoutTokens } from '../../engine/open-engine.js';
import { sha256Hex } from '../../canonical.js';
import type { ApplianceConfig } from '../../config.js';
import { Refusal } from '../../errors.js';
import { exists } from '../../files.js';
import { compileFilter } from '../../release/filter/filter.js';
import { compileTargetSpace, unfilteredSpace } from '../../release/filter/target-space.js';
import { batchSizeByCandidates } from '../../search/batches.js';
import { cutCountOf } from '../../search/further.js';
import { searchPartialResults } from '../../search/partitions/merge.js';
import { scanRange, targetRanges, type PartialResult } from '../../search/partitions/scan.js';
import { encodePartialResults } from '../../search/partitions/encoding.js';
import type { NamedQuery, SearchEngine, SearchResult, SearchSettings } from '../../search/search-types.js';
import { ParquetEncoder } from '../../services/export/parquet.js';
import { presentCandidate } from '../../services/search/present-candidates.js';
import { presentWalk } from '../../services/search/present-propagation.js';
import { openPropagation, type Propagation } from '../../services/search/propagation.js';
import {
  readPlan,
  readQueriesOf,
  unitsOf,
  type BatchFolder,
  type BatchPlan,
  type ChunkEnd,
  type Unit,
} from './plan.js';
import { openPlannedEngine } from '../cluster/planned-engine.js';
import { publishFile } from '../cluster/task-files.js';
import { readPartialResults } from './partial-results.js';

/** Units of one process, which opens the release once for all of them. */
export interface BatchTask {
  /** Places of its units in `unitsOf`. */
  readonly places: readonly number[];
  /** Unique among running tasks: temporary files have it in their names. */
  readonly name: string;
  readonly signal?: AbortSignal;
  readonly onUnit?: () => void;
}

/**
 * Runs the unfinished ones of some units. A unit scans one partition of the targets with one chunk of the queries; the
 * unit that completes a chunk merges it. Units that another task has finished are skipped.
 * Errors  Refusal `batch_not_found`; `encoder_changed`, `calibration_changed` where the evidence of the
 *         release differs from the plan; those of searching
 */
export async function runUnits(folder: BatchFolder, task: BatchTask, config: ApplianceConfig): Promise<void> {
  const plan = await readPlan(folder);
  const units = unitsOf(plan);
  const opened = await openPlanned(plan, config);
  const work: Work = { folder, plan, task, ...opened };
  try {
    for (const place of task.places) {
      task.signal?.throwIfAborted();
      await runUnit(units[place], work);
      task.onUnit?.();
    }
  } finally {
    await opened.close();
  }
}

interface Work extends OpenedEngine {
  readonly folder: BatchFolder;
  readonly plan: BatchPlan;
  readonly task: BatchTask;
}

async function runUnit(unit: Unit, work: Work): Promise<void> {
  const { folder, plan, task } = work;
  const { chunk } = unit;
  if (await exists(folder.end(chunk))) return;
  const queries = await readQueriesOf(folder, chunk);
  if (!(await exists(folder.partialResult(unit)))) {
    const partialResults = await scanPartition(queries, unit, work);
    await publishFile(folder.partialResult(unit), task.name, encodePartialResults(partialResults));
  }
  const parts = Array.from({ length: plan.parts }, (_, partition) =>
    folder.partialResult({ chunk, partition }),
  );
  if (!(await Promise.all(parts.map(exists))).every(Boolean)) return;
  try {
    await finish(chunk, queries, parts, work);
  } catch (cause) {
    // Another task that merged the same chunk first has removed its partial results.
    if (!(await exists(folder.end(chunk)))) throw cause;
  }
}

async function scanPartition(
  queries: readonly NamedQuery[],
  { partition }: Unit,
  work: Work,
): Promise<readonly PartialResult[]> {
  const { plan, task, settings, engine } = work;
  const range = targetRanges(engine.release, plan.parts)[partition];
  const store = await openTokens(engine.release, engine.backend, range);
  try {
    return await scanRange(queries, settings, range, { ...engine, store }, task.signal);
  } finally {
    store.close();
  }
}

async function finish(
  chunk: number,
  queries: readonly NamedQuery[],
  paths: readonly string[],
  { folder, plan, task, settings, engine: ranged }: Work,
): Promise<void> {
  const parts = await Promise.all(paths.map(readPartialResults));
  const { slug } = plan.release;
  const { searchedTargetCount: targetCount, searchedResidueCount: residueCount } = settings.targetSpace;
  const file = new ParquetEncoder({ database: slug, targetCount, residueCount });
  const pieces: Uint8Array[] = [];
  const digests: string[] = [];
  let cutCount = 0;
  const { release, backend } = ranged;
  const engine = { ...ranged, store: await openTokens(release, backend) };
  try {
    const propagation = await propagationOf(plan, engine);
    const size = batchSizeByCandidates(settings.limit);
    for (let start = 0; start < queries.length; start += size) {
      const pack = queries.slice(start, start + size);
      const partialResults = parts.map((part) => part.slice(start, start + size));
      const results = await searchPartialResults(pack, settings, partialResults, engine, task.signal);
      results.forEach((result: SearchResult, at) => {
        const index = plan.chunkStarts[chunk] + start + at;
        const candidates = result.candidates.map((each) =>
          presentCandidate(each, result.queryLength, release),
        );
        const { id, sequence } = pack[at];
        const walked = { sequence, candidates: result.candidates, targetSpace: settings.targetSpace };
        const hits = propagation && presentWalk(walked, engine, propagation).hits;
        const query = { index, id, ...(hits && { propagated: { hits, sort: 'rank' as const } }) };
        pieces.push(file.add(query, candidates));
        digests.push(result.resultSha256);
        cutCount += cutCountOf(result.candidates);
      });
    }
  } finally {
    engine.store.close();
  }
  pieces.push(file.end());
  const rows = Buffer.concat(pieces);
  const end: ChunkEnd = { digests, cutCount, rowsSha256: sha256Hex(rows) };
  await publishFile(folder.rows(chunk), task.name, rows);
  await publishFile(folder.end(chunk), task.name, Buffer.from(JSON.stringify(end)));
  for (const path of paths) await rm(path, { force: true });
}

/** Errors  Refusal `calibration_changed` where the null of walks differs from the plan */
async function propagationOf(
  { walksId, release }: BatchPlan,
  engine: SearchEngine,
): Promise<Propagation | undefined> {
  if (walksId === undefined) return undefined;
  const propagation = await openPropagation(engine);
  if (propagation.walksId === walksId) return propagation;
  throw new Refusal(
    'calibration_changed',
    `The walks of release ${release.id} were calibrated again since this work was planned.`,
  );
}

interface OpenedEngine {
  /** Each unit opens the tokens of its own partition. */
  readonly engine: EngineWithoutTokens;
  readonly settings: SearchSettings;
  close(): Promise<void>;
}

async function openPlanned(plan: BatchPlan, config: ApplianceConfig): Promise<OpenedEngine> {
  const { engine, close } = await openPlannedEngine(plan, config);
  const { release } = engine;
  const { filter, settings } = plan;
  try {
    const targetSpace =
      filter === null
        ? unfilteredSpace(release)
        : compileTargetSpace(release, compileFilter(filter, release.fields, { place: ['filter'] }));
    return { engine, settings: { ...settings, targetSpace }, close };
  } catch (cause) {
    await close();
    throw cause;
  }
}
