import { isExactDecimal, isIntegralDecimal } from '../../../decimals.js';
import type { AttributeType, AttributeValue } from '../../../release/release.js';

export interface MetadataColumn {
  readonly name: string;
  /** Type from the header; undefined if the type is inferred. */
  readonly type?: AttributeType;
  readonly guess: TypeGuess;
}

/** Infers the narrowest type that fits all cells. */
export interface TypeGuess {
  see(cell: string): void;
  type(): AttributeType;
}

const TYPES: ReadonlySet<string> = new Set<AttributeType>([
  'string',
  'integer',
  'number',
  'boolean',
  'string_list',
]);
const INTEGER = /^[+-]?\d+$/;
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/;
const LIST_SEPARATOR = ';';

/** Parses `name:type`. Text after the last colon that is not a type belongs to the name. */
export function parseColumn(cell: string): Pick<MetadataColumn, 'name' | 'type'> {
  const colon = cell.lastIndexOf(':');
  const type = cell.slice(colon + 1).trim();
  return colon > 0 && TYPES.has(type)
    ? { name: cell.slice(0, colon).trim(), type: type as AttributeType }
    : { name: cell };
}

/**
 * Returns the value of a cell; undefined if it is empty or not of the type. Whole numbers must be exact as doubles, so
 * that no two ids become one. A fraction becomes its nearest double.
 */
export function parseCell(type: AttributeType, cell: string): AttributeValue | undefined {
  if (cell === '') return undefined;
  switch (type) {
    case 'string':
      return cell;
    case 'integer':
      return INTEGER.test(cell) && Number.isSafeInteger(Number(cell)) ? Number(cell) : undefined;
    case 'number':
      return NUMBER.test(cell) && isHeldAsDouble(cell) ? Number(cell) : undefined;
    case 'boolean': {
      const word = cell.toLowerCase();
      return word === 'true' ? true : word === 'false' ? false : undefined;
    }
    case 'string_list':
      return cell
        .split(LIST_SEPARATOR)
        .map((item) => item.trim())
        .filter((item) => item !== '');
  }
}

function isHeldAsDouble(cell: string): boolean {
  return Number.isFinite(Number(cell)) && (!isIntegralDecimal(cell) || isExactDecimal(cell));
}

/** Cells with a leading zero or plus are codes, so their column is text. Lists are never inferred. */
export function createTypeGuess(): TypeGuess {
  const fits = { boolean: true, integer: true, number: true };
  let isSeen = false;
  return {
    see(cell) {
      isSeen = true;
      const isCode = /^[+-]?0\d|^\+/.test(cell);
      fits.boolean &&= parseCell('boolean', cell) !== undefined;
      fits.integer &&= !isCode && parseCell('integer', cell) !== undefined;
      fits.number &&= !isCode && parseCell('number', cell) !== undefined;
    },
    type() {
      if (!isSeen) return 'string';
      return fits.boolean ? 'boolean' : fits.integer ? 'integer' : fits.number ? 'number' : 'string';
    },
  };
}
