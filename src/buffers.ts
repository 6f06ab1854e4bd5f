import { Slice } from './turns.js';
import { MessageChannel } from 'node:worker_threads';

/**
 * Frees the memory of bytes that are no longer needed; they are empty afterwards. Streams call this, because the
 * garbage collector looks at the JavaScript heap and lets about 80 MB of written buffers accumulate. Bytes that share
 * their buffer with others are not freed.
 */
export function freeBytes({ buffer, byteLength }: ArrayBufferView): void {
  if (byteLength === 0 || byteLength !== buffer.byteLength || !(buffer instanceof ArrayBuffer)) return;
  discard(buffer);
}

/** ArrayBuffer.transfer exists in Node 22 and later. */
type Transferable = ArrayBuffer & { transfer(byteLength: number): ArrayBuffer };

const discard: (buffer: ArrayBuffer) => void =
  'transfer' in ArrayBuffer.prototype
    ? (buffer) => void (buffer as Transferable).transfer(0)
    : discardByPort(new MessageChannel());

/** A message to a closed port is dropped at once, together with its transferred buffers. */
function discardByPort({ port1, port2 }: MessageChannel): (buffer: ArrayBuffer) => void {
  port2.close();
  return (buffer) => port1.postMessage(undefined, [buffer]);
}

/** Buffer.concat in slices, because writing to fresh memory takes longer than the copy. Errors  none */
export async function joinInTurns(pieces: readonly Uint8Array[]): Promise<Buffer> {
  const joined = Buffer.allocUnsafe(pieces.reduce((sum, { length }) => sum + length, 0));
  const slice = new Slice();
  let at = 0;
  for (const piece of pieces) {
    joined.set(piece, at);
    at += piece.length;
    if (slice.isOver) await slice.pause();
  }
  return joined;
}
