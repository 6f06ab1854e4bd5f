// @module-tag fast

import { expect, it } from 'vitest';
import { freeBytes } from '#src/buffers.js';

it('freed bytes leave memory at once, without a garbage collection', () => {
  const [PIECES, PIECE_BYTES] = [200, 1024 * 1024];
  const before = process.memoryUsage().arrayBuffers;
  for (let piece = 0; piece < PIECES; piece += 1) {
    const bytes = Buffer.allocUnsafeSlow(PIECE_BYTES);
    freeBytes(bytes);
    expect(bytes.length).toBe(0);
    freeBytes(bytes);
  }
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(2 * PIECE_BYTES);
});

it('bytes that share their memory with others are not freed', () => {
  const pooled = Buffer.from('a few bytes of a pool');
  freeBytes(pooled);
  expect(pooled.toString()).toBe('a few bytes of a pool');
  const shared = new Uint8Array(new SharedArrayBuffer(8));
  freeBytes(shared);
  expect(shared.length).toBe(8);
});
