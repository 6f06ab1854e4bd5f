import type { IncomingMessage } from 'node:http';
import { isIP, type BlockList } from 'node:net';

/** Who has sent a request, and by which name of ours. */
export interface Sender {
  /** Of the client, or of the last proxy that is not trusted; empty where the connection has gone. */
  readonly address: string;
  /** Host by which the client addressed us, with its port where it gave one. */
  readonly host: string | undefined;
  /** True where the client came to a trusted proxy by TLS. */
  readonly isTls: boolean;
  /** True where a trusted proxy has passed the request on. */
  readonly isProxied: boolean;
}

/**
 * What trusted proxies say of a request. Each proxy adds the address that it has seen to the end of X-Forwarded-For, so
 * the list is read from its end for as long as trusted proxies are speaking: what stands before is the client's claim.
 * Host and scheme are those of the last proxy. Of a connection that is no trusted proxy's, none of it counts.
 */
export function senderOf(
  { socket, headers }: Pick<IncomingMessage, 'socket' | 'headers'>,
  { trustedProxies }: { readonly trustedProxies?: BlockList },
): Sender {
  let address = plainAddress(socket.remoteAddress ?? '');
  const isTrusted = (): boolean => trustedProxies !== undefined && isIn(trustedProxies, address);
  if (!isTrusted()) return { address, host: headers.host, isTls: false, isProxied: false };
  const said = listOf(headers['x-forwarded-for']).map(plainAddress);
  while (isTrusted() && isIP(said.at(-1) ?? '') !== 0) address = said.pop()!;
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

/** An IPv4 address that is mapped into IPv6 is what it carries. */
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
