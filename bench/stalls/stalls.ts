import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { assert } from '../../src/errors.js';
import type { Bench } from '../main.js';
import { percentile } from '../tools/statistics.js';
import type { LoadScene } from './load.js';
import { LOADS } from './loads.js';
import type { LoopFigures } from './loop-meter.js';

/*
 * How long does each kind of work delay other requests? The loads run one after the other, while a separate process
 * requests /healthz a hundred times a second. The latencies are those of a client, delays by other processes included.
 * The table also has the longest processor time that the server's event loop spent without a pause, which does not
 * depend on other processes. The last column compares both with the limits.
 *
 * npm run bench -- stalls [words of loads] [mebibytes=3072] [proteins=12000] [folder=.]
 */

const DEFAULTS = { mebibytes: '3072', proteins: '12000', folder: '.' };

/** Limits for every load. Unit  milliseconds */
const BARS = { p99Ms: 50, worstMs: 100 };

const HEADER =
  `${''.padEnd(52)}     /healthz, wall     |  event loop, wall  |  event loop, processor  | at most\n` +
  `${''.padEnd(52)}    p50    p99  worst  |     p99     worst  |     p99         worst   | ` +
  `${BARS.p99Ms} and ${BARS.worstMs} ms`;

interface Row extends LoopFigures {
  readonly load: string;
  readonly seconds: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly worstMs: number;
  readonly count: number;
}

export const run: Bench = async (options) => {
  const named = options.filter((option) => option.includes('=')).map((option) => option.split('=', 2));
  const settings = { ...DEFAULTS, ...(Object.fromEntries(named) as Partial<typeof DEFAULTS>) };
  const words = options.filter((option) => !option.includes('='));
  const chosen = LOADS.filter(({ name }) => words.length === 0 || words.some((word) => name.includes(word)));
  assert(chosen.length > 0, `expected a word of one of: ${LOADS.map(({ name }) => name).join('; ')}`);
  const server = await start<Omit<LoadScene, 'uploadMebibytes'>>('server.js', [
    settings.proteins,
    settings.folder,
  ]);
  const prober = fork(fileURLToPath(new URL('prober.js', import.meta.url)), [server.first.url]);
  try {
    const scene = { ...server.first, uploadMebibytes: Number(settings.mebibytes) };
    console.log(HEADER);
    const rows: Row[] = [];
    for (const load of chosen) {
      const work = await load.prepare(scene);
      rows.push(await measure(load.name, work, server.child, prober));
      console.log(describe(rows[rows.length - 1]));
    }
    return { bars: BARS, rows };
  } finally {
    prober.disconnect();
    server.child.send('stop');
    await once(server.child, 'exit');
  }
};

async function start<First>(file: string, options: readonly string[]) {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), options);
  const [first] = (await once(child, 'message')) as [First];
  return { child, first };
}

async function measure(
  load: string,
  work: () => Promise<void>,
  server: ChildProcess,
  prober: ChildProcess,
): Promise<Row> {
  await ask(prober, 'begin');
  server.send('begin');
  const startedAt = performance.now();
  await work();
  const seconds = (performance.now() - startedAt) / 1_000;
  const loop = await ask<LoopFigures>(server, 'end');
  const { latencies, failures } = await ask<{
    readonly latencies: readonly number[];
    readonly failures: number;
  }>(prober, 'end');
  assert(failures === 0, 'every health request is answered');
  return {
    load,
    seconds,
    p50Ms: percentile(latencies, 0.5),
    p99Ms: percentile(latencies, 0.99),
    worstMs: percentile(latencies, 1),
    count: latencies.length,
    ...loop,
  };
}

async function ask<Answer>(child: ChildProcess, question: string): Promise<Answer> {
  child.send(question);
  const [answer] = (await once(child, 'message')) as [Answer];
  return answer;
}

function describe(row: Row): string {
  const ms = (value: number, width: number): string => value.toFixed(1).padStart(width);
  const { p50Ms, p99Ms, worstMs, delayP99Ms, delayWorstMs, busyP99Ms, busyWorstMs } = row;
  return (
    `${row.load.padEnd(42)} ${row.seconds.toFixed(1).padStart(7)} s ` +
    `${ms(p50Ms, 7)}${ms(p99Ms, 7)}${ms(worstMs, 7)}  |` +
    `${ms(delayP99Ms, 8)}${ms(delayWorstMs, 10)}  |${ms(busyP99Ms, 8)}${ms(busyWorstMs, 14)}   | ${verdict(row)}`
  );
}

function verdict({ p99Ms, worstMs, busyP99Ms, busyWorstMs }: Row): string {
  if (p99Ms <= BARS.p99Ms && worstMs <= BARS.worstMs) return 'yes';
  return busyP99Ms <= BARS.p99Ms && busyWorstMs <= BARS.worstMs ? 'processor only' : 'NO';
}
