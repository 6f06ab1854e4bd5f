// @module-tag fast

import { expect, it } from 'vitest';
import { readAccept } from '#src/http/accept.js';

it.each([
  ['application/json', 'application/json'],
  ['application/json; charset=utf-8', 'application/json'],
  ['application/json;charset="UTF-8";q=0.5', 'application/json;q=0.5'],
  ['text/html, application/json ; CHARSET = utf8, */*;q=.1', 'text/html, application/json, */*;q=.1'],
  ['application/json; charset=latin1', 'application/json; charset=latin1'],
  ['application/json; charset=utf-80', 'application/json; charset=utf-80'],
  ['application/json; profile="a, b; charset=utf-8"', 'application/json; profile="a, b; charset=utf-8"'],
  [',, application/json , ,', 'application/json'],
  [', ,', undefined],
  ['', undefined],
])('the header Accept: %s is read as %s', (sent, read) => {
  expect(readAccept(sent)).toBe(read);
});

it('a header of many quotes is read in linear time', () => {
  const start = performance.now();
  for (const text of ['"'.repeat(16_000), '"\\'.repeat(8_000), ';charset='.repeat(1_600), ', '.repeat(8_000)])
    readAccept(text);
  expect(performance.now() - start).toBeLessThan(1_000);
});
