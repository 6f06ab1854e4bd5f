import type { Ajv2020, ValidateFunction } from 'ajv/dist/2020.js';
import { MEBIBYTE_BYTES } from '../../limits.js';
import type { JsonSchema } from './references.js';

/*
 * Validates lists and texts that would block the event loop if they were checked at once. Their schemas get two
 * keywords of this file. `longItems` records a list, whose elements are checked later in steps; Ajv joins the errors
 * of all elements by copying the earlier ones for each. The elements of a list that is longer than its bound are not
 * checked. `longText` measures a text in UTF-16 code units, whose number JavaScript knows without a scan.
 */

/** Lists of at most so many elements are checked at once. */
const SHORT_LIST_ELEMENTS = 32;
const LONG_TEXT_CHARACTERS = MEBIBYTE_BYTES;

/** A long list in a validated value, and the check of its elements. */
export interface LongList {
  readonly list: readonly unknown[];
  /** JSON pointer. */
  readonly path: string;
  readonly check: ValidateFunction;
}

/** Collects the long lists of one validation. */
export class LongLists {
  #met: LongList[] = [];

  constructor(ajv: Ajv2020) {
    ajv.addKeyword({
      keyword: 'longItems',
      type: 'array',
      schemaType: 'object',
      errors: false,
      compile: (items: JsonSchema, schema: JsonSchema) => {
        const check = ajv.compile(items);
        const maxItems = Number(schema.maxItems ?? Infinity);
        return (list: unknown[], context) => {
          if (list.length <= maxItems) this.#met.push({ list, path: context?.instancePath ?? '', check });
          return true;
        };
      },
    });
    ajv.addKeyword({
      keyword: 'longText',
      type: 'string',
      schemaType: 'number',
      validate: (most: number, text: string) => text.length <= most,
      error: { message: ({ schema }) => `must NOT have more than ${String(schema)} characters` },
    });
  }

  /**
   * Returns the lists recorded since the last call. Call it directly after a validation, before another one can run.
   */
  take(): readonly LongList[] {
    if (this.#met.length === 0) return NONE;
    const met = this.#met;
    this.#met = [];
    return met;
  }
}

const NONE: readonly LongList[] = [];

/** Replaces `items` of lists that may be long by `longItems`, and `maxLength` of long texts by `longText`. */
export function withLongWords(schema: JsonSchema): JsonSchema {
  const rewrite = (node: unknown): unknown => {
    if (Array.isArray(node)) return node.map(rewrite);
    if (typeof node !== 'object' || node === null) return node;
    const { items, maxItems, maxLength, ...rest } = node as JsonSchema;
    const isLongList = items !== undefined && Number(maxItems ?? Infinity) > SHORT_LIST_ELEMENTS;
    const isLongText = Number(maxLength) > LONG_TEXT_CHARACTERS;
    const members = {
      ...rest,
      ...(items !== undefined && { [isLongList ? 'longItems' : 'items']: items }),
      ...(maxItems !== undefined && { maxItems }),
      ...(maxLength !== undefined && { [isLongText ? 'longText' : 'maxLength']: maxLength }),
    };
    return Object.fromEntries(Object.entries(members).map(([word, value]) => [word, rewrite(value)]));
  };
  return rewrite(schema) as JsonSchema;
}
