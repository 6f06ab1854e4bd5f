import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { checkStore } from '../../src/store/check/check.js';
import { FINDING_KINDS } from '../../src/store/check/findings.js';
import { openSnapshot } from '../../src/store/snapshot.js';
import { failureOf } from '../../src/http/steps/failure.js';
import { Client } from './actors.js';
import type { Machine } from './appliance.js';
import { SimulatedDisk } from './disk.js';
import { Expectations } from './expectations.js';
import { Faults, type Misfortune } from './faults.js';
import { checkRest, Invariants, type Seen } from './invariants.js';
import { Broken, Operator } from './operator.js';
import { Receivers } from './receivers.js';
import { Timeline } from './world.js';

export interface Verdict {
  readonly seed: number;
  readonly stepCount: number;
  readonly commitCount: number;
  readonly killCount: number;
  readonly eventCount: number;
  /** Digest of the whole simulation. Equal seeds have equal digests. */
  readonly digest: string;
  /** The violated invariant with the last steps before it; absent if all held. */
  readonly broken?: { readonly error: unknown; readonly last: readonly string[] };
}

const ORGANIZATIONS = ['ash', 'birch', 'cedar'] as const;
const CLIENTS_PER_ORGANIZATION = 2;
/** Duration with faults. Unit  simulated milliseconds */
const FAULTY_MS = 60_000;
const INSPECTION_EVERY_MS = 500;
/** Jump of the wall clock that skips the long backoff of deliveries. */
const HEALING_JUMP_MS = 3 * 60 * 60 * 1000;
const HEALING_ROUNDS = 12;
const HEALING_ROUND_MS = 30_000;
/** In memory, so that no real disk delays the simulation. */
const MEMORY_FOLDER = '/dev/shm';
const STEPS_MAX_COUNT = 200_000;
/** Time in which work may report a full disk after the disk has room. */
const EXCUSED_MS = 500;

/** Simulates one seed. Errors  those of a broken simulation, not of a violated invariant */
export async function simulateSeed(
  seed: number,
  calm: ReadonlySet<Misfortune> = new Set(),
): Promise<Verdict> {
  const folder = mkdtempSync(join(MEMORY_FOLDER, 'gloaming-simulate-'));
  const simulation = new Simulation(seed, folder, calm);
  const die = (error: unknown): void => simulation.fail(new Broken('The server died.', { cause: error }));
  process.on('unhandledRejection', die);
  // Work is divided into slices of a few milliseconds. By the real clock, their number would depend on the load.
  const now = performance.now.bind(performance);
  performance.now = () => simulation.nowMs;
  try {
    return await simulation.live();
  } finally {
    performance.now = now;
    process.off('unhandledRejection', die);
    rmSync(folder, { recursive: true, force: true });
  }
}

class Simulation {
  readonly #seed: number;
  readonly #folder: string;
  readonly #timeline: Timeline;
  readonly #disk: SimulatedDisk;
  readonly #receivers: Receivers;
  readonly #operator: Operator;
  readonly #expectations: Expectations;
  readonly #faults: Faults;
  readonly #seen: Seen = { events: new Set(), deliveries: new Map() };
  readonly #invariants: Invariants;
  #isOver = false;
  #broken: Verdict['broken'];

  get nowMs(): number {
    return this.#timeline.nowMs;
  }

  constructor(seed: number, folder: string, calm: ReadonlySet<Misfortune>) {
    this.#seed = seed;
    this.#folder = folder;
    const timeline = new Timeline(seed);
    const isOver = (): boolean => this.#isOver;
    this.#timeline = timeline;
    this.#disk = new SimulatedDisk(timeline);
    this.#receivers = new Receivers(timeline);
    this.#expectations = new Expectations(ORGANIZATIONS, () => timeline.nowMs);
    const { expectations, receivers, disk } = this.#parts();
    const onFault = (error: unknown): void => this.#fault(error);
    const machine: Machine = { folder, disk, receivers, onFault };
    const operator = new Operator(timeline, machine, () => this.#afterDeath());
    this.#operator = operator;
    this.#faults = new Faults({ timeline, operator, disk, receivers, expectations, isOver, calm });
    this.#invariants = new Invariants({
      mirror: disk.mirror,
      expectations,
      receivers,
      seen: this.#seen,
      nowMs: () => timeline.nowMs,
      calmSinceMs: () =>
        Math.max(operator.servesSinceMs, this.#faults.lastFullAtMs(), this.#faults.jumpedAtMs),
    });
    disk.onCommit = () => this.#inspect();
    const fullAtMs = (): number => this.#faults.lastFullAtMs();
    const scene = {
      timeline,
      operator,
      expectations,
      receivers,
      organizations: ORGANIZATIONS,
      fullAtMs,
      isOver,
    };
    for (const name of ORGANIZATIONS) {
      for (let number = 1; number <= CLIENTS_PER_ORGANIZATION; number += 1) {
        new Client(scene, name, `${name}-${number}`).live().catch((error: unknown) => this.fail(error));
      }
    }
  }

  fail(error: unknown): void {
    this.#broken ??= { error, last: [...this.#timeline.last] };
  }

  async live(): Promise<Verdict> {
    const timeline = this.#timeline;
    this.#operator.start();
    this.#faults.start();
    this.#inspectRegularly();
    try {
      await this.#stepUntil(() => timeline.nowMs > FAULTY_MS);
      this.#isOver = true;
      this.#faults.heal();
      for (let round = 0; round < HEALING_ROUNDS && this.#broken === undefined; round += 1) {
        const endMs = timeline.nowMs + HEALING_ROUND_MS;
        await this.#stepUntil(() => timeline.nowMs > endMs);
        timeline.jumpMs += HEALING_JUMP_MS;
      }
      this.#checkRest();
    } catch (error) {
      this.fail(error);
    }
    await this.#operator.stop();
    await this.#afterDeath();
    return {
      seed: this.#seed,
      stepCount: timeline.stepCount,
      commitCount: this.#disk.commitCount,
      killCount: this.#operator.killCount,
      eventCount: this.#seen.events.size,
      digest: timeline.digest(),
      ...(this.#broken !== undefined && { broken: this.#broken }),
    };
  }

  #parts(): { expectations: Expectations; receivers: Receivers; disk: SimulatedDisk } {
    return { expectations: this.#expectations, receivers: this.#receivers, disk: this.#disk };
  }

  async #stepUntil(isThere: () => boolean): Promise<void> {
    while (!isThere() && this.#broken === undefined) {
      if (this.#timeline.stepCount > STEPS_MAX_COUNT) throw new Broken('The simulation does not end.');
      if (!(await this.#timeline.step())) throw new Broken('No step is scheduled.');
    }
  }

  /** Checks the invariants after every commit, and at an interval without commits. */
  #inspect(): void {
    if (this.#operator.server === undefined) return;
    try {
      this.#invariants.check();
    } catch (error) {
      this.fail(error);
    }
  }

  #inspectRegularly(): void {
    this.#timeline.after(INSPECTION_EVERY_MS, 'inspection', () => {
      this.#inspect();
      this.#inspectRegularly();
    });
  }

  /** Records a failure that the server reports. Only a full disk excuses it. */
  #fault(error: unknown): void {
    const isFull = failureOf(error).code === 'storage_unavailable';
    const isExcused = isFull && this.#faults.lastFullAtMs() >= this.#timeline.nowMs - EXCUSED_MS;
    if (!isExcused) this.fail(new Broken('The server reports an internal failure.', { cause: error }));
  }

  /** Checks the whole data folder like fsck, between two lives. */
  async #afterDeath(): Promise<void> {
    this.#faults.forgive();
    const snapshot = await openSnapshot(this.#folder);
    try {
      const { findings } = await checkStore(snapshot, this.#folder, this.#timeline.wallClock());
      const damage = findings.find(({ kind }) => FINDING_KINDS[kind].level === 'damage');
      if (damage !== undefined) this.fail(new Broken(`${damage.kind}: ${damage.subject}: ${damage.message}`));
    } finally {
      await snapshot.close();
    }
  }

  #checkRest(): void {
    const { server } = this.#operator;
    if (this.#broken !== undefined) return;
    if (server === undefined) throw new Broken('The server no longer starts.');
    checkRest(server.tables, this.#expectations, this.#seen, this.#receivers);
  }
}
