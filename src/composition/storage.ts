import { Storage } from '../services/storage/storage.js';
import { AddressRules } from '../services/webhooks/address.js';
import { Webhooks } from '../services/webhooks/webhooks.js';
import type { Foundation } from './foundation.js';

/** Composes webhooks. The server calls start and stop; deliveries are sent between the two. */
export function composeWebhooks({ config, tables, pages, world, now }: Foundation): Webhooks {
  return new Webhooks({
    table: tables.webhooks,
    pages,
    addresses: new AddressRules(config.webhookNetworks),
    now,
    random: world.random,
    world,
  });
}

/** Composes the storage of files. The server calls start and stop; cleanup runs between the two. */
export function composeStorage(
  { config, tables, sealingKey, world, now }: Foundation,
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
