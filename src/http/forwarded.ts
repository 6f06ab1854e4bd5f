import type { IncomingMessage } from 'node:http';
import { isIP, type BlockList } from 'node:net';

/** The sender of a request, and the host name by which it addressed the server. */
export interface Sender {
  /** Address of the client, or of the last proxy that is not trusted. Empty when the connection is closed. */
  readonly address: string;
  /** Host by which the client addressed the server, with its port if given. */
  readonly host: string | undefined;
  /** True when the client reached a trusted proxy by TLS. */
  readonly isTls: boolean;
  /** True when a trusted proxy forwarded the request. */
  readonly isProxied: boolean;
}

/**
 * Reads the X-Forwarded headers of trusted proxies. Each proxy appends the address that it saw to X-Forwarded-For, so
 * the list is read from its end while the addresses are trusted proxies: earlier entries are claims of the client. Host
 * and scheme come from the last proxy. The headers of other connections are ignored.
 */
export function senderOf(
  { socket, headers }: Pick<IncomingMessage, 'socket' | 'headers'>,
  { trustedProxies }: { readonly trustedProxies?: BlockList },
): Sender {
  let address = plainAddress(socket.remoteAddress ?? '');
  const isTrusted = (): boolean => trustedProxies !== undefined && isIn(trustedProxies, address);
  if (!isTrusted()) return { address, host: headers.host, isTls: false, isProxied: false };
  const addresses = listOf(headers['x-forwarded-for']).map(plainAddress);
  while (isTrusted() && isIP(addresses.at(-1) ?? '') !== 0) address = addresses.pop()!;
  return {
    address,
    host: listOf(headers['x-forwarded-host']).at(-1) ?? headers.host,
    isTls: listOf(headers['x-forwarded-proto']).at(-1) === 'https',
    isProxied: true,
  };
}

function isIn(list: BlockList, address: string): boolean {
  const version = isIP(address);
  return version !== 0 && list.check(address, version === 6 ? 'ipv6' : 'ipv4');
}

/** Returns the IPv4 address inside an IPv4-mapped IPv6 address. */
function plainAddress(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '');
}

function listOf(header: string | readonly string[] | undefined): string[] {
  return [header ?? []]
    .flat()
    .join(',')
    .split(',')
    .map((text) => text.trim())
    .filter((text) => text !== '');
}
