import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { ROOT } from '../tools/paths.js';

/* Runs the examples of config/proxies before a server on loopback. Only ports and certificates are replaced. */

const PROXIES = join(ROOT, 'config', 'proxies');
/** Path at which the examples serve the appliance. */
export const BASE = '/gloaming';

export const isInstalled = (tool: string): boolean =>
  spawnSync('sh', ['-c', `command -v ${tool}`]).status === 0;

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** A proxy from a Debian package. */
export interface Proxy {
  readonly scheme: 'http' | 'https';
  /**
   * Starts the proxy.
   * @param folder for its configuration, certificate and temporary files
   */
  start(port: number, upstream: number, folder: string): ChildProcess;
}

export const NGINX: Proxy = {
  scheme: 'https',
  start(port, upstream, folder) {
    const [certificate, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
    const subject = ['-subj', '/CN=lab.example.org', '-days', '2'];
    execFileSync(
      'openssl',
      [
        'req',
        '-x509',
        '-newkey',
        'ec',
        '-pkeyopt',
        'ec_paramgen_curve:P-256',
        '-nodes',
        '-keyout',
        key,
        '-out',
        certificate,
        ...subject,
      ],
      { stdio: 'ignore' },
    );
    const server = readFileSync(join(PROXIES, 'nginx.conf'), 'utf8')
      .replace('listen 443 ssl', `listen 127.0.0.1:${port} ssl`)
      .replace('/etc/ssl/certs/lab.example.org.pem', certificate)
      .replace('/etc/ssl/private/lab.example.org.key', key)
      .replace('127.0.0.1:8080', `127.0.0.1:${upstream}`);
    const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      (kind) => `${kind}_temp_path ${folder};`,
    );
    const whole = `pid ${folder}/pid; error_log stderr; daemon off; master_process off; events {}
      http { access_log off; ${paths.join(' ')} ${server} }`;
    writeFileSync(join(folder, 'nginx.conf'), whole);
    return spawn('nginx', ['-c', join(folder, 'nginx.conf'), '-p', folder], { stdio: 'ignore' });
  },
};

export const CADDY: Proxy = {
  scheme: 'http',
  start(port, upstream, folder) {
    const site = readFileSync(join(PROXIES, 'Caddyfile'), 'utf8')
      .replace(/^lab\.example\.org \{/m, `http://127.0.0.1:${port} {`)
      .replace('127.0.0.1:8080', `127.0.0.1:${upstream}`);
    writeFileSync(join(folder, 'Caddyfile'), `{\n\tadmin off\n}\n${site}`);
    const home = { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
    return spawn('caddy', ['run', '--config', join(folder, 'Caddyfile'), '--adapter', 'caddyfile'], {
      stdio: 'ignore',
      env: home,
    });
  },
};

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

export function ask(
  url: string,
  {
    method = 'GET',
    headers = {},
    body,
  }: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<Answer> {
  const send = url.startsWith('https:') ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const request = send(url, { method, headers, rejectUnauthorized: false }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }),
      );
    });
    request.on('error', reject).end(body);
  });
}

/**
 * Starts a proxy at a free port, and retries at the next port if another process took the first.
 * Errors  rejects if no port works
 */
export async function startProxy(
  proxy: Proxy,
  upstream: number,
  folder: string,
): Promise<{ readonly url: string; readonly process: ChildProcess }> {
  for (let attempt = 0; attempt < 5; attempt += 1) {
    const port = await freePort();
    const url = `${proxy.scheme}://127.0.0.1:${port}${BASE}`;
    const process = proxy.start(port, upstream, folder);
    if (await isAnswering(`${url}/readyz`, process)) return { url, process };
    process.kill('SIGKILL');
  }
  throw new Error('The proxy could not listen anywhere.');
}

/** Waits until the proxy answers. Returns false if its process ended before. Errors  none: requests are retried */
export async function isAnswering(url: string, process: ChildProcess): Promise<boolean> {
  while (process.exitCode === null && process.signalCode === null) {
    const status = await ask(url).then(
      (answer) => answer.status,
      () => 0,
    );
    if (status === 200) return true;
    await pause(100);
  }
  return false;
}
