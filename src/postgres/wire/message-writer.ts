/** Writes one message: type, length and fields. Source  PostgreSQL, chapter "Message Formats" */
export function message(type: string, ...parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.from(type, 'latin1'), int32(LENGTH_BYTES + body.length), body]);
}

/** The length of a message includes itself. */
const LENGTH_BYTES = 4;

/** Writes the low 16 bits, so that a format code returns to the client as it came. */
export function int16(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(2);
  bytes.writeUInt16BE(value & 0xffff);
  return bytes;
}

export function int32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeInt32BE(value | 0);
  return bytes;
}

/** Writes text and a terminating zero byte. */
export function text(value: string): Buffer {
  return Buffer.from(`${value}\0`);
}
