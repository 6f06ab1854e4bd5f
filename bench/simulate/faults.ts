import type { KillPoint, SimulatedDisk } from './disk.js';
import type { Expectations } from './expectations.js';
import type { Operator } from './operator.js';
import type { Manner, Receivers } from './receivers.js';
import type { Timeline } from './world.js';

export const MISFORTUNES = ['kill', 'full-disk', 'receivers', 'clock', 'second-owner'] as const;
export type Misfortune = (typeof MISFORTUNES)[number];

interface FaultScene {
  readonly timeline: Timeline;
  readonly operator: Operator;
  readonly disk: SimulatedDisk;
  readonly receivers: Receivers;
  readonly expectations: Expectations;
  readonly isOver: () => boolean;
  /** Kinds of faults that are switched off. */
  readonly calm: ReadonlySet<Misfortune>;
}

/** Time from the end of a full disk until refused usage entries are on disk. */
const BILLED_AFTER_MS = 2_000;
const KILL_EVERY_MS = 12_000;
const FULL_EVERY_MS = 40_000;
const FULL_FOR_MS = 15_000;
const MOOD_EVERY_MS = 6_000;
const JUMP_EVERY_MS = 50_000;
const SECOND_OWNER_EVERY_MS = 10_000;
/** Largest offset of the wall clock. It is below the day for which keys are stored. */
const JUMP_MAX_MS = 2 * 60 * 60 * 1000;
const MANNERS: readonly Manner[] = ['good', 'good', 'good', 'hanging', 'failing', 'forgetful'];
const KILL_POINTS: readonly (KillPoint | 'now')[] = ['now', 'before commit', 'after commit', 'after commit'];

/** Injects faults of the machine, its operator and its peers. */
export class Faults {
  readonly #scene: FaultScene;
  /** Time at which the disk last got room, and time of the last jump of the clock. */
  fullAtMs = -Infinity;
  jumpedAtMs = -Infinity;
  #filledAtMs = -Infinity;

  constructor(scene: FaultScene) {
    this.#scene = scene;
  }

  start(): void {
    const { timeline, disk } = this.#scene;
    this.#again(KILL_EVERY_MS, 'kill', () => this.#kill());
    this.#again(FULL_EVERY_MS, 'full-disk', () => {
      if (disk.isFull) return;
      disk.isFull = true;
      this.#filledAtMs = timeline.nowMs;
      timeline.after(timeline.between(500, FULL_FOR_MS), 'disk freed', () => this.freeDisk());
    });
    this.#again(MOOD_EVERY_MS, 'receivers', () => this.#changeMood());
    this.#again(JUMP_EVERY_MS, 'clock', () => this.#jump());
    this.#again(SECOND_OWNER_EVERY_MS, 'second-owner', () => this.#scene.operator.startSecond());
  }

  /** Last time at which the disk was full. Refusals until shortly afterwards may have this cause. */
  lastFullAtMs(): number {
    return this.#scene.disk.isFull ? this.#scene.timeline.nowMs : this.fullAtMs;
  }

  freeDisk(): void {
    const { disk, timeline } = this.#scene;
    if (!disk.isFull) return;
    disk.isFull = false;
    this.fullAtMs = timeline.nowMs;
  }

  /** Records that a kill loses recent unbilled answers, or all since the disk filled up. */
  forgive(): void {
    const { timeline, expectations } = this.#scene;
    const isFresh = timeline.nowMs - this.lastFullAtMs() < BILLED_AFTER_MS;
    expectations.forgive(isFresh ? timeline.nowMs - this.#filledAtMs : 0);
  }

  /** Ends all faults. */
  heal(): void {
    const { disk, receivers } = this.#scene;
    this.freeDisk();
    disk.killAt = undefined;
    receivers.heal();
  }

  async #kill(): Promise<void> {
    const { timeline, disk, operator } = this.#scene;
    const point = timeline.pick(KILL_POINTS);
    if (point === 'now') await operator.kill();
    else disk.killAt = { point, kill: () => operator.kill() };
  }

  #changeMood(): void {
    const { timeline, receivers } = this.#scene;
    const { hosts } = receivers;
    if (hosts.length === 0) return;
    const [host, manner] = [timeline.pick(hosts), timeline.pick(MANNERS)];
    timeline.note(`${host} is ${manner}`);
    receivers.behave(host, manner);
  }

  #jump(): void {
    const { timeline } = this.#scene;
    this.jumpedAtMs = timeline.nowMs;
    timeline.jumpMs = Math.round((2 * timeline.random.share() - 1) * JUMP_MAX_MS);
  }

  #again(everyMs: number, label: Misfortune, work: () => unknown): void {
    const { timeline, isOver, calm } = this.#scene;
    if (calm.has(label)) return;
    timeline.after(timeline.between(0, 3 * everyMs), label, async () => {
      if (isOver()) return;
      await work();
      this.#again(everyMs, label, work);
    });
  }
}
