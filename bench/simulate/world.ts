import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { seededRandom, type Random } from '../../src/random.js';
import type { World } from '../../src/world.js';

/** A scheduled step. */
interface Entry {
  readonly atMs: number;
  readonly label: string;
  readonly work: () => unknown;
  isCancelled: boolean;
}

const BEGIN_MS = Date.UTC(2026, 0, 1);
/** Number of last steps to print after a violation. */
const REMEMBERED_STEPS = 40;
const SETTLE_MAX_TURNS = 1_000;

/** Sequence of all steps. The earliest step runs next, together with every microtask that it causes. */
export class Timeline {
  readonly random: Random;
  readonly #queue: Entry[] = [];
  readonly #digest = createHash('sha256');
  readonly #last: string[] = [];
  #nowMs = 0;
  #stepCount = 0;
  /** Offset of the wall clock from the simulated time. */
  jumpMs = 0;

  constructor(seed: number) {
    this.random = seededRandom(seed);
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  get stepCount(): number {
    return this.#stepCount;
  }

  get last(): readonly string[] {
    return this.#last;
  }

  /** Digest of all steps so far. Two simulations of one seed have the same digest. */
  digest(): string {
    return this.#digest.copy().digest('hex').slice(0, 16);
  }

  wallClock(): Date {
    return new Date(BEGIN_MS + this.jumpMs + this.#nowMs);
  }

  /** A random time between the two. Short times are more likely. */
  between(leastMs: number, mostMs: number): number {
    return leastMs + (mostMs - leastMs) * this.random.share() ** 2;
  }

  isChance(share: number): boolean {
    return this.random.share() < share;
  }

  pick<Item>(items: readonly Item[]): Item {
    return items[this.random.below(items.length)];
  }

  /** Adds a line to the digest and to the last steps. */
  note(text: string): void {
    const line = `${this.#nowMs.toFixed(3)} ${text}`;
    this.#digest.update(`${line}\n`);
    this.#last.push(line);
    if (this.#last.length > REMEMBERED_STEPS) this.#last.shift();
  }

  /** Schedules a step. The returned function cancels it. */
  after(ms: number, label: string, work: () => unknown): () => void {
    const entry = { atMs: this.#nowMs + Math.max(0, ms), label, work, isCancelled: false };
    let [low, high] = [0, this.#queue.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#queue[middle].atMs <= entry.atMs) low = middle + 1;
      else high = middle;
    }
    this.#queue.splice(low, 0, entry);
    return () => {
      entry.isCancelled = true;
    };
  }

  sleep(ms: number, label: string): Promise<void> {
    return new Promise((resolve) => void this.after(ms, label, resolve));
  }

  /** Runs the next step with everything that it causes. Returns false if no step is scheduled. */
  async step(): Promise<boolean> {
    let entry = this.#queue.shift();
    while (entry?.isCancelled) entry = this.#queue.shift();
    if (entry === undefined) return false;
    this.#stepCount += 1;
    this.#nowMs = Math.max(this.#nowMs, entry.atMs);
    this.note(entry.label);
    await entry.work();
    await settled();
    return true;
  }
}

/** Waits until no microtask, tick or immediate is left. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < SETTLE_MAX_TURNS; turn += 1) {
    await setImmediate();
    if (!process.getActiveResourcesInfo().includes('Immediate')) return;
  }
  throw new Error('A step never becomes idle.');
}

/** One life of the server, from its start to its stop or kill. After the end its steps do not run. */
export class Life {
  readonly timeline: Timeline;
  readonly world: World;
  readonly #ends = new Set<() => void>();
  readonly #threads = new Set<Promise<unknown>>();
  readonly #closings: (() => Promise<void>)[] = [];
  isAlive = true;

  constructor(timeline: Timeline) {
    this.timeline = timeline;
    this.world = Object.freeze(this.#makeWorld());
  }

  /** Resolves after this time if the server still lives. */
  later<Result>(ms: number, label: string, produce: () => Result): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.timeline.after(ms, label, () => {
        if (!this.isAlive) return;
        try {
          resolve(produce());
        } catch (error) {
          reject(error);
        }
      });
    });
  }

  /** Calls back at the kill. The returned function cancels the callback. */
  onEnd(callback: () => void): () => void {
    this.#ends.add(callback);
    return () => this.#ends.delete(callback);
  }

  /** Registers cleanup by the machine after a kill. */
  closes(close: () => Promise<void>): void {
    this.#closings.push(close);
  }

  /** Ends the life. Work of threads finishes, and its results are dropped. */
  async end(): Promise<void> {
    this.isAlive = false;
    for (const callback of this.#ends) callback();
    await Promise.allSettled(this.#threads);
    for (const close of this.#closings) await close();
  }

  #makeWorld(): World {
    const { timeline } = this;
    const { random } = timeline;
    const ifAlive = (work: () => void) => () => void (this.isAlive && work());
    const randomBytes = (count: number): Buffer =>
      Buffer.from(Uint8Array.from({ length: count }, () => random.below(256)));
    return {
      now: () => timeline.wallClock(),
      monotonicMs: () => timeline.nowMs,
      setTimer: (ms, work) => timeline.after(ms, 'timer', ifAlive(work)),
      every: (ms, work) => {
        let cancel = (): void => undefined;
        const arm = (): void => {
          cancel = timeline.after(ms, 'interval', () => {
            if (!this.isAlive) return;
            arm();
            work();
          });
        };
        arm();
        return () => cancel();
      },
      random: () => random.share(),
      randomBytes,
      newId: (prefix) => `${prefix}_${randomBytes(12).toString('hex')}`,
      aside: (work) => this.#aside(work),
    };
  }

  /** The step that receives the result waits for the thread, so that the thread's real duration has no effect. */
  #aside<Result>(work: Promise<Result>): Promise<Result> {
    const forgotten = work.then(
      () => undefined,
      () => undefined,
    );
    this.#threads.add(forgotten);
    void forgotten.then(() => this.#threads.delete(forgotten));
    return new Promise((resolve, reject) => {
      this.timeline.after(this.timeline.between(0.1, 5), 'thread', async () => {
        if (!this.isAlive) return;
        await work.then(resolve, reject);
      });
    });
  }
}
