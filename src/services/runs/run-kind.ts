import type { RunEndpointKey, RunInput } from '../../contract/runs/run-kinds.js';
import type { Refusal } from '../../errors.js';
import type { RequestContext } from '../context.js';
import type { Traces } from '../reply.js';

/** Context of a run's work, at its first attempt or a resumed one. */
export interface RunWork {
  readonly runId: string;
  /** The organization and key that created the run; the signal ends with the run or the server. */
  readonly context: RequestContext;
  /** Checkpoint of the last stored piece; undefined at the first start. */
  readonly checkpoint: unknown;
}

/** Rows of a result: objects that JSON can represent. */
type Rows = Iterable<unknown> | AsyncIterable<unknown>;

/** A finished piece of work. Once stored, it is not repeated. */
export interface RunStep {
  /** Rows that follow those of the earlier steps. */
  readonly rows: Rows;
  /** Present stage, human-readable. */
  readonly stage: string;
  readonly doneCount: number;
  /** JSON from which a resumed run continues after this piece. */
  readonly checkpoint: unknown;
  /** The next turn comes after this has settled. A run that only waits occupies no turn. */
  readonly resumeAfter?: Promise<unknown>;
  /**
   * A passing refusal of this piece (`isPassing`). The step is not stored. After a backoff, the same work gets its next
   * turn and repeats the piece. Work that throws the refusal starts again after the last stored piece.
   */
  readonly waitsFor?: Error;
}

/** The last piece, stored together with the end of the run. */
export interface RunOutcome {
  readonly rows: Rows;
  readonly doneCount: number;
  /**
   * Returns a value of the kind's `summary` schema. Called inside the transaction that ends the run, so that its writes
   * commit with the end. If it throws a Refusal before its first write, the run fails with it.
   */
  summarise(at: Date): unknown;
  readonly billableUnits: number;
  /** Traces that were unknown when the run was accepted. */
  readonly traces?: Traces;
}

/** The last piece of failed work, stored together with the failure of the run. */
export interface RunFailureOutcome extends Pick<RunOutcome, 'rows' | 'doneCount'> {
  /** Called inside the transaction, as `summarise` is. */
  fail(at: Date): Refusal;
}

/** The work of a run, piece by piece. */
export type RunSteps = AsyncGenerator<RunStep, RunOutcome | RunFailureOutcome, void>;

/** Data that the queue stores between acceptance and work. */
export interface PreparedRun<Plan> {
  /** JSON. The work depends on nothing else, so that later changes do not affect an accepted run. */
  readonly plan: Plan;
  /** Total units of work. */
  readonly totalCount: number;
  readonly traces?: Traces;
}

/** Implementation of one entry of RUN_ENDPOINTS, which holds the schemas of input and result. */
interface RunKindDefinition<Key extends RunEndpointKey, Plan> {
  readonly key: Key;
  /** Resolves the input. Input that passes is accepted. Errors  the refusals of runs.create */
  prepare(input: RunInput<Key>, context: RequestContext): Promise<PreparedRun<Plan>>;
  /**
   * Does the work piece by piece. Between two pieces other runs get a turn.
   * Errors  a Refusal fails the run with its code; any other error fails it as an internal failure
   */
  execute(plan: Plan, work: RunWork): RunSteps;
}

/** A kind of run as the queue sees it. Input and plan are opaque to the queue. */
export interface RunKind {
  readonly key: RunEndpointKey;
  /**
   * @param input valid by the schema of this key, which the contract has checked. Errors  the refusals of runs.create
   */
  prepare(input: unknown, context: RequestContext): Promise<PreparedRun<unknown>>;
  /** @param plan result of `prepare` of the same kind, decoded from JSON */
  execute(plan: unknown, work: RunWork): RunSteps;
}

/** Hides the types of a kind's input and plan. The key ensures that input, plan and work belong together. */
export function defineRunKind<Key extends RunEndpointKey, Plan>(
  definition: RunKindDefinition<Key, Plan>,
): RunKind {
  return Object.freeze<RunKind>({
    key: definition.key,
    prepare: (input, context) => definition.prepare(input as RunInput<Key>, context),
    execute: (plan, work) => definition.execute(plan as Plan, work),
  });
}
