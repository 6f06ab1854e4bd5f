import { BlockList, isIP } from 'node:net';
import type { ApplianceConfig } from '../../config.js';
import { Refusal } from '../../errors.js';
import type { ShellOptions } from '../../http/shell.js';

type ProxySetting = 'publicUrl' | 'trustedProxies' | 'userHeader';

/** Path of the public address, empty without one, and the trusted proxies. Errors  those of trustedProxiesOf */
export function behindProxies({
  publicUrl,
  trustedProxies,
  userHeader,
}: Pick<ApplianceConfig, ProxySetting>): Pick<ShellOptions, 'basePath' | 'trustedProxies' | 'userHeader'> {
  const basePath = publicUrl === undefined ? '' : new URL(publicUrl).pathname.replace(/\/$/, '');
  return { basePath, trustedProxies: trustedProxiesOf(trustedProxies), userHeader };
}

/** Errors  Refusal `invalid_config` that names a value that is no address or network */
export function trustedProxiesOf(addresses: readonly string[]): BlockList {
  const list = new BlockList();
  for (const text of addresses) {
    const [address = '', bits] = text.split('/');
    const version = isIP(address);
    const longest = version === 6 ? 128 : 32;
    const length = bits === undefined ? longest : Number(bits);
    if (version === 0 || length > longest) {
      throw new Refusal(
        'invalid_config',
        `trusted_proxies expects addresses and networks; ${text} is neither.`,
      );
    }
    list.addSubnet(address, length, version === 6 ? 'ipv6' : 'ipv4');
  }
  return list;
}
