import { Storage } from '../services/storage/storage.js';
import { AddressRules } from '../services/webhooks/address.js';
import { Webhooks } from '../services/webhooks/webhooks.js';
import type { Ground } from './ground.js';

/** Delivers between its start and its stop, which the server calls. */
export function composeWebhooks({ config, tables, pages, world, now }: Ground): Webhooks {
  return new Webhooks({
    table: tables.webhooks,
    pages,
    addresses: new AddressRules(config.webhookNetworks),
    now,
    random: world.random,
    world,
  });
}

/** Takes and serves files; cleans up between its start and its stop, which the server calls. */
export function composeStorage(
  { config, tables, sealingKey, world, now }: Ground,
  webhooks: Webhooks,
): Storage {
  return new Storage({
    tables: tables.storage,
    bounds: { quotaBytes: config.storageQuotaBytes, reserveBytes: config.storageReserveBytes },
    sealingKey,
    now,
    world,
    onChange: () => webhooks.wake(),
  });
}
