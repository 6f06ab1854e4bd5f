import type { ControlStore } from './control-store.js';

const SEALING_KEY = 'sealing';
const SEALING_KEY_BYTES = 32;

/**
 * Returns the appliance's key for seals (cursors, signed URLs). It is created on first use and never changes. Errors
 * those of ControlStore.transaction
 */
export async function sealingKey(store: ControlStore): Promise<Buffer> {
  const secrets = store.table<string>('secrets');
  const stored = secrets.get(SEALING_KEY);
  if (stored !== undefined) return Buffer.from(store.unseal(stored, SEALING_KEY), 'base64');
  const text = await store.transaction(() => {
    const other = secrets.get(SEALING_KEY);
    if (other !== undefined) return store.unseal(other, SEALING_KEY);
    const sealingKey = store.world.randomBytes(SEALING_KEY_BYTES).toString('base64');
    secrets.putSync(SEALING_KEY, store.seal(sealingKey, SEALING_KEY));
    return sealingKey;
  });
  return Buffer.from(text, 'base64');
}
