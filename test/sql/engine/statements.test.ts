// @module-tag fast

import { DuckDBInstance, type DuckDBConnection } from '@duckdb/node-api';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Statements } from '#src/sql/engine/statements.js';
import type { OpenTables } from '#src/sql/engine/open-tables.js';

/* Statements on a snapshot whose connections the test delays. */

let instance: DuckDBInstance;
let gate: DuckDBConnection;
let statements: Statements;
let closed: string[];

beforeAll(async () => {
  instance = await DuckDBInstance.create(':memory:');
  gate = await instance.connect();
});
afterAll(() => {
  gate.closeSync();
  instance.closeSync();
});
beforeEach(() => {
  statements = new Statements();
  closed = [];
});

function open(name: string, parts: Partial<OpenTables> = {}): void {
  const close = (): void => void closed.push(name);
  statements.open({ gate, connect: () => instance.connect(), close, ...parts });
}

/** A promise that the test resolves. */
function latch() {
  let letGo = (): void => undefined;
  const released = new Promise<void>((resolve) => (letGo = resolve));
  return { released, letGo };
}

/** Describes or starts a statement. */
type Ask = (statementId: number, sql: string) => Promise<unknown>;
const ways: readonly (readonly [string, Ask])[] = [
  ['described', (statementId, sql) => statements.describe(statementId, sql)],
  [
    'started',
    (statementId, sql) =>
      statements.start({ kind: 'start', statementId, sql, parameters: [], encoding: { kind: 'arrow' } }),
  ],
];

describe.each(ways)('a statement that is %s', (_name, ask) => {
  it('stops at an interrupt that arrives while it connects', async () => {
    const { released, letGo } = latch();
    open('first', { connect: () => released.then(() => instance.connect()) });
    const answer = ask(1, 'SELECT 1');
    statements.interrupt(1);
    letGo();
    await expect(answer).rejects.toMatchObject({ kind: 'interrupted' });
  });

  it('stops at an interrupt that arrives while it is parsed', async () => {
    const { released, letGo } = latch();
    const slow = {
      runAndReadAll: (...statement) => released.then(() => gate.runAndReadAll(...statement)),
    } as Pick<DuckDBConnection, 'runAndReadAll'>;
    const connection = await instance.connect();
    open('first', { gate: slow as DuckDBConnection, connect: async () => connection });
    const answer = ask(1, 'SELECT 1');
    await new Promise(setImmediate);
    statements.interrupt(1);
    letGo();
    await expect(answer).rejects.toMatchObject({ kind: 'interrupted' });
  });

  it('releases a snapshot that it could not connect to', async () => {
    open('first', { connect: () => Promise.reject(new Error('no memory')) });
    await expect(ask(1, 'SELECT 1')).rejects.toThrow('no memory');
    open('second');
    expect(closed).toEqual(['first']);
  });

  it('releases a snapshot in which it failed', async () => {
    open('first');
    await expect(ask(1, 'SELECT nothing FROM nowhere')).rejects.toThrow('nowhere');
    open('second');
    expect(closed).toEqual(['first']);
  });
});

it('a replaced snapshot closes with the last of its statements', async () => {
  open('first');
  const encoding = { kind: 'json', limit: 1, maxBytes: 100 } as const;
  await statements.start({ kind: 'start', statementId: 1, sql: 'SELECT 1', parameters: [], encoding });
  open('second');
  expect(closed).toEqual([]);
  expect(String((await statements.fetch(1, 1)).bytes)).toBe('[1]');
  statements.close(1);
  statements.close(1);
  expect(closed).toEqual(['first']);
  await expect(statements.fetch(1, 1)).rejects.toMatchObject({ kind: 'interrupted' });
});
