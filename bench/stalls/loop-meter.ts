import { openSync, readSync } from 'node:fs';
import { monitorEventLoopDelay, type IntervalHistogram } from 'node:perf_hooks';

/** State of an event loop during a period. Unit  milliseconds */
export interface LoopFigures {
  /** Delay of a timer. Other processes on the machine add to it. */
  readonly delayP99Ms: number;
  readonly delayWorstMs: number;
  /** Processor time of the loop's thread between two samples. Other processes do not add to it. */
  readonly busyP99Ms: number;
  readonly busyWorstMs: number;
  /** Total processor time of the loop's thread. */
  readonly cpuMs: number;
}

const LOOK_INTERVAL_MS = 2;
const DELAY_RESOLUTION_MS = 2;
const NANOSECONDS = 1e6;

/**
 * Samples the event loop of this process. A task of 30 ms processor time shows as 30 ms plus at most one sampling
 * interval, on idle and on busy machines.
 * Source  proc(5), `/proc/<pid>/schedstat`: the first number is the main thread's processor time in nanoseconds; the
 *         kernel updates it at its own ticks, 1 to 4 ms apart
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
