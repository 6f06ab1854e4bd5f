import { closeSync, openSync, readSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { readManifest } from '#src/release/manifest.js';
import { ReleaseWatch } from '#src/services/search/release-watch.js';
import { SOON } from '../../tools/expectations.js';
import { startSmallAppliance, type SmallAppliance } from '../../tools/small-appliance.js';

let small: SmallAppliance | undefined;
let watch: ReleaseWatch | undefined;
afterEach(async () => {
  await watch?.stop();
  await small?.close();
});

const QUICK = { idleBytesPerSecond: 2 ** 30, busyBytesPerSecond: 2 ** 30, restMs: 20 };

/** Inverts one byte in the middle of a file of the served release. */
function flip(path: string): void {
  const descriptor = openSync(path, 'r+');
  const at = Math.floor(statSync(path).size / 2);
  const byte = Buffer.alloc(1);
  readSync(descriptor, byte, 0, 1, at);
  writeSync(descriptor, Buffer.of(byte[0]! ^ 1), 0, 1, at);
  closeSync(descriptor);
}

it('a release whose tokens change while it serves is taken out of service, and the log reports it', async () => {
  small = await startSmallAppliance();
  const { appliance, url, sequences } = small;
  const key = await small.keyOf('lab');
  const search = (index: number): Promise<Response> =>
    fetch(`${url}/v1/homology`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ query: { kind: 'protein_sequence', sequence: sequences[index] } }),
    });
  expect((await search(0)).status).toBe(200);
  const [{ slug, defaultReleaseId }] = appliance.releases.databases();
  const directory = join(appliance.config.indexesFolder, slug, defaultReleaseId);
  const notices: string[] = [];
  watch = appliance.releaseWatch;
  // The server has started it, at its own pace.
  await watch.stop();
  watch.start((problem) => void notices.push(problem), QUICK);
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(notices).toEqual([]);

  flip(join(directory, 'tokens.arrow'));
  await expect.poll(() => notices, SOON).toEqual([expect.stringMatching(/^tokens.arrow has the SHA-256/)]);
  const answer = await search(1);
  expect(answer.status).toBe(503);
  expect(answer.headers.get('service-error-type')).toBe('storage_unavailable');
  const readiness = (await (await fetch(`${url}/readyz`)).json()) as { status: string; missing: string[] };
  expect(readiness).toMatchObject({ status: 'ready', missing: [expect.stringContaining(defaultReleaseId)] });
});

it('the rate of reads is limited', async () => {
  small = await startSmallAppliance();
  const [{ slug, defaultReleaseId: id }] = small.appliance.releases.databases();
  const directory = join(small.appliance.config.indexesFolder, slug, id);
  const manifest = await readManifest(directory);
  const sizeBytes = statSync(join(directory, 'tokens.arrow')).size;
  flip(join(directory, 'tokens.arrow'));
  watch = new ReleaseWatch();
  watch.add({ id, directory, manifest });
  const startedAt = performance.now();
  const notices: string[] = [];
  watch.start((problem) => void notices.push(problem), { ...QUICK, idleBytesPerSecond: sizeBytes });
  await expect.poll(() => notices.length, SOON).toBe(1);
  expect(performance.now() - startedAt).toBeGreaterThan(900);
});
