import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  addHomologSource,
  homologSourceDatabase,
  listUnindexedSources,
} from '#src/find-homologs/homolog-sources.js';
import { findKeptIndex, indexBytes, indexProblems, keepIndex } from '#src/find-homologs/kept-index.js';
import { mmseqsVersion } from '#src/find-homologs/mmseqs-process.js';
import { mmseqsHomologs } from '#src/find-homologs/mmseqs.js';
import { ROUNDS_RULES } from '#src/homologs/rules.js';
import { seededRandom } from '#src/random.js';
import { makeHomologs } from '../tools/homologs.js';

/* The k-mer indexes of a homolog source must change no homolog, and must never be in the way. */

const folder = mkdtempSync(join(tmpdir(), 'gloaming-kept-index-'));
afterAll(() => rmSync(folder, { recursive: true }));
const seed = Number(process.env.GLOAMING_TEST_SEED ?? 11);
console.log(`kept index seed ${seed}`);

/** Makes a folder with a file of this size in place of a database. */
function fakeDatabase(name: string, bytes: number): string {
  mkdirSync(join(folder, name));
  const database = join(folder, name, 'db');
  writeFileSync(database, '');
  truncateSync(database, bytes);
  return database;
}

describe('the indexes of a homolog source', () => {
  it('are not made for a source that is too small', async () => {
    const database = fakeDatabase('small', 1_000_000);
    expect(await keepIndex(database, 'any', { threads: 1 })).toEqual({ kind: 'small' });
    expect(indexBytes(1_000_000)).toBe(0);
    expect(readdirSync(dirname(database))).toEqual(['db']);
  });

  it('are not begun if they do not fit on the disk', async () => {
    const database = fakeDatabase('huge', 4e12);
    const outcome = await keepIndex(database, 'any', { threads: 1 });
    expect(outcome).toMatchObject({ kind: 'disk_full', neededBytes: indexBytes(4e12) });
    expect(readdirSync(dirname(database))).toEqual(['db']);
  });

  it('leave nothing behind if they cannot be made', async () => {
    const database = fakeDatabase('broken', 6_000_000);
    expect(await keepIndex(database, 'any', { threads: 1 })).toMatchObject({ kind: 'failed' });
    expect(readdirSync(dirname(database))).toEqual(['db']);
    const reason = new Error('enough');
    const stopped = keepIndex(database, 'any', { threads: 1, signal: AbortSignal.abort(reason) });
    await expect(stopped).rejects.toBe(reason);
    expect(readdirSync(dirname(database))).toEqual(['db']);
  });
});

const version = await mmseqsVersion();

describe.skipIf(version === undefined)('a homolog source of an earlier version (Debian: mmseqs2)', () => {
  it('is named if it is large enough for indexes and has none of this mmseqs', async () => {
    fakeDatabase('backgrounds', 0);
    for (const [name, bytes] of [
      ['small', 1_000_000],
      ['earlier', 6_000_000],
      ['.adding-x', 6_000_000],
    ] as const)
      fakeDatabase(join('backgrounds', name), bytes);
    expect(await listUnindexedSources(folder)).toEqual(['earlier']);
    const index = join(folder, 'backgrounds', 'earlier', 'index');
    mkdirSync(index);
    const sizes = { 'sequences.idx': 1, 'profiles.idx': 1 };
    for (const name of Object.keys(sizes)) writeFileSync(join(index, name), 'x');
    const card = { format: 'gloaming-background-index/1', mmseqs_version: version, sizes };
    writeFileSync(join(index, 'index.json'), JSON.stringify(card));
    expect(await listUnindexedSources(folder)).toEqual([]);
    writeFileSync(join(index, 'index.json'), JSON.stringify({ ...card, mmseqs_version: 'another' }));
    expect(await listUnindexedSources(folder)).toEqual(['earlier']);
    expect(await listUnindexedSources(join(folder, 'nowhere'))).toEqual([]);
  });
});

describe.skipIf(version === undefined)('a homolog source with indexes (Debian: mmseqs2)', () => {
  const random = seededRandom(seed);
  // More members than one search lists, so that the choice among them counts, too.
  const { proteins } = makeHomologs(random, { homologSets: 4, members: 350 });
  const repeat = 'PQ'.repeat(40);
  const queries = proteins
    .filter((_, index) => index % 70 === 3)
    .map(({ sequence }, index) => ({ sequence: index % 3 === 0 ? sequence + repeat : sequence }));
  const database = homologSourceDatabase(folder, 'bg');
  const finderOf = (installed?: string) =>
    mmseqsHomologs({ database, rounds: 2, version: installed }, ROUNDS_RULES, 2);
  let plain: unknown;

  beforeAll(async () => {
    const fasta = join(folder, 'bg.fasta');
    writeFileSync(fasta, proteins.map(({ id, sequence }) => `>${id}\n${sequence}${repeat}\n`).join(''));
    await addHomologSource(folder, 'bg', [fasta]);
    const homologSets = await finderOf(version).find(queries);
    expect(homologSets.filter(({ homologs }) => homologs.length > 5).length).toBeGreaterThan(5);
    plain = homologSets;
  }, 300_000);

  it(
    'has the homologs of a search without index, and none of another version',
    { timeout: 600_000 },
    async () => {
      const outcome = await keepIndex(database, version!, { threads: 2, leastBytes: 0 });
      expect(outcome.kind).toBe('kept');
      expect(await indexProblems(dirname(database))).toEqual([]);
      expect(await findKeptIndex(database, version!)).toBeDefined();
      expect(await findKeptIndex(database, 'another')).toBeUndefined();
      expect(await finderOf(version).find(queries)).toEqual(plain);
      expect(readdirSync(dirname(database)).filter((name) => name.startsWith('.'))).toEqual([]);
    },
  );

  it('is searched without an index that is damaged', { timeout: 600_000 }, async () => {
    const index = join(dirname(database), 'index');
    truncateSync(join(index, 'profiles.idx'), 10);
    expect(await indexProblems(dirname(database))).toHaveLength(1);
    expect(await findKeptIndex(database, version!)).toBeUndefined();
    expect(await finderOf(version).find(queries)).toEqual(plain);
    const card = readFileSync(join(index, 'index.json'), 'utf8');
    for (const text of ['', 'null', '[]', '{"format":"gloaming-background-index/1"}', card.slice(9)]) {
      writeFileSync(join(index, 'index.json'), text);
      expect(await findKeptIndex(database, version!), text).toBeUndefined();
    }
    expect(existsSync(join(index, 'sequences.idx'))).toBe(true);
  });
});
