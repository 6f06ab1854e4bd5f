import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { JoinedHashes, type Segment } from '#src/store/objects/joined-hash.js';

let folder: string;
let hashes: JoinedHashes;
/** Paths that were read, in order. */
let read: string[];
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'gloaming-joined-'));
});
afterAll(() => rmSync(folder, { recursive: true }));
beforeEach(() => {
  read = [];
  hashes = new JoinedHashes((sha256) => {
    read.push(sha256);
    return join(folder, sha256);
  });
});
afterEach(() => hashes.close());

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

function store(text: string): Segment {
  writeFileSync(join(folder, sha256(text)), text);
  return { sha256: sha256(text), sizeBytes: Buffer.byteLength(text) };
}

/** Hashes these segments ahead, and waits until all are hashed. */
function goAhead(name: string, segments: readonly Segment[]): Promise<void> {
  return new Promise((resolve) => {
    hashes.ahead(name, 0, (index) => {
      // The next segment is requested once the earlier ones are hashed.
      if (index === segments.length) resolve();
      return segments[index];
    });
  });
}

it('parts that were hashed ahead are not read again', async () => {
  const segments = ['one', 'two', 'three'].map(store);
  await goAhead('upload', segments.slice(0, 2));
  expect(read).toEqual(segments.slice(0, 2).map((segment) => segment.sha256));
  expect(await hashes.finish('upload', segments)).toBe(sha256('onetwothree'));
  expect(read).toEqual(segments.map((segment) => segment.sha256));
});

it('without hashing ahead the whole content is read', async () => {
  const segments = ['one', 'two', 'three'].map(store);
  hashes.ahead('upload', 1, (index) => segments[index]);
  expect(await hashes.finish('upload', segments)).toBe(sha256('onetwothree'));
});

it('a part that was replaced after it had been hashed counts with its new bytes', async () => {
  await goAhead('upload', ['one', 'two'].map(store));
  const segments = ['one', 'zwei', 'three'].map(store);
  expect(await hashes.finish('upload', segments)).toBe(sha256('onezweithree'));
});

it('fewer parts than were hashed ahead give their own digest', async () => {
  await goAhead('upload', ['one', 'two', 'three'].map(store));
  expect(await hashes.finish('upload', ['one', 'two'].map(store))).toBe(sha256('onetwo'));
});

it('a reused name starts a new hash', async () => {
  await goAhead('upload', ['one', 'two'].map(store));
  hashes.forget('upload');
  expect(await hashes.finish('upload', ['one', 'three'].map(store))).toBe(sha256('onethree'));
  expect(await hashes.finish('upload', ['two'].map(store))).toBe(sha256('two'));
});

it('many at once each have their own hash', async () => {
  const names = Array.from({ length: 100 }, (_, index) => `upload ${index}`);
  const partsOf = (name: string): string[] => ['a', 'b', 'c'].map((part) => `${name} ${part}`);
  const digests = await Promise.all(
    names.map(async (name) => {
      const segments = partsOf(name).map(store);
      hashes.ahead(name, 0, (index) => segments[index]);
      await new Promise((resolve) => setTimeout(resolve, 1));
      return hashes.finish(name, segments);
    }),
  );
  expect(digests).toEqual(names.map((name) => sha256(partsOf(name).join(''))));
});

it('a part that is removed while it is hashed ahead does not change the digest', async () => {
  const gone = { sha256: sha256('gone'), sizeBytes: 4 };
  hashes.ahead('upload', 0, (index) => [store('one'), gone][index]);
  while (!read.includes(gone.sha256)) await new Promise((resolve) => setTimeout(resolve, 10));
  expect(await hashes.finish('upload', ['one', 'two'].map(store))).toBe(sha256('onetwo'));
});

it('a part that is missing or too short at the end is a fault, and the next attempt succeeds', async () => {
  const [one, two] = ['one', 'two'].map(store) as [Segment, Segment];
  await expect(hashes.finish('upload', [one, { ...two, sizeBytes: 5 }])).rejects.toThrow('ends at byte 3');
  expect(await hashes.finish('upload', [one, two])).toBe(sha256('onetwo'));
});

it('hashes succeed after the thread ended during earlier ones', async () => {
  const segments = ['one', 'two', 'three'].map(store);
  await goAhead('upload', segments.slice(0, 2));
  await hashes.close();
  await expect(hashes.finish('upload', segments)).rejects.toThrow('the thread has started the hash');
  expect(await hashes.finish('upload', segments)).toBe(sha256('onetwothree'));
});
