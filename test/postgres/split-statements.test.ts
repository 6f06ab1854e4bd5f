// @module-tag fast

import { describe, expect, it } from 'vitest';
import { splitStatements, withoutComments } from '#src/postgres/split-statements.js';

/* The split of a text into statements, by the lexical rules of PostgreSQL. */

describe('a text is one statement', () => {
  it.each([
    ['text in quotes', "select 'a;b', 'it''s; fine', ';'"],
    ['a name in quotes', 'select 1 as "a;""b;"'],
    ['escaped text', String.raw`select E'a\'b;c'`],
    ['escaped text with a small e and a quote twice', String.raw`select e'\\''b;c\';'`],
    ['escaped text on several lines', String.raw`select E'a' ${'\n'} -- it's; ${'\n'} '\';b'`],
    ['escaped text without an end', String.raw`select E'a\';b`],
    ['escaped text that ends with a backslash', String.raw`select E'a;\ `.trim()],
    ['text in dollars', 'select $$a;b$$, $q$a; $$ ;$x$;$q$, $é$;$é$'],
    ['text in dollars without an end', 'select $q$a;b$$;'],
    ['a line comment', 'select 1 -- a;b\n + 1'],
    ['a nested comment', 'select 1 /* a; /* b; */ c; */ + 1'],
    ['a nested comment between other marks', 'select 1 /*/*;*/;**/ + 1'],
    ['a nested comment without an end', 'select 1 /* a /* b */; c'],
    ['quotes in a comment', "select 1 /* it's; */, 'a' -- it's;"],
    ['comments in quotes', "select '/*', ';--', \"/*;\", E'/*;', $$/*;$$"],
  ])('with a semicolon in %s', (_, text) => {
    expect(splitStatements(text)).toEqual([text]);
  });
});

describe('a semicolon ends a statement', () => {
  it.each([
    ['empty statements', ';; select 1;; /* a /* b */ */ ; -- c\n;', ['select 1']],
    ['escaped text', String.raw`select E'a\'b;c'; select 2`, [String.raw`select E'a\'b;c'`, 'select 2']],
    [
      'a backslash before the quote of other text',
      String.raw`select 'a\'; select 2`,
      [String.raw`select 'a\'`, 'select 2'],
    ],
    [
      'an escaped backslash',
      String.raw`select E'a\\'; select '2'`,
      [String.raw`select E'a\\'`, "select '2'"],
    ],
    [
      'a name that ends with e',
      String.raw`select nice'\'; select 2`,
      [String.raw`select nice'\'`, 'select 2'],
    ],
    [
      'other text after escaped text on one line',
      String.raw`select E'a' '\'; select 2`,
      [String.raw`select E'a' '\'`, 'select 2'],
    ],
    ['a name with dollars', 'select a$b$ from t; select $b$', ['select a$b$ from t', 'select $b$']],
    ['a parameter', 'select $1; select $2', ['select $1', 'select $2']],
    [
      'a line comment that a carriage return ends',
      'select 1 -- a\r; select 2',
      ['select 1 -- a', 'select 2'],
    ],
    [
      'the end of the outer comment',
      'select 1 /* /* a */ */; select 2',
      ['select 1 /* /* a */ */', 'select 2'],
    ],
    ['an operator before a comment', 'select 1 +/* a; */ 2; select 3', ['select 1 +/* a; */ 2', 'select 3']],
  ])('after %s', (_, text, statements) => {
    expect(splitStatements(text)).toEqual(statements);
  });
});

describe('the split', () => {
  it('removes comments before a statement, also nested ones', () => {
    expect(withoutComments('/* a /* b */ c */ -- d\n /**/ begin /* e */')).toBe('begin /* e */');
    expect(withoutComments('/* a /* b */')).toBe('');
    expect(withoutComments('select 1')).toBe('select 1');
  });

  const COUNT = 200_000;
  it.each([
    ['quotes', "'"],
    ['pairs of quotes', "E''"],
    ['escapes', "E'\\'"],
    ['lines of escaped text', "E'a'\n"],
    ['continued text', "'\n"],
    ['line comments', '-- '],
    ['dashes and quotes', "E'' -- -- '\n"],
    ['beginnings of comments', '/*'],
    ['ends of comments', '*/'],
    ['stars', '/***'],
    ['dollars', '$a'],
    ['tags', '$a$ $b'],
    ['pairs of dollars', '$$ '],
    ['names', 'e$'],
    ['white space', ' \n'],
    ['semicolons', ';'],
    ['comments before semicolons', '/*/**/*/;'],
  ])('of many %s takes time in proportion to their number', (_, piece) => {
    const secondsOf = (count: number): number => {
      const text = piece.repeat(count);
      const startMs = performance.now();
      splitStatements(text);
      withoutComments(text);
      return (performance.now() - startMs) / 1000;
    };
    const fewSeconds = secondsOf(COUNT / 10);
    // Quadratic time would be a hundred times as long.
    expect(secondsOf(COUNT)).toBeLessThan(40 * fewSeconds + 1);
  });
});
