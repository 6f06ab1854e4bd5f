// @module-tag long

import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openControlStore } from '#src/store/control-store.js';
import { UsageTable } from '#src/store/tables/usage.js';
import { serveInProcess } from '../../tools/served-process.js';
import { buildBench, call, type Bench } from '../runs/runs-served.js';
import { colabfoldClient, gather } from './colabfold-client.js';
import { repetitions } from '../../tools/suite/repetitions.js';

/* GLOAMING_COLABFOLD_KILLS=24 for the long version. */

const QUERIES = 100;
/** Number of kills. The server is killed each time as many further tickets are complete. */
const KILLS = repetitions('GLOAMING_COLABFOLD_KILLS', 3, 24);
const TICKETS_PER_KILL = Math.floor(QUERIES / (KILLS + 1));
const CLIENTS = 8;

let bench: Bench;
let environment: Record<string, string>;
let url: string | undefined;
let server: ChildProcess;

beforeAll(async () => {
  bench = await buildBench();
  const settings = join(bench.folder, 'colabfold.json');
  writeFileSync(
    settings,
    JSON.stringify({ colabfold: { database: 'demo', max_evalue: null, max_sequences: 40 } }),
  );
  environment = { ...bench.environment, GLOAMING_CONFIG: settings };
  await startServer();
}, 60_000);
afterAll(() => {
  server?.kill('SIGKILL');
  bench.remove();
});

async function startServer(): Promise<void> {
  const started = serveInProcess(environment);
  server = started.server;
  url = await started.listening;
}

it(
  `completes each of ${QUERIES} tickets once, however often the server is killed meanwhile`,
  async () => {
    const queries = bench.sequences.slice(0, QUERIES);
    const headers = { Authorization: `Basic ${Buffer.from(`x:${bench.keys.lab}`).toString('base64')}` };
    const client = colabfoldClient(() => url && `${url}/colabfold`);
    const waiting = [...queries.entries()];
    const answers = new Map<number, { readonly id: string; readonly text: string }>();
    const work = async (): Promise<void> => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const [at, sequence] = next;
        const { id, files } = await client.run({ sequences: [sequence], mode: 'env', headers });
        answers.set(at, { id, text: files.get('uniref.a3m')! });
      }
    };
    let killCount = 0;
    const kill = async (): Promise<void> => {
      for (let next = 1; next <= KILLS; next += 1) {
        while (answers.size < next * TICKETS_PER_KILL) await wait(5);
        url = undefined;
        server.kill('SIGKILL');
        await once(server, 'exit');
        killCount += 1;
        await startServer();
      }
    };
    await Promise.all([kill(), ...Array.from({ length: CLIENTS }, work)]);

    expect(killCount).toBe(KILLS);
    expect(answers.size).toBe(QUERIES);
    for (const [at, { text }] of answers) expect(gather(text).get(101)?.[1]).toBe(queries[at]);
    expect(new Set([...answers.values()].map(({ id }) => id)).size).toBe(QUERIES);
    // No run was made twice: a repeated request for each sequence returns the same ticket.
    for (const [at, sequence] of queries.entries()) {
      const ticket = await client.submit({ sequences: [sequence], mode: 'env', headers });
      expect(ticket).toMatchObject({ status: 'COMPLETE', id: answers.get(at)!.id });
    }
    expect(await runsOf(bench.keys.lab)).toEqual(Array.from({ length: QUERIES }, () => 'completed'));
    server.kill('SIGKILL');
    await once(server, 'exit');
    const store = openControlStore(environment.GLOAMING_DATA!);
    expect(new UsageTable(store).totals('lab', 'homology.search')).toMatchObject({ units: QUERIES });
    await store.close();
  },
  120_000 + 20_000 * KILLS,
);

/** States of all runs of the organization. */
async function runsOf(key: string): Promise<readonly string[]> {
  const states: string[] = [];
  let cursor = '';
  do {
    const { body } = await call(`${url}/v1/runs?limit=100${cursor}`, 'GET', key, {});
    states.push(...(body.data as readonly { readonly status: string }[]).map(({ status }) => status));
    cursor = body.next_cursor === null ? '' : `&cursor=${encodeURIComponent(String(body.next_cursor))}`;
  } while (cursor !== '');
  return states;
}
