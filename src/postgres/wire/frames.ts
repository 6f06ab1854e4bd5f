import type { Duplex } from 'node:stream';
import { POSTGRES_READ_AHEAD_BYTES } from '../../limits.js';
import { ProtocolFault } from './protocol-fault.js';

/** One message: its type, absent in the first message of a connection, and the bytes after its length. */
export interface Frame {
  readonly type?: string;
  readonly body: Buffer;
}

const LENGTH_BYTES = 4;

/** Splits the bytes of a connection into messages. The buffer is bounded. */
export class Frames {
  readonly #stream: Duplex;
  #bytes: Buffer = Buffer.alloc(0);
  #isEnded = false;
  #wake: (() => void) | undefined;

  constructor(stream: Duplex) {
    this.#stream = stream;
    stream.on('data', this.#onData);
    stream.once('end', this.#onEnd);
    stream.once('close', this.#onEnd);
  }

  /**
   * Returns the next message; undefined at the end of the connection.
   * Errors  ProtocolFault for a malformed message, or one over the bound
   */
  async next(kind: 'startup' | 'typed', maxBytes: number): Promise<Frame | undefined> {
    const typeBytes = kind === 'typed' ? 1 : 0;
    if (!(await this.#has(typeBytes + LENGTH_BYTES))) return undefined;
    const length = this.#bytes.readInt32BE(typeBytes);
    if (length < LENGTH_BYTES || length > maxBytes) {
      throw new ProtocolFault(
        '08P01',
        `A message has a length of ${length} bytes; expected 4 to ${maxBytes}.`,
      );
    }
    if (!(await this.#has(typeBytes + length))) return undefined;
    const body = this.#bytes.subarray(typeBytes + LENGTH_BYTES, typeBytes + length);
    const type = kind === 'typed' ? String.fromCharCode(this.#bytes[0]) : undefined;
    this.#bytes = this.#bytes.subarray(typeBytes + length);
    if (this.#bytes.length <= POSTGRES_READ_AHEAD_BYTES) this.#stream.resume();
    return { ...(type !== undefined && { type }), body };
  }

  /** True if unread bytes are in the buffer. */
  hasMore(): boolean {
    return this.#bytes.length > 0;
  }

  /** Stops reading from the stream, for example before TLS starts. */
  release(): void {
    this.#stream.off('data', this.#onData);
    this.#stream.off('end', this.#onEnd);
    this.#stream.off('close', this.#onEnd);
  }

  async #has(count: number): Promise<boolean> {
    while (this.#bytes.length < count && !this.#isEnded) {
      this.#stream.resume();
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
    return this.#bytes.length >= count;
  }

  readonly #onData = (chunk: Buffer): void => {
    this.#bytes = Buffer.concat([this.#bytes, chunk]);
    // Reading continues during a statement, to detect a disconnect. The buffer bounds it.
    if (this.#bytes.length > POSTGRES_READ_AHEAD_BYTES) this.#stream.pause();
    this.#wake?.();
  };

  readonly #onEnd = (): void => {
    this.#isEnded = true;
    this.#wake?.();
  };
}
