import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openAppliance } from '../../src/appliance.js';
import { buildDemo, DEMO_SLUG } from '../../src/demo/demo.js';
import { simulateProteins } from '../../src/demo/simulate.js';
import { serve } from '../../src/cli/serve/serve.js';
import { createLog } from '../../src/cli/serve/log.js';
import { loadConfig } from '../../src/config.js';

/* The server of bench/http/http.ts, in a process with its own processor time and memory. */

const PROTEINS = 400;

const folder = await mkdtemp(join(tmpdir(), 'gloaming-bench-http-'));
const appliance = await openAppliance(
  loadConfig({
    ...process.env,
    GLOAMING_INDEXES: join(folder, 'i'),
    GLOAMING_DATA: join(folder, 'd'),
    GLOAMING_PORT: '0',
    GLOAMING_ENCODER: 'baseline-1',
  }),
);
const encoder = await appliance.loadEncoder('baseline-1');
const demo = simulateProteins(1, PROTEINS);
const { release } = await buildDemo(demo, encoder, appliance.config.indexesFolder);
await encoder.close();
const publishedAt = new Date().toISOString();
await appliance.releases.publish({
  id: release.id,
  slug: DEMO_SLUG,
  publishedAt,
  manifest: release.manifest,
});
const { key } = await appliance.keys.create('bench', 'bench');
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
process.send?.({ url: server.url, key, sequences: demo.proteins.map(({ sequence }) => sequence) });
