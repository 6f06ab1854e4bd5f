import { canBecome, isFinal, type FinalRunStatus, type RunStatus } from '../../contract/runs/run-states.js';
import {
  RUN_LIST_MAX_SCANNED,
  RUN_RETENTION_MS,
  RUNS_MAX_COUNT,
  UNFINISHED_RUNS_MAX_COUNT,
  UNFINISHED_RUNS_PER_ORGANIZATION_MAX_COUNT,
} from '../../limits.js';
import { EventTable, type EventRow } from './events.js';
import type { ControlStore, Table } from '../control-store.js';
import type { Steps } from '../../turns.js';
import { RunRowTable, type RowBlock } from './run-rows.js';
import { isShareFull } from './shares.js';

export interface RunFailure {
  readonly code: string;
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>>;
}

/** Values that are fixed when a run is accepted. */
export interface NewRun {
  /** `run_…`. */
  readonly id: string;
  readonly organizationId: string;
  readonly keyId: string;
  /** The request that created it. */
  readonly requestId: string;
  readonly endpoint: string;
  readonly label?: string;
  readonly priority: 'high' | 'normal' | 'low';
  readonly isBackground: boolean;
  /** A webhook endpoint that gets the final event regardless of its subscriptions. */
  readonly webhookEndpointId?: string;
  readonly inputSha256: string;
  readonly createdAt: string;
  readonly totalCount: number;
  /** Provenance data as JSON of the services; absent if an earlier version made the run. */
  readonly traces?: unknown;
}

export interface RunRow extends NewRun {
  readonly status: RunStatus;
  readonly startedAt?: string;
  readonly finishedAt?: string;
  readonly expiresAt?: string;
  /** Id of the execution that may write. An execution with another claim has lost the run. */
  readonly claim?: string;
  readonly claimedAt?: string;
  readonly attemptCount: number;
  /** Attempts since the last stored piece. */
  readonly fruitlessAttemptCount: number;
  readonly stage: string;
  readonly doneCount: number;
  /** Time spent on completed work, without waiting. */
  readonly workMs: number;
  /** Checkpoint of a resumed execution; JSON of the endpoint. */
  readonly checkpoint?: unknown;
  readonly rowCount: number;
  readonly summary?: unknown;
  readonly error?: RunFailure;
  readonly billableUnits: number;
  readonly areResultsGone: boolean;
}

/** Result of one step of an execution. */
export interface RunPiece {
  readonly blocks: readonly RowBlock[];
  readonly stage: string;
  readonly doneCount: number;
  readonly workMs: number;
  readonly checkpoint?: unknown;
}

export interface RunEnd {
  readonly to: FinalRunStatus;
  readonly at: Date;
  /** Claim of an execution. The run ends only if the execution still holds it. */
  readonly claim?: string;
  readonly piece?: RunPiece;
  /** Both run inside the transaction, before the first write of the run. They may write to other tables, or throw. */
  readonly summarise?: (at: Date) => unknown;
  readonly fail?: (at: Date) => RunFailure;
  readonly billableUnits?: number;
  readonly traces?: unknown;
}

export type CreatedRun =
  | { readonly status: 'created'; readonly run: RunRow }
  | { readonly status: 'storage_full' }
  | { readonly status: 'queue_full' | 'organization_full'; readonly quota: number };

interface RunFilter {
  readonly status?: RunStatus;
  readonly endpoint?: string;
}

interface RunListBounds {
  readonly limit: number;
  /** Called once with each run of the page, in order. The page ends before the first run that is not taken. */
  readonly take?: (run: RunRow) => boolean;
}

interface RunListPage {
  readonly runs: readonly RunRow[];
  /** Start of the next page; undefined at the end. */
  readonly position?: string;
}

const SWEEP_MAX_RUNS = 16;
/** Runs whose places in the list are read at once. */
const LIST_STEP_RUNS = 100;

/** Observers that write in the transactions of runs. */
interface RunObservers {
  readonly onEvent?: (event: EventRow) => void;
  /** Called when a run has a chargeable result. */
  readonly onCompleted?: (run: RunRow) => void;
}

/**
 * Runs with their plans, rows and events: the tables `runs`, `runs-…`, `run-plans` and `run-expiries`. Every state
 * change is one transaction with its event and its result.
 */
export class RunTable {
  readonly rows: RunRowTable;
  readonly events: EventTable;
  readonly #store: ControlStore;
  readonly #observers: RunObservers;
  readonly #runs: Table<RunRow>;
  readonly #plans: Table<Buffer>;
  /** `<organization> <time> <id>`. */
  readonly #byOrganization: Table<string>;
  readonly #unfinished: Table<string>;
  /** `<time> <id>`: when data of the run are to be deleted. */
  readonly #expiries: Table<string>;

  readonly #maxCount: number;

  /** @param maxCount stored runs of all organizations */
  constructor(store: ControlStore, observers: RunObservers = {}, maxCount = RUNS_MAX_COUNT) {
    this.#maxCount = maxCount;
    this.rows = new RunRowTable(store);
    this.events = new EventTable(store, observers.onEvent);
    this.#store = store;
    this.#observers = observers;
    this.#runs = store.table<RunRow>('runs');
    this.#plans = store.bytes('run-plans');
    this.#byOrganization = store.table<string>('runs-by-organization');
    this.#unfinished = store.table<string>('runs-unfinished');
    this.#expiries = store.table<string>('run-expiries');
  }

  /** Accepts a run as queued. @param onAccepted called inside the transaction */
  create(
    run: NewRun,
    plan: Buffer,
    onAccepted: (run: RunRow) => void = () => undefined,
  ): Promise<CreatedRun> {
    return this.#store.transaction<CreatedRun>(() => {
      const full = this.#fullness(run.organizationId);
      if (full !== undefined) return full;
      const queued = this.#put({ ...run, ...FRESH });
      this.#plans.putSync(run.id, plan);
      this.#byOrganization.putSync(placeOf(run), run.id);
      this.#unfinished.putSync(placeOf(run), run.id);
      this.#notify(queued, run.createdAt);
      onAccepted(queued);
      return { status: 'created', run: queued };
    });
  }

  get(id: string): RunRow | undefined {
    return this.#runs.get(id);
  }

  /** Plan of the execution, as the endpoint passed it. */
  plan(id: string): Buffer | undefined {
    return this.#plans.get(id);
  }

  /** Queued and running runs, in the order in which they were accepted. */
  unfinished(): readonly RunRow[] {
    return [...this.#unfinished.getRange().map(({ value }) => this.#runs.get(value) as RunRow)].sort(
      (a, b) => (timeOf(a) < timeOf(b) ? -1 : 1),
    );
  }

  /**
   * Runs of an organization, newest first, after the position of an earlier page. Pauses after each run, because rows
   * with propagated hits are large.
   */
  *list(
    organizationId: string,
    filter: RunFilter,
    { limit, take = () => true }: RunListBounds,
    position?: string,
  ): Steps<RunListPage> {
    const runs: RunRow[] = [];
    let [scanned, last] = [0, position];
    for (;;) {
      const places = this.#placesAfter(organizationId, last);
      for (const { key, value: id } of places) {
        if (runs.length === limit || scanned === RUN_LIST_MAX_SCANNED) return { runs, position: last };
        const run = this.#runs.get(id);
        // A run may have been deleted during a pause.
        if (run !== undefined && matches(run, filter)) {
          if (!take(run)) return { runs, position: last };
          runs.push(run);
        }
        scanned += 1;
        last = key;
        yield;
      }
      if (places.length < LIST_STEP_RUNS) return { runs };
    }
  }

  /** Next places, read at once: an open iterator would hold LMDB's read transaction during the pauses. */
  #placesAfter(organizationId: string, position = `${organizationId}!`) {
    const end = `${organizationId} `;
    const range = { start: position, end, reverse: true, exclusiveStart: true, limit: LIST_STEP_RUNS };
    return [...this.#byOrganization.getRange(range)];
  }

  /** Assigns a run to an execution. undefined if it has ended. */
  claim(id: string, claim: string, at: Date): Promise<RunRow | undefined> {
    return this.#store.transaction(() => {
      const run = this.#runs.get(id);
      if (run === undefined || isFinal(run.status)) return undefined;
      const isStart = canBecome(run.status, 'running');
      const counts = {
        attemptCount: run.attemptCount + 1,
        fruitlessAttemptCount: run.fruitlessAttemptCount + 1,
      };
      const started = isStart
        ? { status: 'running' as const, startedAt: at.toISOString(), stage: 'starting' }
        : {};
      const claimed = this.#put({ ...run, ...counts, ...started, claim, claimedAt: at.toISOString() });
      if (isStart) this.#notify(claimed, at.toISOString());
      return claimed;
    });
  }

  /** Stores a piece of an execution. undefined if the execution has lost the run. */
  persist(id: string, claim: string, piece: RunPiece): Promise<RunRow | undefined> {
    return this.#store.transaction(() => {
      const run = this.#runs.get(id);
      const isHeld = run?.status === 'running' && run.claim === claim;
      return isHeld ? this.#put(this.#withPiece(run, piece)) : undefined;
    });
  }

  /** Ends a run. undefined if its state forbids it or the claim has been lost. */
  end(id: string, end: RunEnd): Promise<RunRow | undefined> {
    const { to, at, claim, piece, summarise, fail, ...facts } = end;
    // Only a completed run adds more than it removes.
    return this.#store[to === 'completed' ? 'transaction' : 'freeing'](() => {
      const run = this.#runs.get(id);
      if (run === undefined || !canBecome(run.status, to)) return undefined;
      if (claim !== undefined && run.claim !== claim) return undefined;
      const outcome = {
        ...(summarise && { summary: summarise(at) }),
        ...(fail && { error: fail(at) }),
      };
      const finishedAt = at.toISOString();
      const expiresAt = new Date(at.getTime() + RUN_RETENTION_MS).toISOString();
      const whole = piece === undefined ? run : this.#withPiece(run, piece);
      const { claim: _, checkpoint: __, ...publicRow } = whole;
      const ended = this.#put({
        ...publicRow,
        ...facts,
        ...outcome,
        status: to,
        stage: to,
        finishedAt,
        expiresAt,
      });
      this.#plans.removeSync(id);
      this.#unfinished.removeSync(placeOf(run));
      this.#expiries.putSync(`${expiresAt} ${id}`, id);
      this.#notify(ended, finishedAt);
      if (ended.status === 'completed') this.#observers.onCompleted?.(ended);
      return ended;
    });
  }

  /** Deletes results whose time is over, and runs after the same time again. Returns true if there are more. */
  sweep(now: Date): Promise<boolean> {
    return this.#store.freeing(() => {
      const due = [...this.#expiries.getRange({ end: now.toISOString(), limit: SWEEP_MAX_RUNS })];
      for (const { key, value: id } of due) {
        this.#expiries.removeSync(key);
        const run = this.#runs.get(id) as RunRow;
        if (run.areResultsGone) this.#forget(run);
        else this.#dropResults(run, now);
      }
      return due.length === SWEEP_MAX_RUNS;
    });
  }

  #dropResults(run: RunRow, now: Date): void {
    this.rows.drop(run.id);
    this.#put({ ...run, areResultsGone: true });
    const expiresAt = new Date(now.getTime() + RUN_RETENTION_MS).toISOString();
    this.#expiries.putSync(`${expiresAt} ${run.id}`, run.id);
  }

  #forget(run: RunRow): void {
    this.#byOrganization.removeSync(placeOf(run));
    this.events.drop(run.id);
    this.#runs.removeSync(run.id);
  }

  #put(run: RunRow): RunRow {
    this.#runs.putSync(run.id, run);
    return run;
  }

  #notify(run: RunRow, timestamp: string): void {
    const { id: subjectId, organizationId, endpoint, status, webhookEndpointId } = run;
    const data = { run_id: subjectId, endpoint, status };
    const notified = isFinal(status) &&
      webhookEndpointId !== undefined && { toldEndpointId: webhookEndpointId };
    this.events.append({ type: `run.${status}`, organizationId, subjectId, timestamp, data, ...notified });
  }

  #fullness(organizationId: string): CreatedRun | undefined {
    const ofOrganization = { start: `${organizationId} `, end: `${organizationId}!` };
    const { entryCount } = this.#runs.getStats() as { entryCount: number };
    // Counting 450,000 keys takes 20 ms, once the table is nearly full.
    const countOwn = (): number => this.#byOrganization.getKeysCount(ofOrganization);
    if (isShareFull(entryCount, this.#maxCount, countOwn)) return { status: 'storage_full' };
    const counts = [
      ['queue_full', this.#unfinished.getKeysCount(), UNFINISHED_RUNS_MAX_COUNT],
      [
        'organization_full',
        this.#unfinished.getKeysCount(ofOrganization),
        UNFINISHED_RUNS_PER_ORGANIZATION_MAX_COUNT,
      ],
    ] as const;
    const full = counts.find(([, count, quota]) => count >= quota);
    return full && { status: full[0], quota: full[2] };
  }

  #withPiece(run: RunRow, { blocks, ...progress }: RunPiece): RunRow {
    this.rows.add(run.id, run.rowCount, blocks);
    const rowCount = blocks.reduce((sum, block) => sum + block.rowCount, run.rowCount);
    // Stored rows are not computed again. Work without rows starts again after a crash, so the attempt counts as
    // fruitless.
    const fruitless = blocks.length === 0 ? {} : { fruitlessAttemptCount: 0 };
    return { ...run, ...progress, rowCount, ...fruitless };
  }
}

const FRESH = {
  status: 'queued',
  attemptCount: 0,
  fruitlessAttemptCount: 0,
  stage: 'queued',
  doneCount: 0,
  workMs: 0,
  rowCount: 0,
  billableUnits: 0,
  areResultsGone: false,
} as const;

/** A blank sorts before every letter of an organization's name, so that its runs are adjacent, by time. */
function placeOf(run: NewRun): string {
  return `${run.organizationId} ${timeOf(run)}`;
}

function timeOf(run: NewRun): string {
  return `${run.createdAt} ${run.id}`;
}

function matches(run: RunRow, { status, endpoint }: RunFilter): boolean {
  return (
    (status === undefined || run.status === status) && (endpoint === undefined || run.endpoint === endpoint)
  );
}
