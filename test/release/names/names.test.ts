import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openNames, type NamesIndex } from '#src/release/names/names.js';
import { judgeNames, searchNames } from '#src/release/names/search.js';
import { similarity, tokensOf } from '#src/release/names/text.js';
import { createNamesWriter } from '#src/release/names/writer.js';

const folder = mkdtempSync(join(tmpdir(), 'gloaming-names-'));
const TARGETS: readonly ({ readonly id: string } & Readonly<Record<string, string>>)[] = [
  {
    id: 'P69905',
    entry_name: 'HBA_HUMAN',
    gene: 'HBA1',
    name: 'Hemoglobin subunit alpha',
    organism: 'Homo sapiens',
  },
  {
    id: 'P68871',
    entry_name: 'HBB_HUMAN',
    gene: 'HBB',
    name: 'Hemoglobin subunit beta',
    organism: 'Homo sapiens',
  },
  {
    id: 'P01942',
    entry_name: 'HBA_MOUSE',
    gene: 'Hba',
    name: 'Hemoglobin subunit alpha',
    organism: 'Mus musculus',
  },
  { id: 'P02185', entry_name: 'MYG_PHYCA', gene: 'MB', name: 'Myoglobin', organism: 'Physeter catodon' },
  { id: 'β-Glu', name: 'β-Glucosidase Ångström', organism: 'Zea mays' },
  { id: 'P69', name: 'Short one' },
  { id: 'X1', description: 'line\nbreak\tand tab' },
];

let index: NamesIndex;
beforeAll(async () => {
  const writer = await createNamesWriter(folder, folder);
  for (const { id, ...attributes } of TARGETS) await writer.add(id, attributes);
  await writer.finish();
  index = await openNames(folder);
});
afterAll(async () => {
  await index.close();
  rmSync(folder, { recursive: true });
});

const idsOf = async (query: string, limit = 10) =>
  (await searchNames(index, query, limit)).map(({ names, match }) => `${names[0]} ${match}`);

describe('the names of a release', () => {
  it('finds an id, an entry name or a gene exactly, in any case, before what begins with it', async () => {
    expect(await idsOf('P69')).toEqual(['P69 exact', 'P69905 prefix']);
    expect(await idsOf('p69905')).toEqual(['P69905 exact']);
    expect((await idsOf('hba_human'))[0]).toBe('P69905 exact');
    expect((await idsOf('hba'))[0]).toBe('P01942 exact');
    expect(await idsOf('Hemoglobin subunit alpha', 2)).toEqual(['P01942 exact', 'P69905 exact']);
  });

  it('finds beginnings of names, words in any order, and letters with accents written without', async () => {
    expect(await idsOf('Hemoglobin sub')).toEqual(['P68871 prefix', 'P01942 prefix', 'P69905 prefix']);
    expect(await idsOf('sapiens beta hemoglobin')).toEqual(['P68871 token', 'P69905 similar']);
    expect((await idsOf('angstrom'))[0]).toBe('β-Glu token');
    expect((await idsOf('β-glucosidase'))[0]).toBe('β-Glu prefix');
  });

  it('finds what is misspelt: a letter left out, doubled, swapped, replaced', async () => {
    for (const query of ['P6990', 'P699905', 'P96905', 'P69X05']) {
      expect((await idsOf(query))[0], query).toMatch(/^P69905 /);
    }
    for (const query of ['Myoglobbin', 'Myolgobin', 'Mioglobin', 'Mygobin']) {
      expect((await idsOf(query))[0], query).toBe('P02185 similar');
    }
  });

  it('finds nothing for a query that resembles no name', async () => {
    for (const query of ['', '%', '\t', 'qqqqqqqq', '../..', '\u0000'])
      expect(await idsOf(query)).toEqual([]);
    await fc.assert(
      fc.asyncProperty(
        fc.string({ unit: 'binary', maxLength: 256 }),
        fc.integer({ min: 1, max: 5 }),
        async (query, limit) => {
          expect((await searchNames(index, query, limit)).length).toBeLessThanOrEqual(limit);
        },
      ),
    );
  });

  it('keeps names on one line', async () => {
    expect(await index.names(6)).toEqual(['X1', '', '', '', '', 'line break and tab', '']);
  });

  it('reports a file that was truncated or has another format', async () => {
    const other = mkdtempSync(join(folder, 'x'));
    writeFileSync(join(other, 'names.index'), Buffer.alloc(100));
    await expect(openNames(other)).rejects.toThrow('cannot be read');
    const writer = await createNamesWriter(other, other);
    await writer.add('A', {});
    await writer.finish();
    truncateSync(join(other, 'names.index'), 1_000);
    await expect(openNames(other)).rejects.toThrow('cannot be read');
  });

  it('is the same file whether its words fit in memory at once or not', async () => {
    const [small, large] = [mkdtempSync(join(folder, 'x')), mkdtempSync(join(folder, 'x'))];
    const entries = await Promise.all(
      [small, large].map(async (place) => {
        const writer = await createNamesWriter(place, place, place === small ? 1_000 : undefined);
        for (let at = 0; at < 10_000; at += 1)
          await writer.add(`ID${at % 977}x${at}`, { name: `word${at % 31} of` });
        return writer.finish();
      }),
    );
    expect(entries[0]).toEqual(entries[1]);
  });
});

describe('the likeness of words', () => {
  it('is 1 for equal ones, falls with each edit, and does not depend on the order', () => {
    expect([
      similarity('abc', 'abc'),
      similarity('abc', 'abd'),
      similarity('ab', 'ba'),
      similarity('', ''),
    ]).toEqual([1, 1 - 1 / 3, 0.5, 1]);
    fc.assert(
      fc.property(fc.string({ maxLength: 12 }), fc.string({ maxLength: 12 }), (a, b) => {
        expect(similarity(a, b)).toBe(similarity(b, a));
        expect(similarity(a, b) === 1).toBe(a === b);
      }),
    );
  });

  it('is judged over words, which have neither case nor accents', () => {
    expect(tokensOf('Élan-Vital_2')).toEqual(['elan', 'vital', '2']);
    expect(judgeNames('ELAN vital 2', ['Élan-Vital_2'])).toEqual({ match: 'exact', similarity: 1 });
    expect(judgeNames('other', ['Élan'])).toBeUndefined();
  });

  it('is judged over the first eight words of the query; longer names are equal as a whole only', () => {
    const words = Array.from({ length: 12 }, (_, at) => `word${String.fromCharCode(97 + at).repeat(3)}`);
    const eight = words.slice(0, 8);
    expect(judgeNames(words.join(' '), [words.join('/')])).toEqual({ match: 'exact', similarity: 1 });
    expect(judgeNames(words.join(' '), [eight.join('/')])).toEqual({ match: 'token', similarity: 1 });
    expect(judgeNames([...eight.toReversed(), 'xyz'].join(' '), [eight.join('/')])?.match).toBe('token');
    expect(judgeNames(`x${words.join(' ')}`, [eight.join('/')])?.match).toBe('similar');
  });

  it('is judged over some of the names only, if the caller says so', () => {
    expect(judgeNames('kept', ['kept/other', 'other'], ['other'])?.match).toBe('prefix');
    expect(judgeNames('kpet', ['kept/other', 'other'], ['other'])).toBeUndefined();
    expect(judgeNames('ohter', ['kept/other', 'other'], ['other'])?.match).toBe('similar');
  });
});
