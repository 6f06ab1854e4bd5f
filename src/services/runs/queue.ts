import * as fastq from 'fastq';
import type { queueAsPromised } from 'fastq';

/** A run that waits for its next turn. */
export interface WaitingRun {
  readonly id: string;
  readonly organizationId: string;
  readonly priority: 'high' | 'normal' | 'low';
  /** Orders runs of one organization and priority: time of acceptance and id. */
  readonly acceptedAt: string;
}

/** A run that requests a further turn. */
export interface RunTurn {
  /** The turn comes after this has settled. */
  readonly after?: Promise<unknown>;
}

/** Gives waiting runs their turns, with a bound on concurrent turns. */
export class RunQueue {
  readonly #line = new FairLine();
  readonly #step: (run: WaitingRun) => Promise<RunTurn | undefined>;
  /** Bounds concurrent turns. The run of a turn is chosen when the turn starts, not when it is requested. */
  readonly #turns: queueAsPromised<void>;
  #isStopping = false;

  /**
   * @param step executes one piece of the run's work and returns whether it needs a further turn. Must not reject
   * @param concurrency concurrent turns, 1..
   */
  constructor(step: (run: WaitingRun) => Promise<RunTurn | undefined>, concurrency: number) {
    this.#step = step;
    this.#turns = fastq.promise(() => this.#serve(), concurrency);
  }

  add(run: WaitingRun): void {
    this.#line.add(run);
    void this.#turns.push();
  }

  /** Removes a waiting run. A running one is not affected. */
  remove(id: string): void {
    this.#line.remove(id);
  }

  /** Starts no further turns, and resolves when the running ones have ended. Errors  none */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#turns.drained();
  }

  async #serve(): Promise<void> {
    const run = this.#isStopping ? undefined : this.#line.take();
    if (run === undefined) return;
    const turn = await this.#step(run);
    if (turn === undefined) return;
    if (turn.after === undefined) return this.add(run);
    const again = (): void => this.add(run);
    void turn.after.then(again, again);
  }
}

const RANKS = { high: 0, normal: 1, low: 2 } as const;

/**
 * Runs in fair order: organizations take turns, independent of their load. Within one, higher priority goes first, then
 * the earlier run. A run that returns for its next piece keeps its place, its organization goes behind the others.
 */
export class FairLine {
  /** Insertion order is the order of turns. */
  readonly #organizations = new Map<string, WaitingRun[]>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(run: WaitingRun): void {
    const line = this.#organizations.get(run.organizationId) ?? [];
    const at = line.findIndex((other) => goesBefore(run, other));
    line.splice(at === -1 ? line.length : at, 0, run);
    this.#organizations.set(run.organizationId, line);
    this.#size += 1;
  }

  take(): WaitingRun | undefined {
    const [first] = this.#organizations;
    if (first === undefined) return undefined;
    const [organizationId, line] = first;
    const run = line.shift();
    this.#organizations.delete(organizationId);
    if (line.length > 0) this.#organizations.set(organizationId, line);
    this.#size -= 1;
    return run;
  }

  /** Removes this run, whatever its place. */
  remove(id: string): void {
    for (const [organizationId, line] of this.#organizations) {
      const at = line.findIndex((run) => run.id === id);
      if (at === -1) continue;
      line.splice(at, 1);
      this.#size -= 1;
      if (line.length === 0) this.#organizations.delete(organizationId);
      return;
    }
  }
}

function goesBefore(run: WaitingRun, other: WaitingRun): boolean {
  const difference = RANKS[run.priority] - RANKS[other.priority];
  return difference === 0 ? run.acceptedAt < other.acceptedAt : difference < 0;
}
