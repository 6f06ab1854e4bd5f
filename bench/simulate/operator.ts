import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Refusal } from '../../src/errors.js';
import { ownDataFolder } from '../../src/store/owner.js';
import type { Timeline } from './world.js';
import { Life } from './world.js';
import { SimulatedAppliance, type Machine } from './appliance.js';

/** Larger than every pid of Linux. */
const ENDED_PID = 2 ** 22 + 1;

/** Leaves the lock as a killed process does. All simulated servers are one process. */
function abandonDataFolder(folder: string): Promise<void> {
  writeFileSync(join(folder, 'server.lock'), JSON.stringify({ pid: ENDED_PID }));
  return Promise.resolve();
}

/** A violated invariant. */
export class Broken extends Error {
  override readonly name = 'Broken';
}

const RESTART_MS = 5_000;

/** Starts the server, and restarts it after each kill. */
export class Operator {
  readonly #timeline: Timeline;
  readonly #machine: Machine;
  /** Called between two lives, while no process has the control store open. */
  readonly #onDeath: () => Promise<void>;
  #life: Life | undefined;
  /** Present while the server runs. */
  server: SimulatedAppliance | undefined;
  killCount = 0;
  servesSinceMs = Infinity;

  constructor(timeline: Timeline, machine: Machine, onDeath: () => Promise<void>) {
    this.#timeline = timeline;
    this.#machine = machine;
    this.#onDeath = onDeath;
  }

  start(): void {
    const life = new Life(this.#timeline);
    this.#life = life;
    this.#own(life)
      .then(() => SimulatedAppliance.boot(life, this.#machine))
      .then(
        (server) => {
          this.#timeline.note('serves');
          this.server = server;
          this.servesSinceMs = this.#timeline.nowMs;
        },
        (error: unknown) => {
          this.#machine.onFault(error);
          this.#timeline.note('does not start');
          this.#timeline.after(0, 'exit', () => this.kill());
        },
      );
  }

  /** Starts another server of the same data folder, which must be refused while this one runs. */
  startSecond(): void {
    const life = this.#life;
    if (life === undefined || this.server === undefined) return;
    const { folder, onFault } = this.#machine;
    life.world.aside(ownDataFolder(folder)).then(
      () => onFault(new Broken('Two servers own the data folder.')),
      (error: unknown) => {
        const isRefused = error instanceof Refusal && error.code === 'data_folder_in_use';
        if (!isRefused) onFault(error);
        this.#timeline.note('a second server is refused');
      },
    );
  }

  /** Makes the server the owner of its data folder. After its end, the lock is that of an ended process. */
  async #own(life: Life): Promise<void> {
    const { folder } = this.#machine;
    life.closes(() => abandonDataFolder(folder));
    await life.world.aside(ownDataFolder(folder));
  }

  /** Kills the server at once, like SIGKILL. The server restarts after a random time. */
  async kill(): Promise<void> {
    const life = this.#life;
    if (life === undefined) return;
    this.#life = undefined;
    this.server = undefined;
    this.killCount += 1;
    this.servesSinceMs = Infinity;
    await life.end();
    await this.#onDeath();
    this.#timeline.after(this.#timeline.between(10, RESTART_MS), 'restart', () => this.start());
  }

  /** Stops the server without a restart. */
  async stop(): Promise<void> {
    const life = this.#life;
    this.#life = undefined;
    this.server = undefined;
    await life?.end();
  }

  /** Returns the result of a request, or undefined if the server is dead or dies before it answers. */
  async connect<Result>(ask: (server: SimulatedAppliance) => Promise<Result>): Promise<Result | undefined> {
    const { server } = this;
    const life = this.#life;
    if (server === undefined || life === undefined) return undefined;
    return new Promise((resolve, reject) => {
      const hangUp = life.onEnd(() => resolve(undefined));
      ask(server).then(resolve, reject).finally(hangUp);
    });
  }
}
