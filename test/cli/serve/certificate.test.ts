import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { warnOfCertificate } from '#src/cli/serve/certificate.js';
import { startSmallAppliance } from '../../tools/small-appliance.js';

/* Log entries about the certificate of a server. */

const hasOpenssl = spawnSync('openssl', ['version']).status === 0;
if (!hasOpenssl) console.log('Certificates are not looked at: no openssl to make one with.');
const DAY_MS = 24 * 60 * 60 * 1000;

describe.skipIf(!hasOpenssl)('a start with TLS', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gloaming-certificate-'));
  const tls = { certificateFile: join(folder, 'c.pem'), keyFile: join(folder, 'k.pem') };
  const make = (days: number): void => {
    const words = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-noenc'];
    const files = ['-keyout', tls.keyFile, '-out', tls.certificateFile];
    spawnSync('openssl', [...words, '-subj', '/CN=lab', '-days', `${days}`, ...files]);
  };
  /** Entries that were written to this log. */
  const listen = () => {
    const lines: string[] = [];
    const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) });
    return { log, said: () => lines.map((line) => JSON.parse(line) as Record<string, unknown>) };
  };
  beforeAll(() => make(30));
  afterAll(() => rmSync(folder, { recursive: true }));

  it.each([
    [0, []],
    [8, []],
    [10, [{ level: 40, days_left: 19, msg: 'The TLS certificate expires soon: renew it.' }]],
    [31, [{ level: 40, msg: expect.stringContaining('has expired') as string }]],
    [-1, [{ level: 40, msg: expect.stringContaining('is not valid yet') as string }]],
  ])('warns as required %i days after a certificate of 30 days was created', (days, expected) => {
    const { log, said: entries } = listen();
    warnOfCertificate(tls, log, new Date(Date.now() + days * DAY_MS));
    expect(entries()).toMatchObject(expected);
  });

  it('serves, and warns once', { timeout: 60_000 }, async () => {
    make(2);
    const { log, said: entries } = listen();
    const files = { certificate_file: tls.certificateFile, key_file: tls.keyFile };
    await (await startSmallAppliance({ tls: files }, log)).close();
    expect(entries().filter((line) => line.certificate_file === tls.certificateFile)).toHaveLength(1);
  });
});
