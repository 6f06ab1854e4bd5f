import { pino } from 'pino';
import { openAppliance } from '../../src/appliance.js';
import { serve } from '../../src/cli/serve/serve.js';
import { loadConfig } from '../../src/config.js';

/* The server of bench/storage/storage.ts, in a process with its own memory. */

const appliance = await openAppliance(loadConfig({ ...process.env, GLOAMING_PORT: '0' }));
const server = await serve(appliance, pino({ level: 'silent' }));
const { key } = await appliance.keys.create('bench', 'bench');
process.once('SIGTERM', () => {
  void server
    .stop(2_000)
    .then(() => appliance.close())
    .then(() => process.disconnect());
});
process.send?.({ url: server.url, key });
