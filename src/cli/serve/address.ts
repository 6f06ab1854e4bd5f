import { get as getOverHttp } from 'node:http';
import { get as getOverTls } from 'node:https';
import { createServer } from 'node:net';
import type { ApplianceConfig } from '../../config.js';
import { Fault, Refusal } from '../../errors.js';

export type PortSetting = 'GLOAMING_PORT' | 'GLOAMING_POSTGRES_PORT';

const LOOPBACK_HOSTS: ReadonlySet<string> = new Set(['127.0.0.1', '::1', 'localhost']);

/** Returns whether only this machine can reach a server on that host. */
export function isLoopbackHost(host: string): boolean {
  return LOOPBACK_HOSTS.has(host);
}

const ANSWER_MAX_MS = 2_000;

/**
 * Returns whether a server of this program answers there. The request carries no secret, so any certificate is
 * accepted.
 */
export function answersThere({ host, port, tls }: ApplianceConfig): Promise<boolean> {
  const probe = { host, port, path: '/healthz', timeout: ANSWER_MAX_MS, rejectUnauthorized: false };
  return new Promise((resolve) => {
    const request = (tls === undefined ? getOverHttp : getOverTls)(probe, (response) => {
      response.resume();
      resolve(response.headers['service-contract-digest'] !== undefined);
    });
    request.once('timeout', () => request.destroy());
    request.once('error', () => resolve(false));
    request.once('close', () => resolve(false));
  });
}

/**
 * Checks that the configured ports are free, before any work starts.
 * Errors  Refusal `address_unavailable`
 */
export async function checkAddresses({ host, port, postgresPort }: ApplianceConfig): Promise<void> {
  await checkAddress(host, port, 'GLOAMING_PORT');
  if (postgresPort !== undefined) await checkAddress(host, postgresPort, 'GLOAMING_POSTGRES_PORT');
}

async function checkAddress(host: string, port: number, setting: PortSetting): Promise<void> {
  const probe = createServer();
  await new Promise<void>((resolve, reject) => {
    probe.once('error', (cause) => reject(listenError(cause, host, port, setting)));
    probe.listen(port, host, () => probe.close(() => resolve()));
  });
}

/**
 * Explains why a server cannot listen, with the remedy.
 * @param setting  the setting that changes the port
 */
export function listenError(cause: unknown, host: string, port: number, setting: PortSetting): Error {
  const { code = '', message } = cause as NodeJS.ErrnoException;
  const place = `${host}:${port} cannot be listened on`;
  const help = helpFor(code, setting);
  return help === undefined
    ? new Fault(`${place}: ${message}`, { cause })
    : new Refusal('address_unavailable', `${place}: ${help}.`);
}

function helpFor(code: string, setting: PortSetting): string | undefined {
  switch (code) {
    case 'EADDRINUSE':
      return `another program does so, perhaps another gloaming. Stop it, or set ${setting} to a free port`;
    case 'EACCES':
      return `the system does not allow this port. Set ${setting} to one above 1023`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return 'this machine has no such address. Set GLOAMING_HOST to one that it has';
    default:
      return undefined;
  }
}
