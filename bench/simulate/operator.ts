import type { Timeline } from './world.js';
import { Life } from './world.js';
import { SimulatedAppliance, type Machine } from './appliance.js';

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
    SimulatedAppliance.boot(life, this.#machine).then(
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
