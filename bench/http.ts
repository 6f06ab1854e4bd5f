import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { assert } from '../src/errors.js';
import { openLoop, type Answered, type LoadTarget } from './http-load.js';
import type { Bench } from './main.js';
import { median, percentile } from './search-statistics.js';

/*
 * What does the shell around a search cost? Small cached searches at a fixed rate; idle connections; and ten times
 * as many new searches as can be answered, where what is let in must stay quick and the rest be refused at once.
 */

const RATE_PER_SECOND = 200;
const SECONDS = 20;
const IDLE_CONNECTIONS = 2_000;
const OVERLOAD = 10;
const OVERLOAD_SECONDS = 15;
/** Until the burst that filled the queue has been served. */
const SETTLED_MS = 4_000;

interface Server extends LoadTarget {
  readonly sequences: readonly string[];
  readonly child: ChildProcess;
}

interface Usage {
  readonly cpuMs: number;
  readonly residentBytes: number;
}

export const run: Bench = async () => {
  const child = fork(fileURLToPath(new URL('./http-server.js', import.meta.url)));
  const [started] = (await once(child, 'message')) as [Omit<Server, 'child'>];
  const server = { ...started, child };
  try {
    return { ...(await cached(server)), ...(await idle(server)), ...(await overloaded(server)) };
  } finally {
    child.send('stop');
    await once(child, 'exit');
  }
};

async function cached(server: Server): Promise<Readonly<Record<string, number>>> {
  const body = searchBody(server.sequences[0], 1);
  await openLoop(server, RATE_PER_SECOND, 2, () => body);
  const before = await usageOf(server);
  const answers = await openLoop(server, RATE_PER_SECOND, SECONDS, () => body);
  const after = await usageOf(server);
  assert(
    answers.every(({ status }) => status === 200),
    'every cached search is answered',
  );
  const latencies = answers.map(({ latencyMs }) => latencyMs);
  const figures = {
    cached_rate_per_second: RATE_PER_SECOND,
    cached_p50_ms: median(latencies),
    cached_p99_ms: percentile(latencies, 0.99),
    cached_cpu_ms_per_request: (after.cpuMs - before.cpuMs) / answers.length,
    resident_growth_bytes: after.residentBytes - before.residentBytes,
  };
  console.log(
    `cached searches at ${RATE_PER_SECOND}/s: p50 ${figures.cached_p50_ms.toFixed(2)} ms, ` +
      `p99 ${figures.cached_p99_ms.toFixed(2)} ms, ` +
      `${figures.cached_cpu_ms_per_request.toFixed(2)} ms of processor time each`,
  );
  return figures;
}

async function idle(server: Server): Promise<Readonly<Record<string, number>>> {
  const { hostname, port } = new URL(server.url);
  const before = await usageOf(server);
  const sockets: Socket[] = [];
  for (let count = 0; count < IDLE_CONNECTIONS; count += 1) {
    const socket = connect(Number(port), hostname);
    sockets.push(socket);
    socket.write('GET /healthz HTTP/1.1\r\nHost: bench\r\n\r\n');
    await once(socket, 'data');
  }
  const after = await usageOf(server);
  assert(
    sockets.every((socket) => socket.readyState === 'open'),
    'idle connections are held',
  );
  for (const socket of sockets) socket.destroy();
  const bytes = Math.max(0, after.residentBytes - before.residentBytes) / IDLE_CONNECTIONS;
  console.log(`${IDLE_CONNECTIONS} idle connections: ${(bytes / 1024).toFixed(1)} KiB each`);
  return { idle_connections: IDLE_CONNECTIONS, idle_bytes_per_connection: bytes };
}

async function overloaded(server: Server): Promise<Readonly<Record<string, number>>> {
  // Each body is a query of its own: nothing comes from the cache.
  let next = 0;
  const fresh = (): string => searchBody(rotated(server.sequences, (next += 1)), 10);
  const alone = await openLoop(server, 5, 4, fresh);
  const executionMs = median(alone.map(({ latencyMs }) => latencyMs));
  const capacity = 1_000 / executionMs;
  const normal = await openLoop(server, capacity / 2, 5, fresh);
  const flood = await openLoop(server, capacity * OVERLOAD, OVERLOAD_SECONDS, fresh);
  const after = await openLoop(server, capacity / 2, 4, fresh);
  const settled = flood.filter(({ dueMs }) => dueMs > SETTLED_MS);
  const accepted = settled.filter(({ status }) => status === 200);
  const refused = settled.filter(({ status }) => status === 429);
  assert(
    accepted.length + refused.length === settled.length,
    'an overload gives answers and 429, nothing else',
  );
  const [usual, busy] = [latencyOf(normal), latencyOf(accepted)];
  const recoveredMs = Math.max(0, ...after.filter(({ status }) => status !== 200).map(({ dueMs }) => dueMs));
  console.log(
    `overload at ${(capacity * OVERLOAD).toFixed(0)}/s: accepted p50 ${busy.toFixed(1)} ms ` +
      `(${(busy / usual).toFixed(2)} × of ${usual.toFixed(1)} ms), ${refused.length} of ${settled.length} refused ` +
      `with p50 ${latencyOf(refused).toFixed(1)} ms, recovered after ${recoveredMs.toFixed(0)} ms`,
  );
  return {
    normal_p50_ms: usual,
    overload_rate_per_second: capacity * OVERLOAD,
    overload_accepted: accepted.length,
    overload_refused: refused.length,
    overload_p50_ratio: busy / usual,
    overload_p95_ms: percentile(
      accepted.map(({ latencyMs }) => latencyMs),
      0.95,
    ),
    refusal_p50_ms: latencyOf(refused),
    recovered_ms: recoveredMs,
  };
}

function latencyOf(answers: readonly Answered[]): number {
  return answers.length === 0 ? 0 : median(answers.map(({ latencyMs }) => latencyMs));
}

function searchBody(sequence: string | undefined, limit: number): string {
  return JSON.stringify({ query: { kind: 'protein_sequence', sequence }, limit });
}

/** A protein with its first residues moved to its end: another query of the same cost. */
function rotated(sequences: readonly string[], index: number): string {
  const sequence = sequences[index % sequences.length];
  const cut = 1 + (Math.floor(index / sequences.length) % (sequence.length - 1));
  return sequence.slice(cut) + sequence.slice(0, cut);
}

async function usageOf({ child }: Server): Promise<Usage> {
  child.send('usage');
  const [usage] = (await once(child, 'message')) as [Usage];
  return usage;
}
