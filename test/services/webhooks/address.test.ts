// @module-tag fast

import { describe, expect, it } from 'vitest';
import { AddressRules, ForbiddenAddress, type Lookup } from '#src/services/webhooks/address.js';

const standsFor =
  (...addresses: string[]): Lookup =>
  async () =>
    addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
const hostOf = (url: string): string => new URL(url).hostname;

describe('addresses of webhook receivers', () => {
  it('are never local, link-local, metadata, multicast, reserved or another address in disguise', async () => {
    const rules = new AddressRules(['0.0.0.0/0', '::/0']);
    for (const address of [
      '0.0.0.0',
      '100.100.100.200',
      '169.254.169.254',
      '192.0.0.192',
      '198.18.0.1',
      '224.0.0.1',
      '255.255.255.255',
      '168.63.129.16',
      '::',
      '::2',
      '::7f00:1',
      '::a9fe:a9fe',
      '::ffff:0:7f00:1',
      '::ffff:0:a9fe:a9fe',
      '100:0:0:1::1',
      '::ffff:169.254.169.254',
      '64:ff9b::a9fe:a9fe',
      '2002:a9fe:a9fe::1',
      'fd00:ec2::254',
      'fd20:ce::254',
      'fe80::1',
      'ff02::1',
    ]) {
      const named = new AddressRules(['0.0.0.0/0', '::/0'], standsFor(address));
      await expect(named.resolve('receiver.example'), address).rejects.toBeInstanceOf(ForbiddenAddress);
      await expect(rules.resolve(address), address).rejects.toBeInstanceOf(ForbiddenAddress);
    }
  });

  it('are private only where the configuration allows that network', async () => {
    const none = new AddressRules([]);
    const some = new AddressRules(['10.1.0.0/16', '127.0.0.0/8', 'fd12::/16']);
    expect(await new AddressRules(['::1/128']).resolve('::1')).toMatchObject({ address: '::1' });
    expect(await none.resolve('::ffff:93.184.216.34')).toMatchObject({ family: 6 });
    for (const address of ['10.1.2.3', '127.0.0.1', 'fd12::7']) {
      await expect(none.resolve(address), address).rejects.toBeInstanceOf(ForbiddenAddress);
      expect(await some.resolve(address)).toMatchObject({ address });
    }
    for (const address of ['10.2.0.1', '172.16.0.1', '192.168.1.1', '100.64.0.1', '::1', 'fd13::1']) {
      await expect(some.resolve(address), address).rejects.toBeInstanceOf(ForbiddenAddress);
    }
  });

  it('are seen through every spelling of a URL', async () => {
    const rules = new AddressRules([]);
    for (const url of [
      'http://127.1/',
      'http://2130706433/',
      'http://0x7f.0.0.1/',
      'http://0177.0.0.1/',
      'http://[::1]/',
      'http://[::ffff:127.0.0.1]/',
      'http://[::ffff:7f00:1]/',
      'http://[::127.0.0.1]/',
      'http://[::ffff:0:7f00:1]/',
      'http://[0:0:0:0:ffff:0:127.0.0.1]/',
    ]) {
      await expect(rules.resolve(hostOf(url)), url).rejects.toBeInstanceOf(ForbiddenAddress);
    }
  });

  it('are refused where any address of a name is forbidden, and the first is pinned otherwise', async () => {
    const mixed = new AddressRules([], standsFor('93.184.216.34', '127.0.0.1'));
    await expect(mixed.resolve('two-faced.example')).rejects.toThrow(/127\.0\.0\.1/);
    const good = new AddressRules([], standsFor('93.184.216.34', '2606:2800:220:1::1'));
    expect(await good.resolve('good.example')).toEqual({ address: '93.184.216.34', family: 4 });
    const empty = new AddressRules([], standsFor());
    await expect(empty.resolve('nowhere.example')).rejects.toBeInstanceOf(ForbiddenAddress);
  });
});
