/** Bytes per floating-point number of half, single or double precision. */
export type FloatBytes = 2 | 4 | 8;

/**
 * Converts little-endian floating-point numbers to float32. The bytes need not be aligned.
 * Shape   float32 [bytes ÷ floatBytes]
 * Unit    that of the numbers
 * Range   that of float32; larger doubles become infinite
 */
export function readFloats(bytes: Buffer, floatBytes: FloatBytes): Float32Array {
  const floats = new Float32Array(Math.floor(bytes.length / floatBytes));
  const halves = floatBytes === 2 ? halfTable() : undefined;
  for (let at = 0; at < floats.length; at += 1) {
    const offset = at * floatBytes;
    floats[at] =
      halves !== undefined
        ? halves[bytes.readUInt16LE(offset)]
        : floatBytes === 4
          ? bytes.readFloatLE(offset)
          : bytes.readDoubleLE(offset);
  }
  return floats;
}

let table: Float32Array | undefined;

/** Returns all half-precision numbers, indexed by their bits, because Node 20 has no Float16Array. */
function halfTable(): Float32Array {
  table ??= Float32Array.from({ length: 1 << 16 }, (_, bits) => {
    const [sign, exponent, fraction] = [bits >> 15 === 0 ? 1 : -1, (bits >> 10) & 31, bits & 1023];
    if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
    return exponent === 0 ? sign * fraction * 2 ** -24 : sign * (1024 + fraction) * 2 ** (exponent - 25);
  });
  return table;
}
