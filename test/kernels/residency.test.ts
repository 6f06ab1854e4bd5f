import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { MaxSimSums } from '#src/kernels/kernels.js';
import { limitMemory, nativeBackend } from '#src/kernels/native.js';
import { seededRandom } from '#src/random.js';
import { randomTokens } from './random-tokens.js';

const DIMENSION = 64;
const TARGETS = 60_000;
const ROWS = 25;
const MIB = 1024 ** 2;
const OFFSET = 8;
const random = seededRandom(17);
const { values: block } = randomTokens(random, 5_000, DIMENSION);
/** 92 MiB, several times the largest single read. */
const values = new Int8Array(TARGETS * ROWS * DIMENSION).map((_, at) => block[(at * 7) % block.length]);
const residueStarts = Uint32Array.from({ length: TARGETS + 1 }, (_, target) => target * ROWS);
const backend = nativeBackend();
const query = randomTokens(random, 8, DIMENSION);
let folder: string;
let path: string;
let whole: MaxSimSums;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gloaming-test-residency-'));
  path = join(folder, 'tokens');
  writeFileSync(path, Buffer.concat([Buffer.alloc(OFFSET), Buffer.from(values.buffer)]));
  const store = await backend.open({ dimension: DIMENSION, residueStarts, tokens: { values } });
  [whole] = await backend.maxsim(store, [query], undefined);
  store.close();
});

afterAll(() => {
  limitMemory(Number.MAX_SAFE_INTEGER);
  rmSync(folder, { recursive: true });
});

const cases = [
  { limit: Number.MAX_SAFE_INTEGER, least: 90, most: 110 },
  { limit: 30 * MIB, least: 24, most: 80 },
  { limit: 0, least: 0, most: 56 },
];

test.each(cases)(
  'of 92 MiB, a limit of $limit bytes leaves $least to $most MiB in memory, and all sums as they are',
  async ({ limit, least, most }) => {
    limitMemory(limit);
    const before = mappedBytes();
    const store = await backend.open({
      dimension: DIMENSION,
      residueStarts,
      tokens: { path, byteOffset: OFFSET },
    });
    const [first] = await backend.maxsim(store, [query], undefined, { threads: 2 });
    const [second] = await backend.maxsim(store, [query], undefined, { threads: 1 });
    const mebibytes = (mappedBytes() - before) / MIB;
    store.close();
    expect(first).toEqual(whole);
    expect(second).toEqual(whole);
    expect(mebibytes).toBeGreaterThanOrEqual(least);
    expect(mebibytes).toBeLessThan(most);
  },
);

test('concurrent searches, and searches of few targets, give the same sums', async () => {
  limitMemory(0);
  const store = await backend.open({
    dimension: DIMENSION,
    residueStarts,
    tokens: { path, byteOffset: OFFSET },
  });
  const few = Uint32Array.from({ length: 100 }, (_, place) => place * 599);
  const [one, other, some] = await Promise.all([
    backend.maxsim(store, [query], undefined),
    backend.maxsim(store, [query], undefined),
    backend.maxsim(store, [query], few),
  ]);
  store.close();
  expect(one).toEqual([whole]);
  expect(other).toEqual([whole]);
  expect(some[0].queryToTarget).toEqual(Int32Array.from(few, (target) => whole.queryToTarget[target]));
});

/** Resident bytes of mapped files in this process. */
function mappedBytes(): number {
  const line = /^RssFile:\s+(\d+) kB/m.exec(readFileSync('/proc/self/status', 'utf8'));
  return Number(line?.[1]) * 1024;
}
