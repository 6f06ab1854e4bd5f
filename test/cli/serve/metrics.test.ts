import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openAppliance } from '#src/appliance.js';
import { watchAppliance } from '#src/cli/serve/metrics.js';
import { loadConfig } from '#src/config.js';
import { createMetrics } from '#src/http/pages/metrics.js';
import { cudaBackend } from '#src/kernels/cuda.js';
import { startSmallAppliance } from '../../tools/small-appliance.js';
import { emulatedAddon } from '../../kernels/emulated-addon.js';

it('the metrics of a GPU server have the memory of each GPU and the calls that the CPU retried', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gloaming-metrics-'));
  const appliance = await openAppliance(
    loadConfig({ GLOAMING_DATA: join(folder, 'data'), GLOAMING_INDEXES: join(folder, 'indexes') }),
  );
  const addon = emulatedAddon();
  const backend = cudaBackend(appliance.backend, { addon, retriesOnCpu: true });
  const { registry } = watchAppliance(createMetrics(), { ...appliance, backend });
  addon.failure = 'out of memory';
  const source = {
    dimension: 32,
    residueStarts: Uint32Array.of(0, 1),
    tokens: { values: new Int8Array(32) },
  };
  (await backend.open(source)).close();
  const text = await registry.metrics();
  expect(text).toContain('gloaming_gpu_resident_releases{gpu="0",name="Emulated"} 1');
  expect(text).toContain('gloaming_gpu_resident_bytes{gpu="0",name="Emulated"} 12345');
  expect(text).toContain('gloaming_gpu_memory_free_bytes{gpu="0",name="Emulated"} 34359738368');
  expect(text).toContain('gloaming_kernel_retries 1');
  await appliance.close();
  rmSync(folder, { recursive: true });
});

it('the metrics count databases, searches by database and runs by kind', async () => {
  const small = await startSmallAppliance();
  const key = await small.keyOf('lab');
  const ask = (path: string, body: unknown): Promise<Response> =>
    fetch(small.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const query = { kind: 'protein_sequence', sequence: 'MKVLAWYDEACDEFGHIKL' };
  for (let time = 0; time < 2; time += 1) expect((await ask('/v1/homology', { query })).status).toBe(200);
  const text = await (await fetch(`${small.url}/metrics`)).text();
  const [{ slug }] = small.appliance.releases.databases();
  const searched = (cached: boolean): number =>
    Number(
      new RegExp(
        `^gloaming_searches_total\\{database="${slug}",guarantee="\\w+",cached="${cached}"\\} (\\d+)$`,
        'm',
      ).exec(text)?.[1],
    );
  expect([searched(false), searched(true)]).toEqual([1, 1]);
  expect(text).toMatch(/^# TYPE gloaming_searches_total counter$/m);
  expect(text).toMatch(new RegExp(`^gloaming_database_proteins\\{database="${slug}"\\} [1-9]`, 'm'));
  await small.appliance.releases.share(slug, ['lab']);
  const closed = await (await fetch(`${small.url}/metrics`)).text();
  expect(closed).toMatch(/^gloaming_searches_total\{database="private"/m);
  expect(closed).not.toContain(`database="${slug}"`);
  await small.close();
});

it('the metrics describe kernels, databases, control state and disks', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gloaming-metrics-'));
  const appliance = await openAppliance(
    loadConfig({ GLOAMING_DATA: join(folder, 'data'), GLOAMING_INDEXES: join(folder, 'indexes') }),
  );
  const { registry } = watchAppliance(createMetrics(), appliance);
  const text = await registry.metrics();
  const { name, variant, version } = appliance.backend;
  expect(text).toContain(
    `gloaming_kernels_info{backend="${name}",variant="${variant}",version="${version}"} 1`,
  );
  expect(text).toContain('gloaming_databases 0');
  expect(Number(/gloaming_control_state_bytes (\d+)/.exec(text)?.[1])).toBeGreaterThan(4_096);
  expect(Number(/gloaming_disk_free_bytes\{folder="data"\} (\S+)/.exec(text)?.[1])).toBeGreaterThan(0);
  await appliance.close();
  rmSync(folder, { recursive: true });
});
