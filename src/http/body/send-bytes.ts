import type { ServerResponse } from 'node:http';
import { KIBIBYTE_BYTES } from '../../limits.js';
import type { OpenBytes } from '../../services/reply.js';

/** Bytes that are on their way to a client while the next are made. */
const AHEAD_MAX_BYTES = 512 * KIBIBYTE_BYTES;

/**
 * Writes bytes as fast as the client takes them, and ends the response; `close` is called whatever happens.
 * Errors  those of the source: the response then breaks off, so that no client takes a part for the whole
 * Cost    holds a bounded number of bytes, whatever the client's pace: a piece is released as soon as it is out
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
      // Of what could not be written nobody knows whether the socket still reads it.
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
