import { ProtocolFault } from './protocol-fault.js';

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Decodes UTF-8. Errors  ProtocolFault for invalid bytes, because replacement characters would change the text */
export function utf8(bytes: Buffer): string {
  try {
    return UTF8.decode(bytes);
  } catch {
    throw new ProtocolFault('22021', 'A text is not valid UTF-8.');
  }
}

/**
 * Reads the fields of one message.
 * Errors  each method throws ProtocolFault if the message ends too early
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

  /** Reads text up to a zero byte. */
  text(): string {
    const end = this.#body.indexOf(0, this.#at);
    const text = utf8(this.bytes(end === -1 ? this.#body.length + 1 : end - this.#at));
    this.bytes(1);
    return text;
  }

  bytes(count: number): Buffer {
    if (count < 0 || this.#at + count > this.#body.length) {
      throw new ProtocolFault('08P01', 'A message ends within a field.', true);
    }
    this.#at += count;
    return this.#body.subarray(this.#at - count, this.#at);
  }

  hasMore(): boolean {
    return this.#at < this.#body.length;
  }
}
