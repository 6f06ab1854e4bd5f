import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { PROGRAM } from '../../tools/paths.js';

/* The commands of an administrator's first hour. */

const folder = mkdtempSync(join(tmpdir(), 'gloaming-first-hour-'));
afterAll(() => rmSync(folder, { recursive: true }));

// Each command is a process that has to start, on machines that are busy with other tests.
vi.setConfig({ testTimeout: 180_000 });

interface Output {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

function gloaming(words: readonly string[], environment: Record<string, string> = {}): Output {
  const { status, stdout, stderr } = spawnSync(process.execPath, [PROGRAM, ...words], {
    env: { ...process.env, GLOAMING_DATA: undefined, GLOAMING_INDEXES: undefined, ...environment },
    encoding: 'utf8',
    input: '',
  });
  return { code: status, out: stdout, err: stderr };
}

function settingsIn(name: string, settings: Readonly<Record<string, unknown>>): Record<string, string> {
  const file = join(folder, `${name}.json`);
  const places = { indexes_folder: join(folder, name, 'indexes'), data_folder: join(folder, name, 'data') };
  writeFileSync(file, JSON.stringify({ ...places, ...settings }));
  return { GLOAMING_CONFIG: file };
}

function makeCertificate(certificate: string, key: string): void {
  const words = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-noenc'];
  spawnSync('openssl', [...words, '-subj', '/CN=lab', '-days', '90', '-keyout', key, '-out', certificate]);
}

const hasOpenssl = spawnSync('openssl', ['version']).status === 0;

describe('gloaming init', () => {
  it('writes settings that only their owner reads, and that "config check" finds good', () => {
    const lab = join(folder, 'plain');
    const made = gloaming(['init', lab, '--host', '127.0.0.1', '--port', '18124']);
    expect(made.code).toBe(0);
    const { username } = userInfo();
    const warning = `of root: name another user in its line User=, and make that user the owner of ${lab}\n`;
    expect(made.out.includes(warning)).toBe(username === 'root');
    const file = join(lab, 'appliance.json');
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ host: '127.0.0.1', port: 18124 });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const { code, out } = gloaming(['config', 'check'], { GLOAMING_CONFIG: file });
    expect(out).toMatch(/^good {5}port: 127\.0\.0\.1:18124 is free$/m);
    expect(code).toBe(0);
    const keyFile = join(lab, 'admin.key');
    expect(statSync(keyFile).mode & 0o777).toBe(0o600);
    const { out: keys } = gloaming(['keys', 'list'], { GLOAMING_CONFIG: file });
    expect(keys).toMatch(
      new RegExp(`^key_\\w+ +${readFileSync(keyFile, 'utf8').slice(0, 12)}.* admin +admin .* live$`, 'm'),
    );
    const unit = readFileSync(join(lab, 'gloaming.service'), 'utf8');
    expect(unit).toContain(`\nUser=${username}\n`);
    expect(unit).toContain(`Environment="GLOAMING_CONFIG=${file}"`);
    expect(unit).toContain(`ReadWritePaths="${lab}"`);
  });

  it('never writes over settings that are there', () => {
    const lab = join(folder, 'twice');
    gloaming(['init', lab, '--port', '1']);
    const before = readFileSync(join(lab, 'appliance.json'), 'utf8');
    const { code, err } = gloaming(['init', lab, '--port', '2']);
    expect(code).toBe(2);
    expect(err).toMatch(/appliance\.json is there already; edit it/);
    expect(readFileSync(join(lab, 'appliance.json'), 'utf8')).toBe(before);
  });

  it.skipIf(!hasOpenssl)('makes a certificate that its authority vouches for, with private keys', () => {
    const lab = join(folder, 'tls');
    const { out } = gloaming(['init', lab, '--host', '0.0.0.0', '--name', 'lab.example', '--port', '18125']);
    expect(out).toContain(`clients must trust ${join(lab, 'tls', 'ca.crt')}`);
    const [authority, certificate] = ['ca.crt', 'server.crt'].map((name) => join(lab, 'tls', name));
    const verified = spawnSync('openssl', [
      'verify',
      '-verify_hostname',
      'lab.example',
      '-CAfile',
      authority,
      certificate,
    ]);
    expect(verified.status, String(verified.stderr)).toBe(0);
    for (const name of ['ca.key', 'server.key']) expect(statSync(join(lab, 'tls', name)).mode & 0o77).toBe(0);
    const { code, out: checked } = gloaming(['config', 'check'], {
      GLOAMING_CONFIG: join(lab, 'appliance.json'),
    });
    expect(checked).toMatch(/^good {5}tls: .* is valid until .*, 824 days from now$/m);
    expect(code).toBe(0);
  });

  it.skipIf(!hasOpenssl)('requires both files for TLS, or neither', () => {
    const place = mkdtempSync(join(folder, 'files-'));
    const [certificate, key] = [join(place, 'lab.crt'), join(place, 'lab.key')];
    const words = ['init', join(place, 'lab'), '--port', '18126', '--certificate', certificate];
    expect(gloaming([...words, '--tls', 'files']).err).toBe(
      'gloaming: --tls files needs --certificate and --certificate-key.\n',
    );
    const named = [...words, '--certificate-key', key];
    expect(gloaming(named).err).toBe(
      `gloaming: ${certificate} cannot be read (ENOENT); --tls files needs both files.\n`,
    );
    makeCertificate(certificate, key);
    expect(gloaming(named).code).toBe(0);
    const settings = JSON.parse(readFileSync(join(place, 'lab', 'appliance.json'), 'utf8')) as unknown;
    expect(settings).toMatchObject({ tls: { certificate_file: certificate, key_file: key } });
  });

  it('leaves no file if the certificate cannot be created', () => {
    const lab = join(folder, 'no-openssl');
    const { code, err } = gloaming(['init', lab, '--tls', 'self-signed'], { PATH: '' });
    expect([code, err]).toEqual([
      2,
      'gloaming: No certificate could be made: openssl was not found; install it, or use --tls none.\n',
    ]);
    expect(existsSync(join(lab, 'appliance.json'))).toBe(false);
    expect(existsSync(join(lab, 'tls'))).toBe(false);
  });
});

describe('settings that are wrong', () => {
  it.each([
    [{ prot: 8080 }, '"prot" is no setting; did you mean "port"?'],
    [{ port: 80_800 }, 'port must be <= 65535.'],
    [{ device: 'gpu' }, 'device must be equal to one of the allowed values: auto, cpu, cuda, tensorflow.'],
    [
      { tls: { certificate: 'a', certificate_file: 'a', key_file: 'b' } },
      '"tls.certificate" is no setting; did you mean "certificate_file"?',
    ],
  ])('%j end in one sentence', (settings, sentence) => {
    const { code, err } = gloaming(['serve'], settingsIn('wrong', settings));
    expect([code, err]).toEqual([2, `gloaming: The configuration is not valid: ${sentence}\n`]);
  });

  it('of TLS end in one sentence, before anything is served', () => {
    const tls = { certificate_file: join(folder, 'none.crt'), key_file: join(folder, 'none.key') };
    const { code, err } = gloaming(['serve'], settingsIn('no-tls', { port: 0, tls }));
    expect(code).toBe(2);
    expect(err).toMatch(
      /^gloaming: TLS cannot be served with .*none\.crt and .*none\.key: ENOENT.*\. Name PEM files .*\.\n$/,
    );
  });
});

describe('gloaming doctor --json', () => {
  it('lists each check, and exits with 0 if no check is bad', () => {
    const { code, out } = gloaming(['doctor', '--json'], settingsIn('good', { port: 0 }));
    const { is_good, findings } = JSON.parse(out) as { is_good: boolean; findings: { topic: string }[] };
    expect([code, is_good]).toEqual([0, true]);
    expect(findings.map(({ topic }) => topic)).toEqual([
      'folders',
      'folders',
      'port',
      'tls',
      'gpu',
      'clock',
      'disk',
      'memory',
      'encoder',
      'backup',
      'fsck',
    ]);
  });

  it('exits with 2 and one sentence if another program uses the port', async () => {
    const squatter = createServer();
    await new Promise<void>((resolve) => squatter.listen(0, '127.0.0.1', resolve));
    const { port } = squatter.address() as AddressInfo;
    const { code, out, err } = gloaming(['doctor', '--json'], settingsIn('taken', { port }));
    squatter.close();
    expect(code).toBe(2);
    expect(JSON.parse(out)).toMatchObject({ is_good: false });
    expect(err).toMatch(/^gloaming: 127\.0\.0\.1:\d+ cannot be listened on: another program does so/);
  });

  it('reports the times of the last backup and the last fsck', () => {
    const environment = settingsIn('kept', { port: 0 });
    gloaming(['keys', 'create', 'me'], environment);
    expect(gloaming(['backup', join(folder, 'backup')], environment).code).toBe(0);
    expect(gloaming(['fsck'], environment).code).toBe(0);
    const { out } = gloaming(['doctor'], environment);
    expect(out).toMatch(/^Backup +last at .*, 0 days ago: into .*backup$/m);
    expect(out).toMatch(/^Fsck +last at .*, 0 days ago: no damage$/m);
  });
});
