import { pino } from 'pino';
import { openAppliance } from '#src/appliance.js';
import { serve } from '#src/cli/serve/serve.js';
import { loadConfig } from '#src/config.js';

// A server of its own process, to be killed; its address is its first line.
const appliance = await openAppliance(loadConfig(process.env));
const { url } = await serve(appliance, pino({ level: 'error' }, pino.destination(2)));
process.stdout.write(`${url}\n`);
