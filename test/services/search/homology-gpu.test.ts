import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Appliance } from '#src/appliance.js';
import { simulateProteins } from '#src/demo/simulate.js';
import { serve, type RunningServer } from '#src/cli/serve/serve.js';
import { cudaBackend } from '#src/kernels/cuda.js';
import { createHomology } from '#src/services/search/homology.js';
import { emulatedAddon } from '../../kernels/emulated-addon.js';
import { openDemoAppliance, type DemoAppliance } from '../../tools/demo-appliance.js';
import { ask, type Answer } from '../storage/storage-served.js';

/* A server whose searches run on a simulated GPU. */

const PROTEINS = { seed: 13, proteins: 20 };
const addon = emulatedAddon();
const demo = simulateProteins(PROTEINS.seed, PROTEINS.proteins);
let opened: DemoAppliance;
let appliance: Appliance;
let server: RunningServer;
let key: string;

beforeAll(async () => {
  opened = await openDemoAppliance(PROTEINS);
  ({ appliance } = opened);
  await appliance.storeEncoder('baseline-1');
  key = await opened.keyOf('lab');
  const { id } = opened.release;

  const backend = cudaBackend(appliance.backend, { addon, retriesOnCpu: true });
  const { engines } = appliance;
  const store = await backend.open((await engines.open(id)).release.tokens);
  const onGpu = {
    ...engines,
    open: async (name: string) => ({ ...(await engines.open(name)), backend, store }),
  };
  const workerOn = (kernels: string): string => `here:${kernels}`;
  const homology = createHomology({ ...appliance, engines: onGpu, workerOn, now: () => new Date() });
  server = await serve({ ...appliance, backend, homology }, pino({ level: 'silent' }), {
    isResponseChecked: true,
  });
});
afterAll(async () => {
  await server.stop(1_000);
  await appliance.close();
  opened.remove();
});

/** Searches a new query at each call, because an equal one would be cached. */
function search(index: number): Promise<Answer> {
  const query = { kind: 'protein_sequence', sequence: demo.proteins[index]!.sequence };
  return ask(`${server.url}/v1/homology`, 'POST', key, { query, limit: 3 });
}

test('X-Service-Served-From names the worker, or the CPU that served instead of its GPU', async () => {
  addon.failure = undefined;
  const served = await search(0);
  expect(served.body.execution.engine).toBe('cuda:hopper');
  expect(served.headers.get('X-Service-Served-From')).toBe(appliance.servedFrom);
  addon.failure = 'work on Emulated failed: an illegal memory access was encountered (700)';
  const cpu = `native:${appliance.backend.variant}`;
  for (const isCacheHit of [false, true]) {
    const retried = await search(1);
    expect(retried.status).toBe(200);
    expect(retried.body.performance.is_cache_hit).toBe(isCacheHit);
    expect(retried.body.execution.engine).toBe(cpu);
    expect(retried.headers.get('X-Service-Served-From')).toBe(`here:${cpu}`);
  }
});
