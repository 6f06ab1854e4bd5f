import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { examineAppliance } from '#src/cli/admin/checks.js';
import { examineClock, examineEncoders, examineGpu } from '#src/cli/admin/machine.js';
import { serviceUnit } from '#src/cli/admin/service-unit.js';
import { answersThere } from '#src/cli/serve/address.js';
import { canonicalSha256 } from '#src/canonical.js';
import { loadConfig, type ApplianceConfig } from '#src/config.js';
import { gpuReport } from '#src/kernels/cuda.js';
import { listEncoders } from '#src/pipelines/encoders.js';
import type { FoundRelease } from '#src/release/catalog.js';
import { recordMaintenance } from '#src/services/backup/maintenance.js';
import { ROOT } from '../../tools/paths.js';

/* Each check of a machine by doctor, with a machine that fails this check. */

const folder = mkdtempSync(join(tmpdir(), 'gloaming-machine-'));
afterAll(() => rmSync(folder, { recursive: true }));
const NOW = new Date('2026-11-22T12:00:00Z');
const has = (command: string, ask = '--version'): boolean => spawnSync(command, [ask]).status === 0;

function configOf(changed: Partial<ApplianceConfig> = {}): ApplianceConfig {
  const places = { GLOAMING_DATA: join(folder, 'data'), GLOAMING_INDEXES: join(folder, 'indexes') };
  return { ...loadConfig(places), ...changed };
}

describe('the clock', () => {
  it('is bad if a record has a later time, and the message has that time', async () => {
    const dataFolder = mkdtempSync(join(folder, 'clock-'));
    const at = '2026-11-23T08:00:00.000Z';
    recordMaintenance(dataFolder, 'backup', { at: '2026-11-01T08:00:00.000Z', outcome: 'done' });
    expect((await examineClock(configOf({ dataFolder }), NOW)).state).not.toBe('bad');
    recordMaintenance(dataFolder, 'fsck', { at, outcome: 'no damage' });
    expect(await examineClock(configOf({ dataFolder }), NOW)).toEqual({
      topic: 'clock',
      state: 'bad',
      message:
        `the clock says 2026-11-22T12:00:00.000Z, but something was done here at ${at}: ` +
        'it was set back, or was wrong then; set it',
    });
  });
});

describe('the encoders', () => {
  const release = (id: string): FoundRelease =>
    ({ slug: 'lab', id: `dbr_${'1'.repeat(64)}`, manifest: { encoder: { id } } }) as FoundRelease;

  it('are good if the encoders of builds and databases are installed', async () => {
    const findings = examineEncoders(configOf(), [release('baseline-1')], await listEncoders(configOf()));
    expect(findings).toEqual([{ topic: 'encoder', state: 'good', message: 'gloaming-5 is installed' }]);
  });

  it('that are missing are listed with their users and with the installed ones', async () => {
    const config = configOf({ encoder: 'esm2' });
    const [chosen, needed] = examineEncoders(config, [release('prot-t5')], await listEncoders(config));
    const there =
      'there are baseline-1, gloaming-1, gloaming-3, gloaming-4, gloaming-5, and gloaming encoder add brings others';
    expect(chosen).toMatchObject({
      state: 'warning',
      message: `builds cannot take the encoder esm2: it is not installed; ${there}`,
    });
    expect(needed).toMatchObject({
      state: 'bad',
      message: `lab (dbr_11111111…) cannot be searched, as its encoder prot-t5 is not installed; ${there}`,
    });
  });

  it('that are damaged are bad if a database needs them', () => {
    const damaged = { id: 'mine', directory: '/e/mine', isShipped: false, problem: 'No model.' };
    const [chosen, needed] = examineEncoders(configOf({ encoder: 'mine' }), [release('mine')], [damaged]);
    expect(chosen).toMatchObject({
      state: 'warning',
      message: 'builds cannot take the encoder mine: No model.',
    });
    expect(needed).toMatchObject({
      state: 'bad',
      message:
        'lab (dbr_11111111…) cannot be searched, as its encoder mine is not usable: No model; ' +
        'install this version again',
    });
  });

  it('that are damaged do not matter to a database that another version of them built', async () => {
    const listed = (await listEncoders(configOf())).find(({ id }) => id === 'baseline-1')!;
    const damaged = { ...listed, problem: 'No model.' };
    const encoder = { id: 'baseline-1', sha256: canonicalSha256(listed.card!) };
    const built = (sha256: string): FoundRelease =>
      ({ ...release('baseline-1'), manifest: { encoder: { ...encoder, sha256 } } }) as FoundRelease;
    const statesOf = (of: FoundRelease): readonly string[] =>
      examineEncoders(configOf({ encoder: 'baseline-1' }), [of], [damaged]).map(({ state }) => state);
    expect(statesOf(built(encoder.sha256))).toEqual(['warning', 'bad']);
    expect(statesOf(built('0'.repeat(64)))).toEqual(['warning']);
  });

  it('are none in an empty list, and the message names the command that brings one', () => {
    const [chosen] = examineEncoders(configOf({ encoder: 'mine' }), [], []);
    expect(chosen.message).toBe(
      'builds cannot take the encoder mine: it is not installed; ' +
        'none is usable, and gloaming encoder add brings one',
    );
  });
});

describe.skipIf(gpuReport().obstacle === undefined)('the GPU', () => {
  it('is bad if the settings require a GPU and none works; otherwise it is not', () => {
    expect(examineGpu(configOf({ device: 'cuda' }))).toMatchObject({
      state: 'bad',
      message: expect.stringMatching(
        /^the device setting is cuda\. No GPU is used: .*; mend that, or /,
      ) as string,
    });
    expect(examineGpu(configOf({ device: 'auto' })).state).toBe('good');
  });
});

describe.skipIf(!has('openssl', 'version'))('TLS', () => {
  const tls = { certificateFile: join(folder, 'c.pem'), keyFile: join(folder, 'k.pem') };
  const make = (days: number): void => {
    const words = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-noenc'];
    const files = ['-keyout', tls.keyFile, '-out', tls.certificateFile];
    spawnSync('openssl', [...words, '-subj', '/CN=lab', '-days', `${days}`, ...files]);
  };
  const examine = async (now: Date): Promise<unknown> =>
    (await examineAppliance(configOf({ tls, port: 0 }), now)).find(({ topic }) => topic === 'tls');

  it('is bad before the beginning and after the end of its certificate, and warns before the end', async () => {
    make(30);
    const days = (count: number): Date => new Date(Date.now() + count * 24 * 60 * 60 * 1000);
    expect(await examine(days(-1))).toMatchObject({
      state: 'bad',
      message: expect.stringMatching(/c\.pem is not valid before .*: set the clock/) as string,
    });
    expect(await examine(days(0))).toMatchObject({ state: 'good' });
    expect(await examine(days(10))).toMatchObject({ state: 'warning' });
    expect(await examine(days(31))).toMatchObject({
      state: 'bad',
      message: expect.stringMatching(/c\.pem has expired at .*: renew it$/) as string,
    });
  });

  it('is bad where the key is that of another certificate', async () => {
    make(30);
    const certificate = readFileSync(tls.certificateFile);
    make(30);
    writeFileSync(tls.certificateFile, certificate);
    expect(await examine(new Date())).toMatchObject({
      state: 'bad',
      message: expect.stringMatching(
        /k\.pem is not the key of .*c\.pem: name the two that belong together$/,
      ) as string,
    });
  });

  it('does not hide a server of ours: its port is taken, and good', async () => {
    make(30);
    const ours = createTlsServer(
      { cert: readFileSync(tls.certificateFile), key: readFileSync(tls.keyFile) },
      (_request, response) => response.setHeader('Service-Contract-Digest', 'sha256:0').end('{}'),
    );
    expect(await isFoundAt(ours, { tls })).toBe(true);
  });
});

describe('a server at the configured address', () => {
  it('is distinguished from another program and from a free port', async () => {
    const others = createServer((_request, response) => response.end('hello'));
    expect(await isFoundAt(others)).toBe(false);
    expect(await answersThere(configOf({ port: 1 }))).toBe(false);
  });
});

async function isFoundAt(server: Server, changed: Partial<ApplianceConfig> = {}): Promise<boolean> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const isFound = await answersThere(configOf({ ...changed, port }));
  server.close();
  return isFound;
}

describe('the service that init writes', () => {
  const packaged = readFileSync(join(ROOT, 'config', 'packaging', 'gloaming.service'), 'utf8');
  const service = {
    command: [process.execPath, '/srv/my programs/main.js'],
    settingsFile: '/srv/lab/100%.json',
    folder: '/srv/lab',
    port: 443,
    user: 'root',
  };

  it('is that of the package with its own command, folder, user, and the port that it may take', () => {
    const lines = serviceUnit(packaged, service).split('\n');
    expect(lines).toEqual(
      expect.arrayContaining([
        `ExecStart="${process.execPath}" "/srv/my programs/main.js" serve`,
        'Environment="GLOAMING_CONFIG=/srv/lab/100%%.json"',
        'ReadWritePaths="/srv/lab"',
        'User=root',
        'AmbientCapabilities=CAP_NET_BIND_SERVICE',
        'NoNewPrivileges=yes',
        'WatchdogSec=60',
      ]),
    );
    expect(lines.join('\n')).not.toMatch(/StateDirectory|\/opt\/gloaming|User=gloaming/);
    expect(serviceUnit(packaged, { ...service, port: 8080 })).toContain('\nAmbientCapabilities=\n');
  });

  it.skipIf(!has('systemd-analyze'))('is one that systemd understands', () => {
    const file = join(folder, 'gloaming.service');
    writeFileSync(file, serviceUnit(packaged, service));
    const { status, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', file], {
      encoding: 'utf8',
    });
    expect([status, stderr]).toEqual([0, '']);
  });
});
