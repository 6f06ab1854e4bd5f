import type { RunEndpointKey, RunInput } from '../../contract/runs/run-kinds.js';
import type { Refusal } from '../../errors.js';
import type { RequestContext } from '../context.js';
import type { Traces } from '../reply.js';

/** What a run is at work on, at its first attempt or a resumed one. */
export interface RunWork {
  readonly runId: string;
  /** The organization and key that created the run; the signal ends with the run or the server. */
  readonly context: RequestContext;
  /** What the last piece that was kept said; undefined at the first start. */
  readonly checkpoint: unknown;
}

/** Rows of a result: objects, as JSON has them. */
type Rows = Iterable<unknown> | AsyncIterable<unknown>;

/** A piece of work that is done; once it is kept it is not done again. */
export interface RunStep {
  /** Rows behind those of the steps before. */
  readonly rows: Rows;
  /** What is being done, for people. */
  readonly stage: string;
  readonly doneCount: number;
  /** JSON with which a resumed run goes on behind this piece. */
  readonly checkpoint: unknown;
  /** The next turn comes when this has settled: whoever only waits takes no turn from others. */
  readonly resumeAfter?: Promise<unknown>;
}

/** The last piece, kept together with the end of the run. */
export interface RunOutcome {
  readonly rows: Rows;
  readonly doneCount: number;
  /**
   * As the `summary` schema of the kind says. Called inside the transaction that ends the run, so that what it writes
   * commits with the end; a Refusal before anything is written fails the run instead.
   */
  summarise(at: Date): unknown;
  readonly billableUnits: number;
  /** What is known of it beyond what was known when it was accepted. */
  readonly traces?: Traces;
}

/** The last piece of work that came to nothing, kept together with the failure of the run. */
export interface RunFailureOutcome extends Pick<RunOutcome, 'rows' | 'doneCount'> {
  /** Called inside the transaction, as `summarise` is. */
  fail(at: Date): Refusal;
}

/** The work of a run, piece by piece. */
export type RunSteps = AsyncGenerator<RunStep, RunOutcome | RunFailureOutcome, void>;

/** What the queue stores between acceptance and work. */
export interface PreparedRun<Plan> {
  /** JSON; the work depends on nothing else, so that what was accepted is what is done. */
  readonly plan: Plan;
  /** Units of work in all. */
  readonly totalCount: number;
  readonly traces?: Traces;
}

/** What one entry of RUN_ENDPOINTS, which holds the schemas of input and result, does: written by its own file. */
interface RunKindDefinition<Key extends RunEndpointKey, Plan> {
  readonly key: Key;
  /** Resolves and refuses: what passes here is accepted. Errors  the refusals of runs.create */
  prepare(input: RunInput<Key>, context: RequestContext): Promise<PreparedRun<Plan>>;
  /**
   * Does the work piece by piece; between two pieces other runs have their turn.
   * Errors  a Refusal fails the run with its code; anything else fails it as our fault
   */
  execute(plan: Plan, work: RunWork): RunSteps;
}

/** A kind of run as the queue knows it: input and plan are values that the kind alone understands. */
export interface RunKind {
  readonly key: RunEndpointKey;
  /** @param input valid by the schema of this key, as the contract has checked. Errors  the refusals of runs.create */
  prepare(input: unknown, context: RequestContext): Promise<PreparedRun<unknown>>;
  /** @param plan what `prepare` of this very kind gave, read back from JSON */
  execute(plan: unknown, work: RunWork): RunSteps;
}

/** Hides the types of a kind's input and plan: the key keeps input, plan and work together. */
export function defineRunKind<Key extends RunEndpointKey, Plan>(
  definition: RunKindDefinition<Key, Plan>,
): RunKind {
  return Object.freeze<RunKind>({
    key: definition.key,
    prepare: (input, context) => definition.prepare(input as RunInput<Key>, context),
    execute: (plan, work) => definition.execute(plan as Plan, work),
  });
}
