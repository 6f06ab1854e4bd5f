import { ProtocolFault } from './protocol-fault.js';

/** Reads the parts of one message; nothing is read beyond its end. */
export interface MessageReader {
  int16(): number;
  int32(): number;
  /** Text up to a zero byte. */
  text(): string;
  bytes(count: number): Buffer;
  hasMore(): boolean;
}

/** Errors  each part throws ProtocolFault where the message ends before it does */
export function readMessage(body: Buffer): MessageReader {
  let at = 0;
  const take = (count: number): Buffer => {
    if (count < 0 || at + count > body.length) {
      throw new ProtocolFault('08P01', 'A message ends within one of its parts.', true);
    }
    at += count;
    return body.subarray(at - count, at);
  };
  return {
    int16: () => take(2).readInt16BE(0),
    int32: () => take(4).readInt32BE(0),
    text() {
      const end = body.indexOf(0, at);
      const text = take(end === -1 ? body.length + 1 : end - at).toString('utf8');
      take(1);
      return text;
    },
    bytes: take,
    hasMore: () => at < body.length,
  };
}
