import { spawnSync } from 'node:child_process';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { get as httpsGet } from 'node:https';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import { ROUTES } from '#src/contract/document/routes.js';
import { expectFailure, SOON } from '../tools/expectations.js';
import { KEY, sendRaw, serve, type Served } from '../tools/serve.js';

/** Timeouts that no case reaches, even on a slow machine. */
const PATIENT = { headersMs: 300_000, requestMs: 300_000, keepAliveMs: 300_000, checkMs: 40 };
const hasOpenssl = spawnSync('openssl', ['version']).status === 0;
if (!hasOpenssl) console.log('TLS tests are skipped: no openssl to make a certificate with.');

let served: Served | undefined;
afterEach(async () => {
  await served?.close();
  served = undefined;
});

describe('a slow client', () => {
  it.each([
    ['half a request line', { headersMs: 200 }, 'GET /healthz HT'],
    ['half its headers', { headersMs: 200 }, 'GET /healthz HTTP/1.1\r\nHost: a\r\nX-Slow: '],
    [
      'half its body',
      { requestMs: 200 },
      `POST /v1/homology HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${KEY}\r\n` +
        'Content-Type: application/json\r\nContent-Length: 99\r\n\r\n{"query":',
    ],
  ])('gets 408 after %s', async (_name, limit, bytes) => {
    served = await serve({ timeouts: { ...PATIENT, ...limit } });
    const [response, ...more] = await sendRaw(served.port, bytes);
    const route = bytes.startsWith('POST /v1/homology') ? ROUTES['homology.search'] : undefined;
    expectFailure(response!, 'request_timeout', route);
    expect(response!.headers['connection']).toBe('close');
    expect(more).toEqual([]);
  });

  it('is closed silently when it idles', async () => {
    served = await serve({ timeouts: { ...PATIENT, keepAliveMs: 300 } });
    const { port } = served;
    const received = await new Promise<string>((resolve) => {
      let text = '';
      const socket = connect(port, '127.0.0.1', () =>
        socket.write('GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n'),
      );
      socket.on('data', (chunk) => (text += chunk.toString()));
      socket.on('close', () => resolve(text));
    });
    expect(received.match(/HTTP\/1\.1/g)).toEqual(['HTTP/1.1']);
    expect(received).toContain('200 OK');
  });
});

describe.skipIf(!hasOpenssl)('TLS', () => {
  function makeCertificate(folder: string, name: string) {
    const files = { certificateFile: join(folder, 'cert.pem'), keyFile: join(folder, 'key.pem') };
    const [cert, key] = [`${files.certificateFile}.new`, `${files.keyFile}.new`];
    const made = spawnSync('openssl', [
      ...[
        'req',
        '-x509',
        '-newkey',
        'ec',
        '-pkeyopt',
        'ec_paramgen_curve:prime256v1',
        '-nodes',
        '-days',
        '2',
      ],
      ...['-subj', `/CN=${name}`, '-keyout', key, '-out', cert],
    ]);
    if (made.status !== 0) throw new Error(made.stderr.toString());
    renameSync(key, files.keyFile);
    renameSync(cert, files.certificateFile);
    return files;
  }

  function nameOf(port: number): Promise<string> {
    return new Promise((resolve, reject) => {
      const options = {
        port,
        host: '127.0.0.1',
        path: '/healthz',
        rejectUnauthorized: false,
        agent: false,
      } as const;
      httpsGet(options, (response) => {
        resolve(String((response.socket as TLSSocket).getPeerCertificate().subject.CN));
        response.resume();
      }).on('error', reject);
    });
  }

  it('is served with the certificate of the files, and with the next one when the files change', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gloaming-tls-'));
    served = await serve({ tls: makeCertificate(folder, 'first.test') });
    expect(await nameOf(served.port)).toBe('first.test');
    makeCertificate(folder, 'second.test');
    await expect.poll(() => nameOf((served as Served).port), { ...SOON, interval: 250 }).toBe('second.test');
    rmSync(folder, { recursive: true });
  });

  it('does not delay a shutdown for a client that has not begun the handshake', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gloaming-tls-'));
    served = await serve({ tls: makeCertificate(folder, 'first.test') });
    const { http, port } = served;
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    await new Promise((resolve) => http.server.once('connection', resolve));
    let hasStopped = false;
    void http.stop(100).then(() => (hasStopped = true));
    await expect.poll(() => hasStopped, SOON).toBe(true);
    socket.destroy();
    rmSync(folder, { recursive: true });
  });

  it('keeps the old certificate when the new files do not match', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gloaming-tls-'));
    const files = makeCertificate(folder, 'first.test');
    served = await serve({ tls: files });
    writeFileSync(files.keyFile, 'no key');
    const { logged } = served;
    await expect.poll(() => JSON.stringify(logged), SOON).toContain('do not fit');
    expect(await nameOf(served.port)).toBe('first.test');
    rmSync(folder, { recursive: true });
  });

  it('fails at start with invalid files, and names them', async () => {
    const tls = { certificateFile: '/nowhere/cert.pem', keyFile: '/nowhere/key.pem' };
    await expect(serve({ tls })).rejects.toThrow(/\/nowhere\/cert\.pem/);
  });
});
