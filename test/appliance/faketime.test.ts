import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request as requestTls } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDemoAppliance, type DemoAppliance } from '../tools/demo-appliance.js';
import { serveInProcess, type ServedProcess } from '../tools/served-process.js';

/* A server process whose system clock is set forward and back by a day while it runs, with libfaketime of Debian. */

const LIBRARY = ['x86_64', 'aarch64']
  .map((machine) => `/usr/lib/${machine}-linux-gnu/faketime/libfaketimeMT.so.1`)
  .find(existsSync);
const hasOpenssl = spawnSync('openssl', ['version']).status === 0;
const canRun = LIBRARY !== undefined && hasOpenssl;
if (!canRun) console.log('The clock of a process is not set: faketime or openssl is not installed here.');

const folder = mkdtempSync(join(tmpdir(), 'gloaming-faketime-'));
const clockFile = join(folder, 'clock');
const [certificateFile, keyFile] = [join(folder, 'c.pem'), join(folder, 'k.pem')];
let opened: DemoAppliance;
let served: ServedProcess;
let url: string;
let key: string;

const setClock = (offset: string): void => writeFileSync(clockFile, `${offset}\n`);

beforeAll(async () => {
  if (!canRun) return;
  setClock('+0');
  makeCertificate();
  const settings = { tls: { certificate_file: certificateFile, key_file: keyFile } };
  opened = await openDemoAppliance({ seed: 11, proteins: 60, settings });
  key = await opened.keyOf('lab');
  await opened.appliance.close();
  served = serveInProcess({
    ...opened.environment,
    LD_PRELOAD: LIBRARY!,
    FAKETIME_TIMESTAMP_FILE: clockFile,
    FAKETIME_CACHE_DURATION: '1',
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
    FAKETIME_FORCE_MONOTONIC_FIX: '0',
  });
  url = await served.listening;
}, 120_000);
afterAll(() => {
  served?.server.kill('SIGKILL');
  opened?.remove();
  rmSync(folder, { recursive: true });
});

function makeCertificate(): void {
  const words = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-noenc'];
  const files = ['-keyout', keyFile, '-out', certificateFile, '-days', '30', '-subj', '/CN=lab'];
  spawnSync('openssl', [...words, ...files]);
}

interface Answer {
  readonly date: Date;
  readonly serial: string;
  readonly body: any;
}

function ask(method: string, path: string, body?: unknown): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', Prefer: 'wait=20' };
    const request = requestTls(
      url + path,
      { method, headers, rejectUnauthorized: false, agent: false },
      (response) => {
        const { serialNumber: serial } = (
          response.socket as import('node:tls').TLSSocket
        ).getPeerCertificate();
        let text = '';
        response.on('data', (piece: Buffer) => (text += piece.toString()));
        response.on('end', () =>
          resolve({ date: new Date(response.headers.date as string), serial, body: JSON.parse(text) }),
        );
      },
    );
    request.on('error', reject);
    request.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

async function runSearch(): Promise<any> {
  const query = { kind: 'protein_sequence', sequence: opened.sequences[0] };
  const run = await ask('POST', '/v1/runs', { endpoint: 'homology.search', input: { query, limit: 5 } });
  return (await ask('GET', `/v1/runs/${run.body.data.id}`)).body.data;
}

describe.skipIf(!canRun)('a server process', () => {
  it.each([
    ['+1d', 86_400_000],
    ['-1d', -86_400_000],
    ['+0', 0],
  ])(
    'continues when its clock is set to %s: runs end, and a new certificate is served',
    async (offset, ms) => {
      const before = await runSearch();
      setClock(offset);
      await expect
        .poll(async () => Math.abs((await ask('GET', '/healthz')).date.getTime() - Date.now() - ms), {
          timeout: 20_000,
        })
        .toBeLessThan(60_000);
      const after = await runSearch();
      expect([before.status, after.status]).toEqual(['completed', 'completed']);
      expect(Math.abs(Date.parse(after.created_at) - Date.now() - ms)).toBeLessThan(60_000);
      // Durations come from the monotonic clock.
      expect(after.progress.rate_per_second ?? 1).toBeGreaterThan(0);
      const listed = (await ask('GET', '/v1/runs?limit=100')).body.data.map(({ id }: { id: string }) => id);
      expect(listed).toEqual(expect.arrayContaining([before.id, after.id]));
      const { serial } = await ask('GET', '/healthz');
      makeCertificate();
      await expect
        .poll(async () => (await ask('GET', '/healthz')).serial, { timeout: 20_000 })
        .not.toBe(serial);
    },
    60_000,
  );
});
