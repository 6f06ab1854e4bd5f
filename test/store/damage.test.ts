// @module-tag long

import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { seededRandom } from '#src/random.js';
import { openControlStore } from '#src/store/control-store.js';
import { problemOfControlFile, wronglyShared } from '#src/store/prepare.js';
import { problemOfControlState } from '#src/store/probe.js';
import { PROGRAM } from '../tools/paths.js';
import { repetitions } from '../tools/suite/repetitions.js';

/*
 * Damage of the control state's file. For every cut or changed byte, fsck reports a finding and the server refuses to
 * start with a sentence. No process ends by a signal. GLOAMING_MUTATIONS=1000 runs the long version; GLOAMING_SEED
 * repeats one.
 */

const MUTATIONS = repetitions('GLOAMING_MUTATIONS', 4, 1_000);
const seed = Number(process.env.GLOAMING_SEED ?? Math.floor(Math.random() * 2 ** 31));
const random = seededRandom(seed);

let folder: string;
let original: string;
let copies = 0;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gloaming-damage-'));
  original = join(folder, 'original');
  const store = openControlStore(original);
  const table = store.table<string>('receipts');
  for (let turn = 0; turn < 40; turn += 1) {
    await store.transaction(() => {
      for (let row = 0; row < 20; row += 1) table.putSync(`key ${turn} ${row}`, 'x'.repeat(row * 400));
      if (turn % 3 === 2) for (let row = 0; row < 20; row += 1) table.removeSync(`key ${turn - 1} ${row}`);
    });
  }
  await store.close();
  mkdirSync(join(original, 'objects', 'incoming'), { recursive: true, mode: 0o700 });
});
afterAll(() => rmSync(folder, { recursive: true }));

function copy(): { readonly data: string; readonly file: string } {
  const data = join(folder, String((copies += 1)));
  cpSync(original, data, { recursive: true });
  return { data, file: join(data, 'control', 'data.mdb') };
}

/** No damage may fill the disk, so files are limited to 100 MiB. */
const LIMITED = ['-c', 'ulimit -f 204800; exec "$0" "$@"', process.execPath, PROGRAM];

function gloaming(data: string, ...argv: string[]) {
  const env = {
    ...process.env,
    GLOAMING_DATA: data,
    GLOAMING_INDEXES: join(folder, 'indexes'),
    GLOAMING_PORT: '0',
  };
  return spawnSync('sh', [...LIMITED, ...argv], { env, encoding: 'utf8', timeout: 60_000 });
}

function expectWords({ status, signal, stderr }: ReturnType<typeof gloaming>, words: RegExp): void {
  expect({ signal, stderr }).toEqual({ signal: null, stderr: expect.stringMatching(words) });
  expect(status).toBe(2);
  expect(stderr).not.toMatch(/\n\s+at /);
}

describe('a control state that is damaged', () => {
  it('is detected by its size wherever it is cut off', () => {
    const { data, file } = copy();
    const { size } = statSync(file);
    expect(problemOfControlFile(data)).toBe(undefined);
    for (let cut = 1; cut < size; cut += Math.ceil(size / 200)) {
      truncateSync(file, size - cut);
      expect(problemOfControlFile(data)).toBeTypeOf('string');
    }
  });

  it('is a finding of fsck and one sentence of the server where it is cut off', () => {
    const { data, file } = copy();
    truncateSync(file, statSync(file).size / 2);
    const checked = gloaming(data, 'fsck');
    expectWords(checked, /Damage was found in 1 places/);
    expect(checked.stdout).toContain('control state damaged');
    expectWords(
      gloaming(data, 'keys', 'list'),
      /^gloaming: .* is damaged: it has \d+ bytes, and its pages \d+/,
    );
  });

  it('is detected in its list of free pages, which no reader uses', async () => {
    const { data, file } = copy();
    const bytes = readFileSync(file);
    const list = freeListOf(bytes) * 4096;
    expect(await problemOfControlState(data)).toBe(undefined);
    // Offsets of a page's own number, its kind, its number of entries, and the offset of the first entry.
    for (const at of [0, 18, 20, 24]) {
      const changed = Buffer.from(bytes);
      changed.writeUInt16LE(0xfff8, list + at);
      writeFileSync(file, changed);
      expect(await problemOfControlState(data)).toContain('its list of free pages is damaged');
    }
    expectWords(gloaming(data, 'keys', 'create', 'x'), /^gloaming: .* its list of free pages is damaged/);
  });

  it('is detected in a page that passes for an empty one', async () => {
    const { data, file } = copy();
    const bytes = readFileSync(file);
    // LMDB reads no rows from a leaf that is marked as one of keys alone (0x20), and aborts where it writes to one.
    bytes.writeUInt16LE(0x22, rootOf(bytes, 'secrets') * 4096 + 18);
    writeFileSync(file, bytes);
    expect(await problemOfControlState(data)).toBe('its table secrets has 0 rows instead of 1');
    expectWords(
      gloaming(data, 'keys', 'create', 'x'),
      /^gloaming: .* is damaged: its table secrets has 0 rows/,
    );
  });

  it('is refused if it is empty or missing beside its objects, and created in an empty folder', async () => {
    const { data, file } = copy();
    writeFileSync(file, '');
    expectWords(gloaming(data, 'keys', 'list'), /it is empty or missing, and .*objects exists/);
    rmSync(file);
    expectWords(gloaming(data, 'keys', 'list'), /it is empty or missing, and .*objects exists/);
    expect(gloaming(data, 'fsck').stdout).toContain('empty or missing');
    expect(existsSync(file)).toBe(false);
    await openControlStore(join(folder, 'new')).close();
  });

  it(
    `ends no process by a signal, whatever is changed in it (seed ${seed})`,
    { timeout: 600_000 },
    async () => {
      const { data, file } = copy();
      const bytes = readFileSync(file);
      let faultCount = 0;
      for (let count = 0; count < MUTATIONS; count += 1) {
        writeFileSync(file, mutate(bytes, count % 2 === 0 ? freeListOf(bytes) : undefined));
        const problem = await problemOfControlState(data);
        const checked = gloaming(data, 'fsck');
        const written = gloaming(data, 'keys', 'create', 'after damage');
        writeFileSync(file, bytes);
        for (const { signal, stderr } of [checked, written]) {
          expect({ count, signal, stderr }).toMatchObject({ count, signal: null });
          expect(stderr).not.toMatch(/\n\s+at /);
        }
        if (problem === undefined) continue;
        faultCount += 1;
        expect(checked.stdout).toContain('control state damaged');
        expectWords(written, /^gloaming: .* is damaged: /);
      }
      process.stdout.write(`${MUTATIONS} mutations, ${faultCount} detected in the pages\n`);
    },
  );
});

describe('a control state of which one page is damaged', () => {
  /** All pages in the long tier; a few of them, in every region of the file, otherwise. */
  const EVERY = repetitions('GLOAMING_PAGE_STEPS', 40, 1);
  const NOISE = { noise: () => random.below(256), zeros: () => 0 } as const;

  it.each(Object.keys(NOISE) as (keyof typeof NOISE)[])(
    `is read, or refused in a sentence by server and fsck, for every 7th page of %s (seed ${seed})`,
    { timeout: 600_000 },
    async (kind) => {
      const { data, file } = copy();
      const bytes = readFileSync(file);
      const verdicts = { good: 0, damaged: 0 };
      for (let page = 0; page < bytes.length / 4096; page += page < 2 ? 1 : 7 * EVERY) {
        const changed = Buffer.from(bytes);
        for (let at = page * 4096; at < (page + 1) * 4096; at += 1) changed[at] = NOISE[kind]();
        writeFileSync(file, changed);
        const problem = await problemOfControlState(data);
        const [checked, written] = [gloaming(data, 'fsck'), gloaming(data, 'keys', 'create', 'after damage')];
        for (const { signal, stderr } of [checked, written]) {
          expect({ page, signal, stderr }).toMatchObject({ page, signal: null });
          expect(stderr).not.toMatch(/\n\s+at /);
        }
        verdicts[problem === undefined ? 'good' : 'damaged'] += 1;
        if (problem === undefined) continue;
        expect(checked.stdout).toContain('control state damaged');
        expectWords(written, /^gloaming: .* is damaged: /);
      }
      process.stdout.write(`pages of ${kind}: ${JSON.stringify(verdicts)}\n`);
      expect(verdicts.damaged).toBeGreaterThan(0);
    },
  );

  it('is refused in a sentence by the server, which does not start', { timeout: 600_000 }, () => {
    const { data, file } = copy();
    const bytes = readFileSync(file);
    const root = freeListOf(bytes);
    for (const pages of [[0, 1], [root]]) {
      const changed = Buffer.from(bytes);
      for (const page of pages) changed.fill(0x5a, page * 4096, (page + 1) * 4096);
      writeFileSync(file, changed);
      expectWords(gloaming(data, 'serve'), /^gloaming: .* is damaged: /);
    }
  });
});

/** First page of the tree of free pages, which only writers read. */
function freeListOf(bytes: Buffer): number {
  const [one, other] = [0, 4096].map((meta) => ({
    commit: bytes.readBigUInt64LE(meta + 152),
    root: bytes.readBigUInt64LE(meta + 88),
  }));
  return Number(one!.commit > other!.commit ? one!.root : other!.root);
}

/** Root page of a table: its record in the tree of tables follows its name, and ends with the page. */
function rootOf(bytes: Buffer, table: string): number {
  const commits = [0, 1].map((page) => bytes.readBigUInt64LE(page * 4096 + 152));
  const newest = commits[0]! > commits[1]! ? 0 : 1;
  const tables = Number(bytes.readBigUInt64LE(newest * 4096 + 136)) * 4096;
  const name = bytes.indexOf(table, tables);
  return Number(bytes.readBigUInt64LE(name + bytes.readUInt16LE(name - 2) + 40));
}

/** Changes bytes of the headers and of the tree, where damage has an effect, or fills a page with noise. */
function mutate(bytes: Buffer, at?: number): Buffer {
  const changed = Buffer.from(bytes);
  const page = (at ?? random.below(changed.length / 4096)) * 4096;
  const kind = random.below(3);
  const [start, length] =
    kind === 0 ? [page, 4096] : kind === 1 ? [page, 24] : [page + random.below(4000), 8];
  for (let place = start; place < start + length; place += 1) changed[place] = random.below(256);
  return changed;
}

describe('a data folder', () => {
  it('is readable by its owner only, and is repaired in place', async () => {
    const { data, file } = copy();
    for (const path of [data, join(data, 'control'), join(data, 'objects')]) chmodSync(path, 0o755);
    chmodSync(file, 0o644);
    expect(wronglyShared(data)).toHaveLength(4);
    expect(gloaming(data, 'doctor').stdout).toContain(`others may read ${file}`);
    await openControlStore(data).close();
    expect(wronglyShared(data)).toEqual([]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(data).mode & 0o777).toBe(0o700);
  });

  it('is not made by doctor', () => {
    const data = join(folder, 'none');
    expect(gloaming(data, 'doctor').stdout).toContain('will be made');
    expect(existsSync(data)).toBe(false);
  });

  it('that was removed or replaced accepts no writes', async () => {
    const { data } = copy();
    const store = openControlStore(data);
    const table = store.table<string>('receipts');
    expect(store.problem()).toBe(undefined);
    rmSync(data, { recursive: true });
    expect(store.problem()).toContain('is gone');
    const write = (): Promise<unknown> => store.transaction(() => table.putSync('a', 'b'));
    await expect(write()).rejects.toMatchObject({ code: 'storage_unavailable' });
    cpSync(original, data, { recursive: true });
    expect(store.problem()).toContain('another file');
    await expect(store.freeing(() => table.removeSync('a'))).rejects.toMatchObject({
      code: 'storage_unavailable',
    });
    await store.close();
  });

  it.skipIf(spawnSync('unshare', ['-rm', 'true']).status !== 0)('that is read-only is one sentence', () => {
    const { data } = copy();
    const script = `mount -t tmpfs none /mnt && cp -r ${data}/. /mnt && mount -o remount,ro /mnt && exec "$@"`;
    const answer = spawnSync(
      'unshare',
      ['-rm', 'sh', '-c', script, 'sh', process.execPath, PROGRAM, 'keys', 'list'],
      {
        env: { ...process.env, GLOAMING_DATA: '/mnt', GLOAMING_INDEXES: join(folder, 'indexes') },
        encoding: 'utf8',
      },
    );
    expectWords(answer, /^gloaming: \/mnt cannot be written \(EROFS\)/);
  });
});
