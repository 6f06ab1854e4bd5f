import { IncomingMessage, type ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { byteBody } from '#src/http/body/body.js';
import { BYTE_BODY_PROGRESS_BYTES, BYTE_BODY_PROGRESS_MS } from '#src/limits.js';

/* The rate at which a body of bytes must come, with a clock that the test moves. */

const MAX_BYTES = 1e9;

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
afterEach(() => void vi.useRealTimers());

function request() {
  const message = new IncomingMessage(new Socket());
  const body = byteBody(message, {} as ServerResponse, MAX_BYTES);
  const reader = body.bytes[Symbol.asyncIterator]();
  return { message, body, reader };
}

/** Reads a piece that comes after this time. */
async function readAfter(
  ms: number,
  size: number,
  { message, reader }: ReturnType<typeof request>,
): Promise<number> {
  const read = reader.next();
  read.catch(() => undefined);
  await vi.advanceTimersByTimeAsync(ms);
  message.push(Buffer.alloc(size));
  return ((await read).value as Uint8Array).length;
}

describe('a body of bytes', () => {
  it('that comes with one byte every 45 s is refused', async () => {
    const slow = request();
    expect(await readAfter(45_000, 1, slow)).toBe(1);
    await expect(readAfter(45_000, 1, slow)).rejects.toMatchObject({ code: 'request_timeout' });
  });

  it('that pauses for the whole time is refused', async () => {
    await expect(readAfter(BYTE_BODY_PROGRESS_MS, 1, request())).rejects.toMatchObject({
      code: 'request_timeout',
    });
  });

  it('that comes just fast enough is read for as long as it comes', async () => {
    const steady = request();
    for (let count = 0; count < 100; count += 1) {
      await readAfter(BYTE_BODY_PROGRESS_MS / 2, BYTE_BODY_PROGRESS_BYTES - 1, steady);
      await readAfter(BYTE_BODY_PROGRESS_MS / 2 - 1, 1, steady);
    }
  });

  it('whose reader is slow is not refused', async () => {
    const unread = request();
    await readAfter(30_000, 1, unread);
    await vi.advanceTimersByTimeAsync(100 * BYTE_BODY_PROGRESS_MS);
    expect(await readAfter(29_000, 1, unread)).toBe(1);
    await expect(readAfter(2_000, 1, unread)).rejects.toMatchObject({ code: 'request_timeout' });
  });

  it.each([true, false])(
    'that is ended stops its reader with the reason (reading: %s)',
    async (isReading) => {
      const { body, reader } = request();
      const read = isReading && reader.next();
      body.end(new Error('superseded'));
      await expect(read || reader.next()).rejects.toThrow('superseded');
    },
  );
});
