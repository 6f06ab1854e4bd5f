import type { Duplex } from 'node:stream';
import { POSTGRES_READ_AHEAD_BYTES } from '../../limits.js';
import { ProtocolFault } from './protocol-fault.js';

/** One message: its type (absent in the first one of a connection) and what follows its length. */
export interface Frame {
  readonly type?: string;
  readonly body: Buffer;
}

/** Messages of a connection, cut out of its bytes; nobody makes it hold more than the bound that applies. */
export interface Frames {
  /**
   * The next message; undefined where the connection has ended.
   * Errors  ProtocolFault for a message that is longer than the bound, or that is none
   */
  next(kind: 'startup' | 'typed', maxBytes: number): Promise<Frame | undefined>;
  /** True where bytes have come that belong to no message taken so far. */
  hasMore(): boolean;
  /** Gives the stream back, as before a change to TLS. */
  release(): void;
}

const LENGTH_BYTES = 4;

export function readFrames(stream: Duplex): Frames {
  let bytes: Buffer = Buffer.alloc(0);
  let isEnded = false;
  let wake: (() => void) | undefined;
  const onData = (chunk: Buffer): void => {
    bytes = Buffer.concat([bytes, chunk]);
    // Reading goes on beside the work, so that a client that leaves is noticed, but not without bound.
    if (bytes.length > POSTGRES_READ_AHEAD_BYTES) stream.pause();
    wake?.();
  };
  const onEnd = (): void => {
    isEnded = true;
    wake?.();
  };
  stream.on('data', onData);
  stream.once('end', onEnd);
  stream.once('close', onEnd);

  const more = (): Promise<void> => {
    stream.resume();
    return new Promise((resolve) => (wake = resolve));
  };
  const has = async (count: number): Promise<boolean> => {
    while (bytes.length < count && !isEnded) await more();
    return bytes.length >= count;
  };
  return {
    async next(kind, maxBytes) {
      const typeBytes = kind === 'typed' ? 1 : 0;
      if (!(await has(typeBytes + LENGTH_BYTES))) return undefined;
      const length = bytes.readInt32BE(typeBytes);
      if (length < LENGTH_BYTES || length > maxBytes) {
        throw new ProtocolFault(
          '08P01',
          `A message has a length of ${length} bytes; 4 to ${maxBytes} may be.`,
        );
      }
      if (!(await has(typeBytes + length))) return undefined;
      const body = bytes.subarray(typeBytes + LENGTH_BYTES, typeBytes + length);
      const type = kind === 'typed' ? String.fromCharCode(bytes[0]) : undefined;
      bytes = bytes.subarray(typeBytes + length);
      if (bytes.length <= POSTGRES_READ_AHEAD_BYTES) stream.resume();
      return { ...(type !== undefined && { type }), body };
    },
    hasMore: () => bytes.length > 0,
    release() {
      stream.off('data', onData);
      stream.off('end', onEnd);
      stream.off('close', onEnd);
    },
  };
}
