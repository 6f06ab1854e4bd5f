import { presentFacts } from '../../contract/grammar/failures.js';
import { isFinal } from '../../contract/runs/run-states.js';
import { Refusal } from '../../errors.js';
import { RUN_ATTEMPT_WAIT_MAX_MS, RUN_MAX_FRUITLESS_ATTEMPTS } from '../../limits.js';
import { packRows, unpackBytes, type RowBlock } from '../../store/tables/run-rows.js';
import type { RunEnd, RunFailure, RunPiece, RunRow, RunTable } from '../../store/tables/runs.js';
import { parseStrictJsonInTurns } from '../../json/strict.js';
import type { World } from '../../world.js';
import type { Traces } from '../reply.js';
import { isPassing } from './passing.js';
import type { RunTurn } from './queue.js';
import type { RunFailureOutcome, RunKind, RunOutcome, RunStep, RunSteps } from './run-kind.js';
import type { RunWatch } from './watch.js';

interface RunExecutorDependencies {
  readonly table: RunTable;
  /** By key. */
  readonly kinds: ReadonlyMap<string, RunKind>;
  readonly watch: RunWatch;
  readonly now: () => Date;
  readonly world: World;
  /** Whether the catalog has a release. */
  readonly hasRelease: (releaseId: string) => boolean;
  /** Called for internal failures, with the run that the failure ended. */
  readonly onFault: (error: unknown, runId: string) => void;
  /** Called once with the reason why a run waits. The run is not at fault and continues automatically. */
  readonly onWait: (cause: unknown, runId: string) => void;
}

/** A run in progress in this process. */
interface Attempt {
  readonly run: RunRow;
  /** Id that distinguishes this attempt from one before a crash, or of another process. */
  readonly claim: string;
  /** undefined after the disk or a worker has ended them. They start again after the last stored piece. */
  steps: RunSteps | undefined;
  controller: AbortController;
  /** Writes work that is done and not on disk yet. Called again if the disk refuses it. */
  persist?: () => Promise<RunTurn | undefined>;
  /** Time spent on stored pieces, of this and earlier attempts. */
  workMs: number;
}

const CLAIM_BYTES = 16;

class Interrupted extends Error {
  override readonly name = 'Interrupted';
}

/** Executes runs from start to end, one piece at each call. */
export class RunExecutor {
  readonly #table: RunTable;
  readonly #kinds: ReadonlyMap<string, RunKind>;
  readonly #watch: RunWatch;
  readonly #now: () => Date;
  readonly #world: World;
  readonly #hasRelease: (releaseId: string) => boolean;
  readonly #onFault: (error: unknown, runId: string) => void;
  readonly #onWait: (cause: unknown, runId: string) => void;
  readonly #attempts = new Map<string, Attempt>();
  /** Consecutive failed turns, by run. */
  readonly #refusals = new Map<string, number>();
  #isInterrupted = false;

  constructor({ table, kinds, watch, now, world, hasRelease, onFault, onWait }: RunExecutorDependencies) {
    this.#table = table;
    this.#kinds = kinds;
    this.#watch = watch;
    this.#now = now;
    this.#world = world;
    this.#hasRelease = hasRelease;
    this.#onFault = onFault;
    this.#onWait = onWait;
  }

  /** Does the next piece of a run, or waits for disk or workers. undefined at its end. Never rejects. */
  async step(runId: string): Promise<RunTurn | undefined> {
    if (this.#isInterrupted) return undefined;
    let claim: string | undefined;
    try {
      const attempt = this.#attempts.get(runId) ?? (await this.#begin(runId));
      claim = attempt?.claim;
      const turn = await (attempt === undefined ? this.#settle(runId) : this.#advance(attempt));
      this.#refusals.delete(runId);
      return turn;
    } catch (error) {
      if (isPassing(error)) return this.#wait(runId, error);
      return this.#fail(runId, error, claim).catch((cause: unknown) => {
        if (isPassing(cause)) return this.#wait(runId, cause);
        this.#onFault(cause, runId);
        return this.#settle(runId);
      });
    }
  }

  /** Keeps the run's state on disk and in memory. Its next turn comes after a backoff. */
  #wait(runId: string, error: unknown): RunTurn {
    const refusals = this.#refusals.get(runId) ?? 0;
    this.#refusals.set(runId, refusals + 1);
    if (refusals === 0) this.#onWait(error, runId);
    const waitMs = Math.min(RUN_ATTEMPT_WAIT_MAX_MS, 1_000 * 2 ** refusals);
    const after = new Promise<void>((resolve) => void this.#world.setTimer(waitMs, resolve));
    return { after };
  }

  /** Ends the work of a run that was ended elsewhere. */
  abandon(runId: string): void {
    const attempt = this.#attempts.get(runId);
    if (attempt === undefined) return;
    this.#attempts.delete(runId);
    attempt.controller.abort(new Interrupted());
    this.#refusals.delete(runId);
    // Between two slices of work, only this call lets the generator clean up.
    void cleanUp(attempt).catch(() => undefined);
  }

  /** Interrupts all work and waits for its end. The next server resumes runs at their stored results. */
  async interrupt(): Promise<void> {
    this.#isInterrupted = true;
    const interrupted = [...this.#attempts.values()];
    for (const { controller } of interrupted) controller.abort(new Interrupted());
    // Attempts between two slices clean up now; the others when their current slice ends.
    await Promise.allSettled(interrupted.map(cleanUp));
  }

  async #begin(runId: string): Promise<Attempt | undefined> {
    const claim = this.#world.randomBytes(CLAIM_BYTES).toString('hex');
    const run = await this.#table.claim(runId, claim, this.#now());
    if (run === undefined) return undefined;
    this.#watch.notify(runId);
    const controller = new AbortController();
    const steps = await this.#start(run, controller.signal);
    const attempt = { run, claim, steps, controller, workMs: run.workMs };
    this.#attempts.set(runId, attempt);
    if (this.#isInterrupted) controller.abort(new Interrupted());
    return attempt;
  }

  /** Errors  Refusal `run_interrupted` for a run that has ended the server too often */
  async #start(run: RunRow, signal: AbortSignal): Promise<RunSteps> {
    if (run.fruitlessAttemptCount > RUN_MAX_FRUITLESS_ATTEMPTS) {
      throw new Refusal(
        'run_interrupted',
        `The server ended ${run.attemptCount - 1} times while it worked on this run. Make the input smaller.`,
      );
    }
    const kind = this.#kinds.get(run.endpoint);
    const packed = this.#table.plan(run.id);
    // The run was cancelled after its claim, which deleted its plan.
    if (packed === undefined && isFinal((this.#table.get(run.id) ?? run).status)) throw new Interrupted();
    if (kind === undefined || packed === undefined) {
      throw new Error(`The run cannot be started: its kind, ${run.endpoint}, or its plan is missing.`);
    }
    const plan = await this.#world.aside(unpackPlan(packed));
    const { requestId, organizationId, keyId } = run;
    const context = { requestId, organizationId, keyId, signal, receivedAtMs: this.#world.monotonicMs() };
    return kind.execute(plan, { runId: run.id, context, checkpoint: run.checkpoint });
  }

  async #advance(attempt: Attempt): Promise<RunTurn | undefined> {
    attempt.persist ??= await this.#work(attempt);
    const turn = await attempt.persist();
    attempt.persist = undefined;
    return turn;
  }

  /** Does the next piece and returns the function that stores it. Errors  those of the kind */
  async #work(attempt: Attempt): Promise<() => Promise<RunTurn | undefined>> {
    const { run, claim } = attempt;
    attempt.steps ??= await this.#startAgain(attempt);
    const startedAt = this.#world.monotonicMs();
    const { done, value } = await attempt.steps.next().catch((error: unknown) => {
      if (isPassing(error)) attempt.steps = undefined;
      throw error;
    });
    if (done !== true && value.waitsFor !== undefined) throw value.waitsFor;
    const blocks = await this.#world.aside(packRows(value.rows));
    attempt.workMs += this.#world.monotonicMs() - startedAt;
    const piece = pieceOf(value, blocks, attempt.workMs);
    return done === true
      ? () => this.#finish(run.id, { ...endOf(value, run.traces), claim, piece })
      : () => this.#persist(attempt, value, piece);
  }

  /** Starts the same attempt again, which did not fail itself. Errors  those of #start */
  #startAgain(attempt: Attempt): Promise<RunSteps> {
    attempt.controller.abort(new Interrupted());
    attempt.controller = new AbortController();
    if (this.#isInterrupted) attempt.controller.abort(new Interrupted());
    return this.#start(this.#table.get(attempt.run.id) ?? attempt.run, attempt.controller.signal);
  }

  async #persist(attempt: Attempt, value: RunStep, piece: RunPiece): Promise<RunTurn | undefined> {
    const { run, claim } = attempt;
    const persisted = await this.#table.persist(run.id, claim, piece);
    this.#watch.notify(run.id);
    if (persisted !== undefined) return { after: value.resumeAfter };
    // The run was cancelled meanwhile, or another process has taken it over.
    attempt.controller.abort(new Interrupted());
    await cleanUp(attempt).catch(() => undefined);
    return this.#settle(run.id);
  }

  async #fail(runId: string, cause: unknown, claim?: string): Promise<undefined> {
    if (cause instanceof Interrupted) return this.#settle(runId);
    const error = cause instanceof Refusal ? cause : (this.#lostRelease(runId, cause) ?? cause);
    if (!(error instanceof Refusal)) this.#onFault(error, runId);
    const finish = (): Promise<undefined> =>
      this.#finish(runId, { to: 'failed', claim, fail: () => failureOf(error) });
    const attempt = this.#attempts.get(runId);
    if (attempt !== undefined) attempt.persist = finish;
    return finish();
  }

  /** Returns what a failure on a file of a release means, if the catalog no longer has the release of the run. */
  #lostRelease(runId: string, cause: unknown): Refusal | undefined {
    const { databaseSnapshots = [] } = (this.#table.get(runId)?.traces ?? {}) as Traces;
    const lost = databaseSnapshots.find(
      ({ version }) => namesPath(cause, version) && !this.#hasRelease(version),
    );
    if (lost === undefined) return undefined;
    return new Refusal(
      'release_not_found',
      `Release ${lost.version} of ${lost.name} was deleted before the run ended: submit the run again, with another ` +
        'release.',
    );
  }

  async #finish(runId: string, end: Omit<RunEnd, 'at'>): Promise<undefined> {
    await this.#table.end(runId, { ...end, at: this.#now() });
    return this.#settle(runId);
  }

  async #settle(runId: string): Promise<undefined> {
    const attempt = this.#attempts.get(runId);
    attempt?.controller.abort(new Interrupted());
    this.#attempts.delete(runId);
    this.#refusals.delete(runId);
    this.#watch.notify(runId);
    // If a piece could not be stored, the generator is suspended after it. Otherwise the generator has ended.
    if (attempt !== undefined) await cleanUp(attempt).catch(() => undefined);
  }
}

async function unpackPlan(packed: Uint8Array): Promise<unknown> {
  return parseStrictJsonInTurns(await unpackBytes(packed), Infinity);
}

/** Runs the `finally` blocks of the generator. Errors  those of the generator */
async function cleanUp({ steps }: Attempt): Promise<void> {
  await steps?.return(undefined as never);
}

/** Whether an error or one of its causes names a path. The folder of a release has the name of its id. */
function namesPath(error: unknown, part: string): boolean {
  for (let link = error; link instanceof Error; link = link.cause)
    if (link.message.includes(part)) return true;
  return false;
}

function endOf(outcome: RunOutcome | RunFailureOutcome, accepted: unknown): Omit<RunEnd, 'at'> {
  if ('fail' in outcome) return { to: 'failed', fail: (at) => failureOf(outcome.fail(at)) };
  const { billableUnits } = outcome;
  const traces = { ...(accepted as Traces | undefined), ...outcome.traces };
  return { to: 'completed', summarise: (at) => outcome.summarise(at), billableUnits, traces };
}

function pieceOf(
  value: RunStep | RunOutcome | RunFailureOutcome,
  blocks: readonly RowBlock[],
  workMs: number,
): RunPiece {
  const { doneCount } = value;
  return 'stage' in value
    ? { blocks, doneCount, workMs, stage: value.stage, checkpoint: value.checkpoint }
    : { blocks, doneCount, workMs, stage: 'completed' };
}

function failureOf(error: unknown): RunFailure {
  if (error instanceof Refusal) {
    return { code: error.code, message: error.message, details: presentFacts(error.details) };
  }
  return {
    code: 'internal_error',
    message: "The server failed. Its log has the cause under the run's id.",
    details: {},
  };
}
