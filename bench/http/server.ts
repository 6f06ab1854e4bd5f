import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serve } from '../../src/cli/serve/serve.js';
import { createLog } from '../../src/cli/serve/log.js';
import { openDemoAppliance } from '../tools/demo-appliance.js';

/* The server of bench/http/http.ts, in a process with its own processor time and memory. */

const PROTEINS = 400;

const folder = await mkdtemp(join(tmpdir(), 'gloaming-bench-http-'));
const { appliance, proteins, key } = await openDemoAppliance(folder, PROTEINS);
const server = await serve(appliance, createLog('info', join(folder, 'log')));

process.on('message', (question) => {
  if (question === 'usage') {
    const { user, system } = process.cpuUsage();
    const { rss, heapUsed } = process.memoryUsage();
    process.send?.({ cpuMs: (user + system) / 1000, residentBytes: rss, heapBytes: heapUsed });
    return;
  }
  void server
    .stop(2_000)
    .then(() => appliance.close())
    .then(() => rm(folder, { recursive: true }))
    .then(() => process.disconnect());
});
// Ends the server when the bench ends or fails.
process.once('disconnect', () => process.exit());
process.send?.({ url: server.url, key, sequences: proteins.map(({ sequence }) => sequence) });
