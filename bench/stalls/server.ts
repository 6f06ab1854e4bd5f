import { SIMULATED_SLUG } from '../../src/demo/simulated.js';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pino } from 'pino';
import { serve } from '../../src/cli/serve/serve.js';
import { openDemoAppliance } from '../tools/demo-appliance.js';
import { LoopMeter } from './loop-meter.js';

/* The server under load in bench/stalls/stalls.ts, in a process with its own event loop. */

const [proteinCount, place] = process.argv.slice(2);
const folder = await mkdtemp(join(resolve(place), '.bench-stalls-'));
const settings = join(folder, 'settings.json');
const colabfold = { database: SIMULATED_SLUG, max_evalue: null, min_coverage: 0.1, max_sequences: 1_000 };
await writeFile(settings, JSON.stringify({ colabfold, serve_parts: true }));
const { appliance, proteins, key } = await openDemoAppliance(folder, Number(proteinCount), {
  GLOAMING_CONFIG: settings,
  GLOAMING_POSTGRES_PORT: '0',
});
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
  releaseId: appliance.catalog.defaultRelease(SIMULATED_SLUG, 'bench').releaseId,
  kernelsVersion: appliance.backend.version,
  proteins: proteins.map(({ id, sequence }) => ({ id, sequence })),
});

async function stop(): Promise<void> {
  await server.stop(2_000);
  await appliance.close();
  await rm(folder, { recursive: true });
  process.disconnect();
}
