import { lookup } from 'node:dns/promises';
import { BlockList, isIP } from 'node:net';

/** One address to which a delivery may connect. The connection uses no other. */
export interface PinnedAddress {
  readonly address: string;
  readonly family: 4 | 6;
}

/** The receiver's host name has an address to which deliveries may not connect. */
export class ForbiddenAddress extends Error {
  override readonly name = 'ForbiddenAddress';
}

export type Lookup = (
  hostname: string,
) => Promise<readonly { readonly address: string; readonly family: number }[]>;

/**
 * Forbidden in every configuration: this network, link-local (which includes cloud metadata), multicast, reserved, and
 * ranges that embed another IPv4 address. A mapped address `::ffff:a.b.c.d` is treated as the IPv4 address.
 * Source  IANA special-purpose address registries; cloud providers' metadata addresses
 */
const NEVER = [
  '0.0.0.0/8',
  '100.100.100.200/32',
  '168.63.129.16/32',
  '169.254.0.0/16',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  // All of ::/96 except ::1.
  '::/128',
  '::2-::ffff:ffff',
  '::ffff:0:0:0/96',
  '64:ff9b::/96',
  '64:ff9b:1::/48',
  '100::/64',
  '100:0:0:1::/64',
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '3fff::/20',
  '5f00::/16',
  'fd00:ec2::254/128',
  'fd20:ce::254/128',
  'fec0::/10',
  'fe80::/10',
  'ff00::/8',
] as const;

/** Allowed only by configuration: this machine and private networks. */
const ON_REQUEST = [
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '::1/128',
  'fc00::/7',
] as const;

/** Rules for the addresses of deliveries. */
export class AddressRules {
  readonly #never = blockList(NEVER);
  readonly #onRequest = blockList(ON_REQUEST);
  readonly #allowed: BlockList;
  readonly #lookup: Lookup;

  /**
   * @param allowedNetworks private networks that receivers may be in, as `10.1.0.0/16`
   * @param lookup returns every address of a name; called once for each attempt
   */
  constructor(allowedNetworks: readonly string[], lookup: Lookup = everyAddress) {
    this.#allowed = blockList(allowedNetworks);
    this.#lookup = lookup;
  }

  /**
   * Returns the present address of a host name.
   * Errors  ForbiddenAddress if any address of the name is forbidden; those of the resolver
   */
  async resolve(hostname: string): Promise<PinnedAddress> {
    // URL has normalised literals already. Brackets belong to the URL, not to the address.
    const literal = hostname.replace(/^\[(.*)\]$/, '$1');
    const addresses =
      isIP(literal) > 0 ? [{ address: literal, family: isIP(literal) }] : await this.#lookup(hostname);
    const forbidden = addresses.find(({ address }) => !this.#isAllowed(address));
    if (forbidden !== undefined) {
      const { address } = forbidden;
      throw new ForbiddenAddress(
        `${hostname} has the address ${address}, to which deliveries are not sent` +
          (this.#isNever(address)
            ? '.'
            : ': the setting webhook_networks of the appliance does not name its network.'),
      );
    }
    const [first] = addresses;
    if (first === undefined) throw new ForbiddenAddress(`${hostname} has no address.`);
    return { address: first.address, family: first.family === 6 ? 6 : 4 };
  }

  #isAllowed(address: string): boolean {
    if (this.#isNever(address)) return false;
    const family = familyOf(address);
    return !this.#onRequest.check(address, family) || this.#allowed.check(address, family);
  }

  #isNever(address: string): boolean {
    return this.#never.check(address, familyOf(address));
  }
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4';
}

function everyAddress(hostname: string): ReturnType<Lookup> {
  return lookup(hostname, { all: true, verbatim: true });
}

/** @param networks as `10.1.0.0/16`, one address, or the first and the last of a range separated by `-` */
function blockList(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [first, last] = network.split('-');
    if (last !== undefined) {
      list.addRange(first, last, isIP(first) === 6 ? 'ipv6' : 'ipv4');
      continue;
    }
    const [address, bits] = network.split('/');
    const isIpv6 = isIP(address) === 6;
    list.addSubnet(address, Number(bits ?? (isIpv6 ? 128 : 32)), isIpv6 ? 'ipv6' : 'ipv4');
  }
  return list;
}
