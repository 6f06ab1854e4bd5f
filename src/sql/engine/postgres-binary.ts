/* Binary forms of types that are more than one number of fixed size. Source  the `send` functions of PostgreSQL */

const BASE_DIGITS = 4;
const NEGATIVE = 0x4000;
const TEXT_TYPE_ID = 25;

/** Encodes a decimal number as `numeric`: digits of base 10,000, weight, sign and scale. */
export function numericBytes(decimal: string): Buffer {
  const isNegative = decimal.startsWith('-');
  const [whole = '0', fraction = ''] = decimal.replace('-', '').split('.');
  const wholeGroups = groupsOf(whole.padStart(Math.ceil(whole.length / BASE_DIGITS) * BASE_DIGITS, '0'));
  const fractionGroups = groupsOf(
    fraction.padEnd(Math.ceil(fraction.length / BASE_DIGITS) * BASE_DIGITS, '0'),
  );
  const groups = [...wholeGroups, ...fractionGroups];
  let weight = wholeGroups.length - 1;
  while (groups[0] === 0) {
    groups.shift();
    weight -= 1;
  }
  while (groups.at(-1) === 0) groups.pop();
  const header = [
    groups.length,
    groups.length === 0 ? 0 : weight,
    isNegative ? NEGATIVE : 0,
    fraction.length,
  ];
  const bytes = Buffer.alloc(2 * (header.length + groups.length));
  [...header, ...groups].forEach((value, index) => bytes.writeInt16BE(value, 2 * index));
  return bytes;
}

function groupsOf(digits: string): number[] {
  return Array.from({ length: digits.length / BASE_DIGITS }, (_, index) =>
    Number(digits.slice(BASE_DIGITS * index, BASE_DIGITS * (index + 1))),
  );
}

/** Encodes texts as `text[]` of one dimension with lower bound 1. null becomes NULL. */
export function textArrayBytes(items: readonly (string | null)[]): Buffer {
  const hasNull = items.includes(null) ? 1 : 0;
  const header = items.length === 0 ? [0, 0, TEXT_TYPE_ID] : [1, hasNull, TEXT_TYPE_ID, items.length, 1];
  const pieces = items.flatMap((item) => {
    const bytes = item === null ? undefined : Buffer.from(item);
    return bytes === undefined ? [int32(-1)] : [int32(bytes.length), bytes];
  });
  return Buffer.concat([...header.map(int32), ...pieces]);
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}
