import { openSync, readSync } from 'node:fs';
import { monitorEventLoopDelay, type IntervalHistogram } from 'node:perf_hooks';

/** How an event loop fared between two moments. Unit  milliseconds */
export interface LoopFigures {
  /** Of the delay of a timer: the neighbours' share of the machine included. */
  readonly delayP99Ms: number;
  readonly delayWorstMs: number;
  /** Processor time of the loop's own thread between two looks: no neighbour can lengthen it. */
  readonly busyP99Ms: number;
  readonly busyWorstMs: number;
  /** All the processor time of that thread. */
  readonly cpuMs: number;
}

const LOOK_INTERVAL_MS = 2;
const DELAY_RESOLUTION_MS = 2;
const NANOSECONDS = 1e6;

/**
 * Watches the event loop of this process. A stretch that holds the loop for 30 ms of processor time shows as 30 ms and
 * up to one look more, on an idle machine and on a crowded one.
 * Source  proc(5), `/proc/<pid>/schedstat`: its first number is the main thread's processor time in nanoseconds; the
 *         system brings it up to date at its own ticks, 1 to 4 ms apart
 */
export class LoopMeter {
  readonly #file = openSync('/proc/self/schedstat', 'r');
  readonly #line = Buffer.alloc(64);
  #looking: NodeJS.Timeout | undefined;
  #delays: IntervalHistogram | undefined;
  #startMs = 0;
  #lastMs = 0;
  #busyMs: number[] = [];

  begin(): void {
    this.#busyMs = [];
    this.#startMs = this.#cpuMs();
    this.#lastMs = this.#startMs;
    this.#looking = setInterval(() => this.#look(), LOOK_INTERVAL_MS);
    this.#delays = monitorEventLoopDelay({ resolution: DELAY_RESOLUTION_MS });
    this.#delays.enable();
  }

  end(): LoopFigures {
    clearInterval(this.#looking);
    this.#look();
    const delays = this.#delays as IntervalHistogram;
    delays.disable();
    const busy = this.#busyMs.sort((a, b) => a - b);
    return {
      delayP99Ms: delays.percentile(99) / NANOSECONDS,
      delayWorstMs: delays.max / NANOSECONDS,
      busyP99Ms: busy[Math.floor(0.99 * (busy.length - 1))],
      busyWorstMs: busy[busy.length - 1],
      cpuMs: this.#lastMs - this.#startMs,
    };
  }

  #look(): void {
    const now = this.#cpuMs();
    this.#busyMs.push(now - this.#lastMs);
    this.#lastMs = now;
  }

  #cpuMs(): number {
    const length = readSync(this.#file, this.#line, 0, this.#line.length, 0);
    return Number(this.#line.toString('latin1', 0, length).split(' ')[0]) / NANOSECONDS;
  }
}
