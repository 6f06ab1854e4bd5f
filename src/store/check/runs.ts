import { gunzipSync } from 'node:zlib';
import { isFinal, RUN_TRANSITIONS } from '../../contract/runs/run-states.js';
import { checkIndex, type Check } from './rows.js';
import type { EventRow } from '../tables/events.js';
import type { RunRow } from '../tables/runs.js';

/*
 * Checks of runs: each is in its indexes, has a plan while it works and rows while they are retained, and has its
 * events.
 */

export function checkRuns(check: Check): void {
  const { rows, report } = check;
  const blocks = countRows(check);
  for (const [id, run] of rows.of<RunRow>('runs')) {
    if (!(run.status in RUN_TRANSITIONS)) {
      report('row_unreadable', `runs ${id}`, `It has the unknown status ${run.status}.`);
      continue;
    }
    if (!isFinal(run.status) && !rows.has('run-plans', id)) {
      report('reference_dangling', `runs ${id}`, `It is ${run.status}, but its plan is missing.`);
    }
    const rowCount = run.areResultsGone ? 0 : run.rowCount;
    const counted = blocks.get(id) ?? 0;
    if (rowCount !== counted) {
      report('run_rows_damaged', `runs ${id}`, `It has ${rowCount} rows of results; ${counted} can be read.`);
    }
  }
  checkPlans(check);
  checkPlaces(check);
}

/** Number of decodable rows by run, in order and without a gap from the first row. */
function countRows({ rows, report }: Check): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const [key, packed] of rows.of<Buffer>('run-rows')) {
    const [id, firstRow] = key.split(' ');
    if (!rows.has('runs', id)) report('index_dangling', `run-rows ${key}`, `There is no run ${id}.`);
    const before = counts.get(id) ?? 0;
    const rowCount = rowsIn(packed);
    if (rowCount === undefined)
      report('run_rows_damaged', `run-rows ${key}`, 'The block cannot be unpacked.');
    else if (Number(firstRow) === before) counts.set(id, before + rowCount);
    else report('run_rows_damaged', `run-rows ${key}`, `The rows before it end at ${before}.`);
  }
  return counts;
}

function rowsIn(packed: Buffer): number | undefined {
  try {
    return (JSON.parse(gunzipSync(packed).toString('utf8')) as unknown[]).length;
  } catch {
    return undefined;
  }
}

function checkPlans({ rows, report }: Check): void {
  for (const [id, packed] of rows.of<Buffer>('run-plans')) {
    const run = rows.get<RunRow>('runs', id);
    if (run === undefined) report('index_dangling', `run-plans ${id}`, `There is no run ${id}.`);
    else if (isFinal(run.status)) report('index_dangling', `run-plans ${id}`, `The run is ${run.status}.`);
    else if (!isUnpackable(packed))
      report('row_unreadable', `run-plans ${id}`, 'The plan cannot be unpacked.');
  }
}

function isUnpackable(packed: Buffer): boolean {
  try {
    JSON.parse(gunzipSync(packed).toString('utf8'));
    return true;
  } catch {
    return false;
  }
}

function checkPlaces(check: Check): void {
  const { rows, report } = check;
  const placeOf = (run: RunRow): string => `${run.organizationId} ${run.createdAt} ${run.id}`;
  checkIndex<RunRow>(check, 'runs-by-organization', 'runs', placeOf);
  checkIndex<RunRow>(check, 'runs-unfinished', 'runs', (run) =>
    isFinal(run.status) ? undefined : placeOf(run),
  );
  const expiring = new Set<string>();
  for (const [key, id] of rows.of<string>('run-expiries')) {
    const run = rows.get<RunRow>('runs', id);
    if (run !== undefined && isFinal(run.status)) expiring.add(id);
    else report('index_dangling', `run-expiries ${key}`, `There is no finished run ${id}.`);
  }
  for (const [id, { status }] of rows.of<RunRow>('runs')) {
    if (!isFinal(status) || expiring.has(id)) continue;
    report('index_missing', `runs ${id}`, 'It is not in run-expiries, so it would be stored for ever.');
  }
}

/** Checks that events of a subject count up from 1, and that the last event of a run has the run's present state. */
export function checkEvents({ rows, report }: Check): void {
  const deleted = new Set([...rows.of<string>('file-event-expiries')].map(([, id]) => id));
  const last = new Map<string, EventRow>();
  for (const [key, event] of rows.of<EventRow>('events')) {
    const { subjectId, sequence } = event;
    const isThere = ['runs', 'files', 'releases'].some((table) => rows.has(table, subjectId));
    const isKnown = isThere || deleted.has(subjectId);
    if (!isKnown) report('index_dangling', `events ${key}`, `Its subject ${subjectId} does not exist.`);
    const before = last.get(subjectId)?.sequence ?? 0;
    if (sequence !== before + 1) {
      report('event_missing', `events ${key}`, `The event before it has the number ${before}.`);
    }
    last.set(subjectId, event);
  }
  for (const [id, { status }] of rows.of<RunRow>('runs')) {
    if (last.get(id)?.type === `run.${status}`) continue;
    report(
      'event_missing',
      `runs ${id}`,
      `It is ${status}; its last event is ${last.get(id)?.type ?? 'none'}.`,
    );
  }
  for (const [id] of rows.of('files')) {
    if (last.get(id)?.type === 'file.completed') continue;
    report('event_missing', `files ${id}`, `Its last event is ${last.get(id)?.type ?? 'none'}.`);
  }
}
