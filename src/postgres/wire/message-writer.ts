/** One message: its type, how long it is, and its parts. Source  PostgreSQL, chapter "Message Formats" */
export function message(type: string, ...parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.from(type, 'latin1'), int32(LENGTH_BYTES + body.length), body]);
}

/** The length of a message counts itself. */
const LENGTH_BYTES = 4;

/** Its low 16 bits: what a client has sent as a format is sent back as it is. */
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

/** Text and the zero byte that ends it. */
export function text(value: string): Buffer {
  return Buffer.from(`${value}\0`);
}
