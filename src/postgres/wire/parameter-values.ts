import type { SqlParameter } from '../../sql/engine/messages.js';
import { utf8, type MessageReader } from './message-reader.js';
import { ProtocolFault } from './protocol-fault.js';

const TYPES = { bool: 16, int8: 20, int2: 21, int4: 23, text: 25, float4: 700, float8: 701, varchar: 1043 };
const INTEGERS = new Set([TYPES.int2, TYPES.int4, TYPES.int8]);
const FLOATS = new Set([TYPES.float4, TYPES.float8]);
const TEXTS = new Set([0, TYPES.text, TYPES.varchar]);

/**
 * Reads the parameter values of a Bind message.
 * Errors  ProtocolFault for a binary value of an unsupported type
 */
export function readParameters(
  reader: MessageReader,
  formats: readonly number[],
  typeIds: readonly number[],
): readonly SqlParameter[] {
  const count = reader.int16();
  return Array.from({ length: Math.max(0, count) }, (_, index) => {
    const length = reader.int32();
    if (length === -1) return null;
    const bytes = reader.bytes(length);
    const format = (formats.length > 1 ? formats[index] : formats[0]) ?? 0;
    const typeId = typeIds[index] ?? 0;
    return format === 1 ? binaryValue(bytes, typeId) : textValue(utf8(bytes), typeId);
  });
}

/** Converts a text value. If the type is open, the engine converts the text. */
function textValue(text: string, typeId: number): SqlParameter {
  if (typeId === TYPES.bool) return /^(t|true|on|yes|1)$/i.test(text.trim());
  const isNumber =
    (INTEGERS.has(typeId) && Number.isSafeInteger(Number(text))) ||
    (FLOATS.has(typeId) && Number.isFinite(Number(text)));
  return isNumber && text.trim() !== '' ? Number(text) : text;
}

/** Source  the `recv` functions of PostgreSQL's types */
function binaryValue(bytes: Buffer, typeId: number): SqlParameter {
  const sized = (size: number): Buffer => {
    if (bytes.length === size) return bytes;
    throw new ProtocolFault('22P03', `A parameter has ${bytes.length} bytes; its type has ${size}.`);
  };
  if (typeId === TYPES.bool) return sized(1)[0] !== 0;
  if (typeId === TYPES.int2) return sized(2).readInt16BE(0);
  if (typeId === TYPES.int4) return sized(4).readInt32BE(0);
  if (typeId === TYPES.int8) {
    const value = sized(8).readBigInt64BE(0);
    const number = Number(value);
    return Number.isSafeInteger(number) ? number : String(value);
  }
  if (typeId === TYPES.float4) return sized(4).readFloatBE(0);
  if (typeId === TYPES.float8) return sized(8).readDoubleBE(0);
  if (TEXTS.has(typeId)) return utf8(bytes);
  throw new ProtocolFault('0A000', `Send parameters of the type ${typeId} as text; binary is not supported.`);
}
