import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { ROOT } from '../tools/paths.js';

/* The examples of config/proxies, as they stand but for ports and certificates, before a server on loopback. */

const PROXIES = join(ROOT, 'config', 'proxies');
/** The path at which they serve the appliance. */
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

/** A proxy of Debian. */
export interface Proxy {
  readonly scheme: 'http' | 'https';
  /** @param folder takes its configuration, certificate and temporary files */
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
