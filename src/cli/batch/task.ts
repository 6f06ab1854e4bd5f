import { open, rename, rm } from 'node:fs/promises';
import { openCodebookOf } from '../../recall/codebook-sidecar.js';
import { openEvidence } from '../../recall/evidence.js';
import type { ApplianceConfig } from '../../config.js';
import { findEncoderVersion } from '../../encoder/encoder-store.js';
import { encoderOptionsOf, loadEncoder } from '../../encoder/load.js';
import { Refusal } from '../../errors.js';
import { backendWishOf, chooseBackend } from '../../kernels/choose.js';
import { openProfileEncoder } from '../../find-homologs/open.js';
import { compileFilter } from '../../release/filter/filter.js';
import { compileTargetSpace, unfilteredSpace } from '../../release/filter/target-space.js';
import { openRelease } from '../../release/open.js';
import { batchSizeByCandidates } from '../../search/batches.js';
import { searchPartialResults } from '../../search/partitions/merge.js';
import { openRange, scanRange, targetRanges, type PartialResult } from '../../search/partitions/scan.js';
import { encodePartialResults } from '../../search/partitions/encoding.js';
import type { SearchEngine, SearchResult, SearchSettings } from '../../search/search-types.js';
import { ParquetEncoder } from '../../services/export/parquet.js';
import { presentCandidate } from '../../services/search/present-candidates.js';
import { openHomologSources } from '../cluster/homolog-sources.js';
import type { NamedQuery } from '../search/report.js';
import {
  exists,
  readPlan,
  readQueriesOf,
  unitsOf,
  type BatchFolder,
  type BatchPlan,
  type Unit,
} from './plan.js';
import { readPartialResults } from './partial-results.js';

/** One process at a batch: it opens the release once for all of its units. */
export interface BatchTask {
  /** Places of its units among all (`unitsOf`). */
  readonly places: readonly number[];
  /** No other process has it at the same time. */
  readonly name: string;
  readonly signal?: AbortSignal;
  readonly onUnit?: () => void;
}

/**
 * Does what is left of some units: compares a chunk of the queries with a part of the targets, and finishes a chunk
 * when the last of its parts is there. What others have done meanwhile is left alone.
 * Errors  Refusal `batch_not_found`; `encoder_changed`, `calibration_changed` where the release is searched otherwise
 *         than planned; those of searching
 */
export async function runUnits(folder: BatchFolder, task: BatchTask, config: ApplianceConfig): Promise<void> {
  const plan = await readPlan(folder);
  const units = unitsOf(plan);
  const opened = await openEngine(plan, config);
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
  if (await exists(folder.digests(chunk))) return;
  const queries = await readQueriesOf(folder, chunk);
  if (!(await exists(folder.partialResult(unit)))) {
    const partialResults = await scanPartition(queries, unit, work);
    await publish(folder.partialResult(unit), task.name, encodePartialResults(partialResults));
  }
  const parts = Array.from({ length: plan.parts }, (_, part) => folder.partialResult({ chunk, part }));
  if (!(await Promise.all(parts.map(exists))).every(Boolean)) return;
  try {
    await finish(chunk, queries, parts, work);
  } catch (cause) {
    // Whoever was faster has taken the surveys away.
    if (!(await exists(folder.digests(chunk)))) throw cause;
  }
}

async function scanPartition(
  queries: readonly NamedQuery[],
  { part }: Unit,
  work: Work,
): Promise<readonly PartialResult[]> {
  const { plan, task, settings, engine } = work;
  const range = targetRanges(engine.release, plan.parts)[part];
  const store = await openRange(engine.release, engine.backend, range);
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
  const { release, backend } = ranged;
  const engine = { ...ranged, store: await backend.open(release.tokens) };
  try {
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
        pieces.push(file.add({ index, id: pack[at].id }, candidates));
        digests.push(result.resultSha256);
      });
    }
  } finally {
    engine.store.close();
  }
  pieces.push(file.end());
  await publish(folder.rows(chunk), task.name, Buffer.concat(pieces));
  await publish(folder.digests(chunk), task.name, Buffer.from(JSON.stringify(digests)));
  for (const path of paths) await rm(path, { force: true });
}

/** A file that is there whole or not at all, whoever else writes the same. */
async function publish(path: string, name: string, bytes: Uint8Array): Promise<void> {
  const own = `${path}.${name}`;
  const handle = await open(own, 'w');
  try {
    await handle.writeFile(bytes);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(own, path);
}

interface OpenedEngine {
  /** Without tokens: each unit opens those of its part. */
  readonly engine: Omit<SearchEngine, 'store'>;
  readonly settings: SearchSettings;
  close(): Promise<void>;
}

/** From the files of the release alone: no catalog is asked, which one machine has for itself. */
async function openEngine(
  { release: { directory, id }, filter, settings, ...planned }: BatchPlan,
  config: ApplianceConfig,
): Promise<OpenedEngine> {
  const release = await openRelease(directory);
  const known = { id, targetCount: release.targets.count };
  const { calibration, qualification } = await openEvidence(directory, known);
  const isAsPlanned =
    (calibration?.id ?? null) === planned.calibrationId &&
    (qualification?.id ?? null) === planned.qualificationId;
  if (!isAsPlanned) {
    throw new Refusal(
      'calibration_changed',
      `Release ${id} was calibrated or qualified anew since the batch began.`,
    );
  }
  const { id: encoderId, sha256 } = release.manifest.encoder;
  const encoder = await loadEncoder(
    await findEncoderVersion(encoderId, sha256, config),
    encoderOptionsOf(config),
  );
  const backend = await chooseBackend(backendWishOf(config));
  const codes = qualification && (await openCodebookOf(directory, qualification.card.codes, release.tokens));
  const homologSources = openHomologSources(encoder, config);
  const profileEncoder = openProfileEncoder(release.manifest, encoder, homologSources);
  const targetSpace =
    filter === null
      ? unfilteredSpace(release)
      : compileTargetSpace(release, compileFilter(filter, release.fields, { place: ['filter'] }));
  return {
    engine: {
      release,
      encoder,
      profileEncoder,
      backend,
      calibration,
      qualification,
      codebook: codes,
      threads: config.threads,
    },
    settings: { ...settings, targetSpace },
    async close() {
      await homologSources.close();
      await encoder.close();
    },
  };
}
