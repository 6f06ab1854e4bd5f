// @module-tag fast

import { blobValue, listValue } from '@duckdb/node-api';
import { expect, it } from 'vitest';
import { postgresText } from '#src/sql/engine/values.js';

it('the text of bytes is "\\x" and the hexadecimal digits of all bytes, as PostgreSQL writes bytea', () => {
  const bytes = blobValue(Uint8Array.of(0xaa, 0x00, 0x41, 0x5c));
  expect(postgresText(bytes)).toBe('\\xaa00415c');
  expect(postgresText(blobValue(Uint8Array.of()))).toBe('\\x');
  expect(postgresText(listValue([bytes, null]))).toBe('{"\\\\xaa00415c",NULL}');
});
