import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { loadConfig } from '../../src/config.js';
import { assert } from '../../src/errors.js';
import { seededRandom } from '../../src/random.js';
import { readProteins } from '../tools/proteins.js';
import { median, percentile } from '../tools/statistics.js';
import { serverProcess, type ServerProcess } from '../tools/server-process.js';

/*
 * Does the MSA server hold an afternoon of a lab? Clients send tickets, a tenth of them complexes of two to six chains,
 * while a person searches the same database, one search after the other. When half of the tickets are complete, the
 * server is killed and started again. Latencies of searches that the killed server did not answer are left out.
 *
 *   npm run bench -- msa door <database> <FASTA> [tickets, 100] [rounds, 3] [homolog source]
 */

const SEED = 40;
const LENGTHS = { from: 50, to: 2_000 };
const COMPLEX_SHARE = 10;
const CHAINS = { from: 2, to: 6 };
const CLIENTS = 8;
const PORT = 18_240;
const IDLE_SEARCHES = 20;
/** Pause of the person between an answer and the next search. */
const READING_MS = 1_000;
const POLL_MS = 2_000;
const RETRY_MS = 500;
const MEBIBYTE = 1024 ** 2;

interface Answered {
  readonly status: string;
  readonly id: string;
}

/** @param options  slug of the database, path of the proteins, number of tickets, rounds, name of a homolog source */
export async function measureDoor([database, fasta, count = '100', rounds = '3', source]: readonly (
  string | undefined
)[]) {
  if (database === undefined || fasta === undefined) {
    console.log('Skipped: npm run bench -- msa door <database> <FASTA> [tickets] [rounds] [source]');
    return { skipped: 'no database or no FASTA' };
  }
  const { list } = await readProteins(fasta);
  const { tickets, searches } = draw(
    list.map(({ sequence }) => sequence),
    Number(count),
  );
  const folder = await mkdtemp(join(tmpdir(), 'gloaming-bench-door-'));
  const colabfold = {
    database,
    rounds: Number(rounds),
    ...(source !== undefined && { homolog_source: source }),
  };
  const settings = join(folder, 'settings.json');
  await writeFile(settings, JSON.stringify({ colabfold }));
  const { packageFolder, indexesFolder } = loadConfig(process.env);
  const server = serverProcess(packageFolder, {
    GLOAMING_INDEXES: indexesFolder,
    GLOAMING_DATA: join(folder, 'data'),
    GLOAMING_CONFIG: settings,
    GLOAMING_PORT: String(PORT),
  });
  try {
    const [clientKey, personKey] = [await server.createKey('lab'), await server.createKey('person')];
    await server.start();
    const idle: number[] = [];
    while (idle.length < IDLE_SEARCHES) idle.push((await search(server, personKey, searches())) ?? Infinity);
    return await underLoad(server, tickets, idle, {
      clientKey,
      search: () => search(server, personKey, searches()),
    });
  } finally {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

interface Callers {
  readonly clientKey: string;
  /** Returns the latency; undefined if the server went away. */
  readonly search: () => Promise<number | undefined>;
}

async function underLoad(
  server: ServerProcess,
  tickets: readonly (readonly string[])[],
  idle: readonly number[],
  { clientKey, search: searchOnce }: Callers,
) {
  const startedAt = performance.now();
  const waiting = [...tickets];
  const durations: number[] = [];
  let restarts = 0;
  const client = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const sentAt = performance.now();
      await completeTicket(server, clientKey, next);
      durations.push((performance.now() - sentAt) / 1_000);
      if (durations.length % 10 === 0) console.log(`${durations.length} tickets are complete`);
    }
  };
  const restart = async (): Promise<void> => {
    while (durations.length < tickets.length / 2) await wait(RETRY_MS);
    await server.kill();
    await server.start();
    restarts += 1;
  };
  const loaded: number[] = [];
  const person = async (): Promise<void> => {
    while (durations.length < tickets.length) {
      const latency = await searchOnce();
      if (latency !== undefined) loaded.push(latency);
      await wait(READING_MS);
    }
  };
  await Promise.all([...Array.from({ length: CLIENTS }, client), restart(), person()]);
  const figures = {
    tickets: tickets.length,
    complexes: tickets.filter(({ length }) => length > 1).length,
    complete: durations.length,
    restarts,
    seconds: (performance.now() - startedAt) / 1_000,
    ticket_median_s: median(durations),
    ticket_p95_s: percentile(durations, 0.95),
    searches: loaded.length,
    idle_p50_ms: median(idle),
    idle_p95_ms: percentile(idle, 0.95),
    loaded_p50_ms: median(loaded),
    loaded_p95_ms: percentile(loaded, 0.95),
    p95_ratio: percentile(loaded, 0.95) / percentile(idle, 0.95),
    server_memory_mib: server.peakBytes() / MEBIBYTE,
  };
  console.table(figures);
  return figures;
}

/** Draws the chains of each ticket, and returns a source of other proteins for searches. */
function draw(all: readonly string[], count: number) {
  const random = seededRandom(SEED);
  const list = all.filter(({ length }) => length >= LENGTHS.from && length <= LENGTHS.to);
  const take = (): string => list.splice(random.below(list.length), 1)[0];
  const tickets = Array.from({ length: count }, (_, at) => {
    const chains = CHAINS.from + random.below(CHAINS.to - CHAINS.from + 1);
    return Array.from({ length: at % COMPLEX_SHARE === 0 ? chains : 1 }, take);
  });
  assert(list.length > 0, 'there are proteins of fitting lengths');
  return { tickets, searches: take };
}

/** Sends a search as a person does. Returns its latency in ms; undefined if the server went away. */
async function search(server: ServerProcess, key: string, sequence: string): Promise<number | undefined> {
  const sentAt = performance.now();
  const body = JSON.stringify({ query: { kind: 'protein_sequence', sequence }, limit: 50 });
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
  try {
    const response = await fetch(`${server.url}/v1/homology`, { method: 'POST', headers, body });
    await response.arrayBuffer();
    assert(response.status === 200, `a search is answered: ${response.status}`);
    return performance.now() - sentAt;
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

/** Sends a ticket, waits for it and checks its archive, as clients do: requests without an answer are sent again. */
async function completeTicket(server: ServerProcess, key: string, chains: readonly string[]): Promise<void> {
  const q = chains.map((sequence, at) => `>${101 + at}\n${sequence}\n`).join('');
  const submit = { method: 'POST', body: new URLSearchParams({ q, mode: 'env' }) };
  const send = async (path: string, init: RequestInit = {}): Promise<Response> => {
    for (; ; await wait(RETRY_MS)) {
      const headers = { Authorization: `Bearer ${key}` };
      const response = await fetch(`${server.url}/colabfold${path}`, { ...init, headers }).catch(
        () => undefined,
      );
      if (response !== undefined) return response;
    }
  };
  let ticket = (await (await send('/ticket/msa', submit)).json()) as Answered;
  for (; ticket.status !== 'COMPLETE'; await wait(POLL_MS)) {
    assert(ticket.status !== 'ERROR', `a ticket has no error: ${JSON.stringify(ticket)}`);
    const again = ticket.id === undefined ? send('/ticket/msa', submit) : send(`/ticket/${ticket.id}`);
    ticket = (await (await again).json()) as Answered;
  }
  for (; ; await wait(RETRY_MS)) {
    const archive = await send(`/result/download/${ticket.id}`);
    const bytes = Buffer.from(await archive.arrayBuffer());
    if (archive.status !== 200) continue;
    const text = gunzipSync(bytes).toString('latin1');
    for (const [at, sequence] of chains.entries())
      assert(text.includes(`>${101 + at}\n${sequence}\n`), 'the archive has the query');
    return;
  }
}
