// @module-tag fast

import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { readTaxonomyDump } from '#src/build-release/sources/taxonomy-dump.js';
import { lineageOf } from '#src/release/taxonomy.js';
import { ROOT } from '../../tools/paths.js';

const folder = mkdtempSync(join(tmpdir(), 'gloaming-dump-'));
afterAll(() => rmSync(folder, { recursive: true }));

const root = ROOT;
const dumps = join(process.env.GLOAMING_SHARED ?? join(root, '..', 'shared'), 'data', 'taxonomy');
const hasDumps = existsSync(join(dumps, 'nodes.dmp.gz'));
if (!hasDumps) console.log(`skipped: the taxonomy dumps are not in ${dumps}`);

describe('a taxonomy dump', () => {
  it('names the line of a malformed dump', async () => {
    const file = (name: string, text: string): string => {
      writeFileSync(join(folder, name), text);
      return join(folder, name);
    };
    const names = file('names.dmp', '1\t|\troot\t|\t\t|\tscientific name\t|\n');
    const short = file('short.dmp', '1\t|\t1\t|\tno rank\t|\n2\t|\t1\n');
    await expect(readTaxonomyDump(short, names)).rejects.toThrow('short.dmp, line 2');
    const odd = file('odd.dmp', 'x\t|\t1\t|\tno rank\t|\n');
    await expect(readTaxonomyDump(odd, names)).rejects.toThrow('odd.dmp, line 1: "x" is not a taxid');
    const huge = file('huge.dmp', '4000000000\t|\t1\t|\tno rank\t|\n');
    await expect(readTaxonomyDump(huge, names)).rejects.toThrow('is not a taxid');
  });

  it.each([
    [
      'a taxon of two rows',
      [
        [1, 1],
        [2, 1],
        [2, 1],
      ],
      'line 3: taxid 2 has more than one row',
    ],
    [
      'a missing parent',
      [
        [1, 1],
        [7, 9],
      ],
      'line 2: taxid 7 has no path to a root: its parent, taxid 9, has no row',
    ],
    [
      'a parent beyond all rows',
      [
        [1, 1],
        [7, 199_999_999],
      ],
      'line 2: taxid 7 has no path to a root',
    ],
    [
      'a cycle',
      [
        [1, 1],
        [2, 4],
        [4, 3],
        [3, 2],
      ],
      'has no path to a root: it is its own ancestor',
    ],
  ])('is refused with %s', async (_name, rows, message) => {
    const write = (name: string, text: string): string => {
      writeFileSync(join(folder, name), text);
      return join(folder, name);
    };
    const nodes = rows.map(([taxid, parent]) => `${taxid}\t|\t${parent}\t|\tno rank\t|\n`).join('');
    const names = write('names.dmp', '1\t|\troot\t|\t\t|\tscientific name\t|\n');
    await expect(readTaxonomyDump(write('nodes.dmp', nodes), names)).rejects.toThrow(message);
  });

  it('is refused, with the line, if a name is not UTF-8', async () => {
    writeFileSync(join(folder, 'nodes.dmp'), '1\t|\t1\t|\tno rank\t|\n');
    const name = Buffer.from('2\t|\tcaf\xe9\t|\t\t|\tscientific name\t|\n', 'latin1');
    const root = Buffer.from('1\t|\troot\t|\t\t|\tscientific name\t|\n');
    writeFileSync(join(folder, 'latin.dmp'), Buffer.concat([root, name]));
    const reading = readTaxonomyDump(join(folder, 'nodes.dmp'), join(folder, 'latin.dmp'));
    await expect(reading).rejects.toThrow('line 2: the text is not UTF-8');
  });

  it.skipIf(!hasDumps)('is read from real dumps', async () => {
    const taxonomy = await readTaxonomyDump(join(dumps, 'nodes.dmp.gz'), join(dumps, 'names.dmp.gz'));
    const lineage = lineageOf(taxonomy, 83_333);
    expect(lineage[0]).toMatchObject({ taxid: 83_333, name: 'Escherichia coli K-12' });
    expect(lineage.map(({ name }) => name)).toContain('Enterobacteriaceae');
    expect(lineage.at(-1)).toMatchObject({ taxid: 1, name: 'root' });
  });
});
