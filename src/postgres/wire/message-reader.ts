import { ProtocolFault } from './protocol-fault.js';

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Errors  ProtocolFault for bytes that are no UTF-8: what stands for them would not be what was sent */
export function utf8(bytes: Buffer): string {
  try {
    return UTF8.decode(bytes);
  } catch {
    throw new ProtocolFault('22021', 'A text has bytes that are no UTF-8.');
  }
}

/**
 * Reads the parts of one message; nothing is read beyond its end.
 * Errors  each part throws ProtocolFault where the message ends before it does
 */
export class MessageReader {
  readonly #body: Buffer;
  #at = 0;

  constructor(body: Buffer) {
    this.#body = body;
  }

  int16(): number {
    return this.bytes(2).readInt16BE(0);
  }

  int32(): number {
    return this.bytes(4).readInt32BE(0);
  }

  /** Text up to a zero byte. */
  text(): string {
    const end = this.#body.indexOf(0, this.#at);
    const text = utf8(this.bytes(end === -1 ? this.#body.length + 1 : end - this.#at));
    this.bytes(1);
    return text;
  }

  bytes(count: number): Buffer {
    if (count < 0 || this.#at + count > this.#body.length) {
      throw new ProtocolFault('08P01', 'A message ends within one of its parts.', true);
    }
    this.#at += count;
    return this.#body.subarray(this.#at - count, this.#at);
  }

  hasMore(): boolean {
    return this.#at < this.#body.length;
  }
}
