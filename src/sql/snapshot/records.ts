import { createHash } from 'node:crypto';
import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { HomologyCandidate } from '../../contract/search/candidate-set.js';
import type { PresentedPropagation } from '../../contract/search/propagation.js';
import { canonicalSha256 } from '../../canonical.js';
import { isFinal } from '../../contract/runs/run-states.js';
import { RUN_LIST_MAX_SCANNED, SQL_TIMEOUT_MAX_SECONDS, SQL_USAGE_SEGMENT_ROWS } from '../../limits.js';
import { openControlStore, type ControlStore } from '../../store/control-store.js';
import { RunTable, type RunRow } from '../../store/tables/runs.js';
import { UsageTable } from '../../store/tables/usage.js';
import { atOnce } from '../../turns.js';
import { writeParquet } from './parquet.js';
import {
  CANDIDATE_COLUMNS,
  RUN_COLUMNS,
  USAGE_COLUMNS,
  type CandidateRow,
  type RunSummary,
} from './record-columns.js';
import type { SqlRecords } from '../tables.js';

/** Inputs of an organization's snapshot. */
export interface RecordsJob {
  readonly kind: 'records';
  readonly dataFolder: string;
  readonly organizationId: string;
  /** Folder of the Parquet files. Those of an organization are below `records/<organization>`. */
  readonly folder: string;
}

/**
 * Updates the Parquet files of an organization and returns their paths. A file never changes under its name: candidates
 * of a finished run are written once, usage in segments, runs under the digest of their content. Files that no running
 * statement can read any more are removed.
 * Cost    reads all runs and the last segment of usage, and the rows of each newly finished run
 * Errors  those of the file system and of the control store
 */
export async function snapshotRecords(job: RecordsJob): Promise<SqlRecords> {
  const store = openControlStore(job.dataFolder, { mayMigrate: false });
  try {
    return await writeRecords(job, store);
  } finally {
    await store.close();
  }
}

async function writeRecords(
  { organizationId, folder }: RecordsJob,
  store: ControlStore,
): Promise<SqlRecords> {
  const below = join('records', organizationId);
  const table = new RunTable(store);
  const runs = runsOf(organizationId, table);
  const files: SqlRecords = {
    runs: [await writeRuns(folder, below, runs)],
    candidates: await writeCandidates(folder, below, runs, table),
    usage: await writeUsage(folder, below, organizationId, new UsageTable(store)),
  };
  removeOld(folder, below, new Set(Object.values(files).flat()));
  return files;
}

function runsOf(organizationId: string, table: RunTable): RunRow[] {
  const runs: RunRow[] = [];
  let position: string | undefined;
  do {
    const page = atOnce(table.list(organizationId, {}, { limit: RUN_LIST_MAX_SCANNED }, position));
    runs.push(...page.runs);
    position = page.position;
  } while (position !== undefined);
  return runs;
}

async function writeRuns(folder: string, below: string, runs: readonly RunRow[]): Promise<string> {
  const hash = createHash('sha256');
  for (const run of runs) hash.update(JSON.stringify(RUN_COLUMNS.map(({ read }) => read(run) ?? null)));
  const file = join(below, `runs-${hash.digest('hex').slice(0, 32)}.parquet`);
  if (!existsSync(join(folder, file))) await writeParquet(join(folder, file), RUN_COLUMNS, runs);
  return file;
}

/** Endpoints whose rows are candidates, or queries with candidates. */
const RANKING_ENDPOINTS = new Set(['homology.search', 'homology.batch_search']);

/** Files of one folder have the same columns. Those of an earlier version are removed with it. */
const CANDIDATES_FOLDER = `candidates-${canonicalSha256(CANDIDATE_COLUMNS.map(({ name }) => name)).slice(0, 8)}`;

/**
 * Writes the candidates of a run. The folder name contains the run id, so that a question about one run opens one file
 * only.
 */
async function writeCandidates(
  folder: string,
  below: string,
  runs: readonly RunRow[],
  table: RunTable,
): Promise<string[]> {
  const fileOf = (name: string): string => join(below, CANDIDATES_FOLDER, `run_id=${name}`, 'rows.parquet');
  const files = [fileOf('none')];
  for (const run of runs) {
    if (!RANKING_ENDPOINTS.has(run.endpoint)) continue;
    if (!isFinal(run.status) || run.rowCount === 0 || run.areResultsGone) continue;
    const file = fileOf(run.id);
    files.push(file);
    if (existsSync(join(folder, file))) continue;
    await writeParquet(join(folder, file), CANDIDATE_COLUMNS, candidatesOf(run, table));
  }
  if (!existsSync(join(folder, files[0]))) {
    await writeParquet(join(folder, files[0]), CANDIDATE_COLUMNS, []);
  }
  return files;
}

interface QueryRow {
  readonly query_index: number;
  readonly query_id: string;
  readonly candidates: readonly HomologyCandidate[];
  readonly propagation?: PresentedPropagation;
}

/** Yields the candidates. A row of a run is a candidate or a query with its candidates. */
async function* candidatesOf(run: RunRow, table: RunTable): AsyncGenerator<CandidateRow> {
  const summary = run.summary as RunSummary | undefined;
  const releaseId = summary?.database?.release_id;
  const propagated = new Propagated(summary?.propagation);
  const single = { queryIndex: 0, releaseId, isPropagated: summary?.propagation !== undefined };
  for (let next = 0; next < run.rowCount;) {
    const block = await table.rows.blockAt(run.id, next);
    if (block === undefined) return;
    for (const row of block.rows as readonly (QueryRow | HomologyCandidate)[]) {
      if (!('candidates' in row)) {
        yield { ...single, candidate: row, hit: propagated.take(row) };
        continue;
      }
      const { query_index: queryIndex, query_id: queryId } = row;
      const ofQuery = new Propagated(row.propagation);
      const one = { queryIndex, queryId, releaseId, isPropagated: row.propagation !== undefined };
      for (const candidate of row.candidates) {
        yield { ...one, candidate, hit: ofQuery.take(candidate) };
      }
      for (const hit of ofQuery.rest()) yield { ...one, hit };
    }
    next = block.firstRow + block.rows.length;
  }
  for (const hit of propagated.rest()) yield { ...single, hit };
}

type PropagatedHit = PresentedPropagation['hits'][number];

/** Propagated hits of one query, by target. */
class Propagated {
  readonly #hits: Map<string, PropagatedHit>;

  constructor(propagation: PresentedPropagation | undefined) {
    this.#hits = new Map(propagation?.hits.map((hit) => [hit.target_id, hit]));
  }

  /** Removes and returns the hit of a candidate. */
  take({ target }: HomologyCandidate): PropagatedHit | undefined {
    const hit = this.#hits.get(target.id);
    this.#hits.delete(target.id);
    return hit;
  }

  /** Hits that are no candidates, by E-value. */
  rest(): Iterable<PropagatedHit> {
    return this.#hits.values();
  }
}

async function writeUsage(
  folder: string,
  below: string,
  organizationId: string,
  usage: UsageTable,
): Promise<string[]> {
  const count = usage.count(organizationId);
  const files: string[] = [];
  for (let first = 0; first === 0 || first < count; first += SQL_USAGE_SEGMENT_ROWS) {
    const rows = Math.min(SQL_USAGE_SEGMENT_ROWS, count - first);
    const file = join(below, `usage-${first}-${rows}.parquet`);
    files.push(file);
    if (existsSync(join(folder, file))) continue;
    await writeParquet(join(folder, file), USAGE_COLUMNS, usage.list(organizationId, first, rows));
  }
  return files;
}

/** Age at which a dropped file is removed. Every statement that could read the file has ended by then. */
const REMOVAL_AGE_MS = 2 * SQL_TIMEOUT_MAX_SECONDS * 1000;

function removeOld(folder: string, below: string, current: ReadonlySet<string>): void {
  const before = Date.now() - REMOVAL_AGE_MS;
  const entries = readdirSync(join(folder, below), { recursive: true, withFileTypes: true });
  for (const entry of entries.filter((each) => each.isFile())) {
    const path = join(entry.parentPath, entry.name);
    const file = path.slice(folder.length + 1);
    if (!current.has(file) && statSync(path).mtimeMs < before) rmSync(path, { force: true });
  }
}
