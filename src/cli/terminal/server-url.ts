import type { ApplianceConfig } from '../../config.js';

/**
 * URL of the server for a browser on this machine, or its public address; without a slash at the end.
 * @param port  at which it listens; default: that of the settings
 */
export function serverUrl(
  { publicUrl, tls, host, port: configured }: ApplianceConfig,
  port: number | string = configured,
): string {
  const reached = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  const name = reached.includes(':') ? `[${reached}]` : reached;
  return publicUrl ?? `${tls === undefined ? 'http' : 'https'}://${name}:${port}`;
}

/** URL of the manual that the server serves, with a slash at the end. @param url of the server */
export function manualUrl(url: string): string {
  return `${url}/docs/`;
}
