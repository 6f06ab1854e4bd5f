import type { RunEndpointKey, RunInput } from '../../contract/runs/run-kinds.js';
import type { Refusal } from '../../errors.js';
import type { RequestContext } from '../context.js';

/** One execution of a run, first or resumed. */
export interface RunWork {
  readonly runId: string;
  /** The organization and key that created the run; the signal ends with the run or the server. */
  readonly context: RequestContext;
  /** What the last piece that was kept said; undefined at the first start. */
  readonly checkpoint: unknown;
}

/** A piece of work that is done; once it is kept it is not done again. */
export interface RunStep {
  /** Rows behind those of the steps before. */
  readonly rows: Iterable<unknown>;
  /** What is being done, for people. */
  readonly stage: string;
  readonly doneCount: number;
  /** JSON with which a resumed execution goes on behind this piece. */
  readonly checkpoint: unknown;
  /** The next turn comes when this has settled: whoever only waits takes no turn from others. */
  readonly resumeAfter?: Promise<unknown>;
}

/** The last piece, kept together with the end of the run. */
export interface RunOutcome {
  readonly rows: Iterable<unknown>;
  readonly doneCount: number;
  /**
   * As the endpoint's `summary` schema says. Called inside the transaction that ends the run, so that what it writes
   * commits with the end; a Refusal before anything is written fails the run instead.
   */
  summarise(at: Date): unknown;
  readonly billableUnits: number;
}

/** The last piece of work that came to nothing, kept together with the failure of the run. */
export interface RunFailureOutcome extends Pick<RunOutcome, 'rows' | 'doneCount'> {
  /** Called inside the transaction, as `summarise` is. */
  fail(at: Date): Refusal;
}

/** What the queue stores between acceptance and execution. */
export interface PreparedRun<Plan> {
  /** JSON; execution depends on nothing else, so that what was accepted is what is done. */
  readonly plan: Plan;
  /** Units of work in all. */
  readonly totalCount: number;
}

/**
 * What a run can execute: one registered value for each entry of RUN_ENDPOINTS, which holds input and result schemas.
 */
export interface RunEndpoint<Key extends RunEndpointKey = RunEndpointKey, Plan = unknown> {
  readonly key: Key;
  /** Resolves and refuses: what passes here is accepted. Errors  the refusals of runs.create */
  prepare(input: RunInput<Key>, context: RequestContext): Promise<PreparedRun<Plan>>;
  /**
   * Does the work piece by piece; between two pieces other runs have their turn.
   * Errors  a Refusal fails the run with its code; anything else fails it as our fault
   */
  execute(plan: Plan, work: RunWork): RunExecution;
}

export type RunExecution = AsyncGenerator<RunStep, RunOutcome | RunFailureOutcome, void>;

/** The form in which endpoints of different inputs and plans stand in one list. */
export type AnyRunEndpoint = RunEndpoint<never, never> & { readonly key: RunEndpointKey };

/** Gives an endpoint its types and forgets them: the key keeps input, plan and execution together. */
export function defineRunEndpoint<Key extends RunEndpointKey, Plan>(
  endpoint: RunEndpoint<Key, Plan>,
): AnyRunEndpoint {
  return Object.freeze(endpoint) as unknown as AnyRunEndpoint;
}
