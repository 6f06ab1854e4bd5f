import type { ServerResponse } from 'node:http';
import { KIBIBYTE_BYTES } from '../../limits.js';
import type { OpenBytes } from '../../services/reply.js';

/** Bytes in flight to a client while the next bytes are produced. */
const AHEAD_MAX_BYTES = 512 * KIBIBYTE_BYTES;

/**
 * Writes bytes at the client's pace and ends the response. `close` runs in every case.
 * Errors  those of the source: the response then breaks off, so that no client takes a part for the whole
 * Cost    a bounded number of bytes in memory, whatever the client's pace: a piece is released after it was sent
 */
export async function sendBytes(
  response: ServerResponse,
  { bytes, release, close }: OpenBytes,
): Promise<void> {
  let aheadBytes = 0;
  let isGone = response.destroyed;
  let wake = (): void => undefined;
  response.once('close', () => {
    isGone = true;
    wake();
  });
  const send = (piece: Uint8Array): void => {
    const { length } = piece;
    aheadBytes += length;
    response.write(piece, (error) => {
      // After a failed write the socket may still read the bytes, so they are not released.
      if (!error) release?.(piece);
      aheadBytes -= length;
      wake();
    });
  };
  try {
    for await (const piece of bytes) {
      if (piece.length > 0) send(piece);
      while (aheadBytes >= AHEAD_MAX_BYTES && !isGone) await new Promise<void>((resolve) => (wake = resolve));
      if (isGone) return;
    }
    response.end();
  } catch (error) {
    response.destroy();
    throw error;
  } finally {
    close();
  }
}
