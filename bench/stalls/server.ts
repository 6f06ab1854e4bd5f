import { mkdtemp, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pino } from 'pino';
import { openAppliance } from '../../src/appliance.js';
import { buildDemo, DEMO_SLUG } from '../../src/demo/demo.js';
import { simulateProteins } from '../../src/demo/simulate.js';
import { serve } from '../../src/cli/serve/serve.js';
import { loadConfig } from '../../src/config.js';
import { LoopMeter } from './loop-meter.js';

/* The server under load in bench/stalls/stalls.ts, in a process with its own event loop. */

const [proteinCount, place] = process.argv.slice(2);
const folder = await mkdtemp(join(resolve(place), '.bench-stalls-'));
const appliance = await openAppliance(
  loadConfig({
    ...process.env,
    GLOAMING_INDEXES: join(folder, 'i'),
    GLOAMING_DATA: join(folder, 'd'),
    GLOAMING_PORT: '0',
    GLOAMING_POSTGRES_PORT: '0',
    GLOAMING_ENCODER: 'baseline-1',
  }),
);
const encoder = await appliance.loadEncoder('baseline-1');
const { proteins } = await publishDemo();
await encoder.close();
const { key } = await appliance.keys.create('bench', 'bench');
const server = await serve(appliance, pino({ level: 'silent' }));
const meter = new LoopMeter();

process.on('message', (question) => {
  if (question === 'begin') meter.begin();
  else if (question === 'end') process.send?.(meter.end());
  else void stop();
});
// Ends the server when the bench ends or fails.
process.once('disconnect', () => process.exit());
process.send?.({
  url: server.url,
  key,
  postgresPort: server.postgresPort,
  folder,
  proteins: proteins.map(({ id, sequence }) => ({ id, sequence })),
});

async function publishDemo(): Promise<ReturnType<typeof simulateProteins>> {
  const demo = simulateProteins(1, Number(proteinCount));
  const { release } = await buildDemo(demo, encoder, appliance.config.indexesFolder);
  const publishedAt = new Date().toISOString();
  const { id, manifest } = release;
  await appliance.releases.publish({ id, slug: DEMO_SLUG, publishedAt, manifest });
  return demo;
}

async function stop(): Promise<void> {
  await server.stop(2_000);
  await appliance.close();
  await rm(folder, { recursive: true });
  process.disconnect();
}
