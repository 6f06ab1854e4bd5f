import { assert } from '../../src/errors.js';
import { searchBody, startServer, stopServer, usageOf, type Figures, type Server } from './child.js';
import { openLoop } from './load.js';
import { median, percentile } from '../tools/statistics.js';

const RATE_PER_SECOND = 200;
const SECONDS = 20;
/** The two servers alternate in short turns, so that other processes disturb both equally. */
const TURNS = 4;
const WARM_UP_SECONDS = 5;

/** Measures small cached searches at a fixed rate, in turns with a bare Koa server. */
export async function cached(server: Server): Promise<Figures> {
  const body = searchBody(server.sequences[0], 1);
  const bare = await startServer('bare.js');
  try {
    const measure = async (of: Server, seconds: number): Promise<readonly number[]> => {
      const answers = await openLoop(of, RATE_PER_SECOND, seconds, () => body);
      assert(
        answers.every(({ status }) => status === 200),
        'every cached search is answered',
      );
      return answers.map(({ latencyMs }) => latencyMs);
    };
    // The first search opens the release and fills the cache.
    await openLoop(server, 1, 1, () => body);
    await measure(server, WARM_UP_SECONDS);
    await measure(bare, WARM_UP_SECONDS);
    const latencies: number[] = [];
    const bareLatencies: number[] = [];
    let cpuMs = 0;
    for (let turn = 0; turn < TURNS; turn += 1) {
      bareLatencies.push(...(await measure(bare, SECONDS / TURNS)));
      const before = await usageOf(server);
      latencies.push(...(await measure(server, SECONDS / TURNS)));
      cpuMs += (await usageOf(server)).cpuMs - before.cpuMs;
    }
    return report(latencies, bareLatencies, cpuMs / latencies.length);
  } finally {
    await stopServer(bare);
  }
}

function report(latencies: readonly number[], bare: readonly number[], cpuMs: number): Figures {
  const figures = {
    cached_rate_per_second: RATE_PER_SECOND,
    cached_p50_ms: median(latencies),
    cached_p99_ms: percentile(latencies, 0.99),
    cached_max_ms: percentile(latencies, 1),
    cached_cpu_ms_per_request: cpuMs,
    bare_p50_ms: median(bare),
    bare_p99_ms: percentile(bare, 0.99),
    bare_max_ms: percentile(bare, 1),
  };
  console.log(
    `cached searches at ${RATE_PER_SECOND}/s: p50 ${figures.cached_p50_ms.toFixed(2)} ms, ` +
      `p99 ${figures.cached_p99_ms.toFixed(2)} ms, longest ${figures.cached_max_ms.toFixed(1)} ms, ` +
      `${cpuMs.toFixed(2)} ms of processor time each`,
  );
  console.log(
    `a Koa server that only answers, in turns with it: p50 ${figures.bare_p50_ms.toFixed(2)} ms, ` +
      `p99 ${figures.bare_p99_ms.toFixed(2)} ms, longest ${figures.bare_max_ms.toFixed(1)} ms ` +
      `(p99 ${(figures.cached_p99_ms / figures.bare_p99_ms).toFixed(2)} × of it)`,
  );
  return figures;
}
