import { expect, it } from 'vitest';
import { freeBytes } from '#src/buffers.js';

const canFree = 'transfer' in ArrayBuffer.prototype;

it.skipIf(!canFree)('freed bytes are gone at once', () => {
  const bytes = Buffer.allocUnsafeSlow(65_536);
  freeBytes(bytes);
  expect(bytes.length).toBe(0);
  freeBytes(bytes);
});

it('bytes that share their memory with others are left alone', () => {
  const pooled = Buffer.from('a few bytes of a pool');
  freeBytes(pooled);
  expect(pooled.toString()).toBe('a few bytes of a pool');
  const shared = new Uint8Array(new SharedArrayBuffer(8));
  freeBytes(shared);
  expect(shared.length).toBe(8);
});
