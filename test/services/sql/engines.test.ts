import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { SQL_STATEMENTS_AT_WORK_MAX_COUNT } from '#src/limits.js';
import { SqlEngines } from '#src/services/sql/engines.js';

/* Turns at engines without a process: the test controls the opening of their tables. */

const limits = { memoryBytes: 1, threads: 1 };
const never = new AbortController().signal;
const left = new Error('The client has left.');

let failTables: (error: Error) => void;
let engines: SqlEngines;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const tables = new Promise<never>((_resolve, reject) => (failTables = reject));
  engines = new SqlEngines({ tablesOf: () => tables }, limits);
});
afterEach(() => {
  engines.close();
  vi.useRealTimers();
});

it('an aborted caller does not enter the queue for a slot', async () => {
  const entered = Array.from({ length: SQL_STATEMENTS_AT_WORK_MAX_COUNT }, () => engines.enter('lab', never));
  const outcome = engines.enter('lab', AbortSignal.abort(left)).catch((error: unknown) => error);
  const later = new Promise((resolve) => setImmediate(resolve, 'waits'));
  expect(await Promise.race([outcome, later])).toBe(left);
  failTables(new Error('no tables'));
  await Promise.allSettled(entered);
  expect(engines.counts().statements).toBe(0);
});

it('an aborted caller takes no slot and does not keep an idle engine open', async () => {
  const first = engines.enter('lab', never);
  failTables(new Error('no tables'));
  await expect(first).rejects.toThrow('no tables');
  expect(vi.getTimerCount()).toBe(1);
  const second = engines.enter('lab', AbortSignal.abort(left));
  expect(engines.counts().statements).toBe(0);
  await expect(second).rejects.toBe(left);
  expect(vi.getTimerCount()).toBe(1);
});
