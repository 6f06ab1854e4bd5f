import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { seededRandom, type Random } from '../../src/random.js';
import type { World } from '../../src/world.js';

/** Something that will happen. */
interface Entry {
  readonly atMs: number;
  readonly label: string;
  readonly work: () => unknown;
  isCancelled: boolean;
}

const BEGIN_MS = Date.UTC(2026, 0, 1);
/** Steps that are told when something breaks. */
const REMEMBERED_STEPS = 40;
const SETTLE_MAX_TURNS = 1_000;

/** The one line of all that happens: what is due next happens next, and then whatever follows from it at once. */
export class Timeline {
  readonly random: Random;
  readonly #queue: Entry[] = [];
  readonly #digest = createHash('sha256');
  readonly #last: string[] = [];
  #nowMs = 0;
  #stepCount = 0;
  /** By how much people have set the wall clock forth or back. */
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

  /** Of all that has happened: two runs of one seed have the same. */
  digest(): string {
    return this.#digest.copy().digest('hex').slice(0, 16);
  }

  wallClock(): Date {
    return new Date(BEGIN_MS + this.jumpMs + this.#nowMs);
  }

  /** Between the two, the short ones being likelier. */
  between(leastMs: number, mostMs: number): number {
    return leastMs + (mostMs - leastMs) * this.random.share() ** 2;
  }

  isChance(share: number): boolean {
    return this.random.share() < share;
  }

  pick<Item>(items: readonly Item[]): Item {
    return items[this.random.below(items.length)];
  }

  /** Takes place in the digest and among the last steps. */
  note(text: string): void {
    const line = `${this.#nowMs.toFixed(3)} ${text}`;
    this.#digest.update(`${line}\n`);
    this.#last.push(line);
    if (this.#last.length > REMEMBERED_STEPS) this.#last.shift();
  }

  /** The result takes it back. */
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

  /** The next thing happens, with all that follows from it at once; false where nothing will happen any more. */
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

/** Nothing is left that goes on by itself: no microtask, no tick, no immediate. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < SETTLE_MAX_TURNS; turn += 1) {
    await setImmediate();
    if (!process.getActiveResourcesInfo().includes('Immediate')) return;
  }
  throw new Error('Something goes on for ever without waiting for anything.');
}

/** One life of the server, from its start to its stop or its kill: after that nothing of it happens any more. */
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

  /** Heard of in so long a time, if the server still lives. */
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

  /** Told of the kill; the result takes it back. */
  onEnd(told: () => void): () => void {
    this.#ends.add(told);
    return () => this.#ends.delete(told);
  }

  /** What the machine, not the server, does after a kill. */
  closes(close: () => Promise<void>): void {
    this.#closings.push(close);
  }

  /** What threads were at comes to its end, unheard. */
  async end(): Promise<void> {
    this.isAlive = false;
    for (const told of this.#ends) told();
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

  /** The thread is waited for in the step that hears of it, so that its own time decides nothing. */
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
