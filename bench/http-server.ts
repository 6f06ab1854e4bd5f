import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { openAppliance } from '../src/appliance.js';
import { buildDemo, DEMO_SLUG } from '../src/build/demo.js';
import { simulateProteins } from '../src/build/simulate.js';
import { serve } from '../src/cli/serve.js';
import { loadConfig } from '../src/config.js';

/* The server that bench/http.ts asks, in a process of its own so that its processor time and memory are its own. */

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
const server = await serve(appliance, pino({ level: 'silent' }));

process.on('message', (question) => {
  if (question === 'usage') {
    const { user, system } = process.cpuUsage();
    process.send?.({ cpuMs: (user + system) / 1000, residentBytes: process.memoryUsage.rss() });
    return;
  }
  void server
    .stop(2_000)
    .then(() => appliance.close())
    .then(() => rm(folder, { recursive: true }))
    .then(() => process.disconnect());
});
process.send?.({ url: server.url, key, sequences: demo.proteins.map(({ sequence }) => sequence) });
