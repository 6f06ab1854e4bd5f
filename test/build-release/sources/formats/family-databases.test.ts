// @module-tag fast

import { renameSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { filesInput, inputBytes } from '#src/build-release/sources/input-files.js';
import { A3M, homologsOf, named, read, refusal } from './family-files.js';

/** Writes an HH-suite database and returns the common name of its two files. */
function hhSuite(data: Buffer | string, index: string): string {
  const path = named('db_a3m.ffdata', data);
  writeFileSync(path.replace('ffdata', 'ffindex'), index);
  return path.replace('_a3m.ffdata', '');
}

const ENTRY = `${A3M}\0`;

describe('an HH-suite database', () => {
  it('gives its families by any of its names, in the order of the data', async () => {
    const index = `z\t0\t${ENTRY.length}\na.a3m\t${ENTRY.length}\t${ENTRY.length}\n`;
    const name = hhSuite(ENTRY + ENTRY, index);
    for (const path of [name, `${name}_a3m.ffdata`, `${name}_a3m.ffindex`]) {
      const families = await read(path);
      expect(families.map(({ id }) => id)).toEqual(['z', 'a']);
      expect(homologsOf(families[1])).toHaveLength(2);
      expect(await inputBytes({ proteins: [path] })).toBe(2 * ENTRY.length);
    }
  });

  it('has another digest if its index changes', async () => {
    const digestOf = async (index: string): Promise<string> =>
      (await filesInput({ proteins: [hhSuite(ENTRY, index)] })).digest;
    expect(await digestOf(`a\t0\t${ENTRY.length}\n`)).not.toBe(await digestOf(`b\t0\t${ENTRY.length}\n`));
  });

  it.each([
    ['points behind the data', `a\t${ENTRY.length * 9}\t10\n`, 'ends at byte'],
    ['ends behind the data', `a\t0\t${ENTRY.length + 1}\n`, 'and the data have'],
    ['has entries that overlap', `a\t0\t${ENTRY.length}\nb\t5\t9\n`, '"b" begins within the entry before it'],
    ['has a negative offset', 'a\t-5\t9\n', 'line 1 is not a name, an offset and a length'],
    ['has no entry', '\n', 'the index has no entry'],
  ])('is refused if its index %s', async (_, index, message) => {
    const error = await refusal(hhSuite(ENTRY, index));
    expect(error.code).toBe('invalid_alignment');
    expect(error.message).toContain(message);
  });

  it('is refused without its index, and for files without A3M', async () => {
    const name = hhSuite(ENTRY, 'a\t0\t9\n');
    renameSync(`${name}_a3m.ffindex`, `${name}_gone`);
    expect((await refusal(name)).code).toBe('file_not_found');
    expect((await refusal(named('db_hhm.ffdata', 'x'))).message).toContain('ends with _a3m.ffdata');
  });
});

/** Writes an MMseqs2 database and returns its name. @param type  bytes of its file `.dbtype` */
function mmseqs(data: string, index: string, type: readonly number[] = [11, 0, 0, 0]): string {
  const path = named('msa', data);
  writeFileSync(`${path}.index`, index);
  writeFileSync(`${path}.dbtype`, Buffer.from(type));
  return path;
}

describe('an MMseqs2 database of alignments', () => {
  const other = '>second\nWK\n>b\nWK\n\0';

  it('gives its families by the names of their first rows, in the order of the data', async () => {
    const path = mmseqs(
      other + other.replace('second', 'third'),
      `7\t${other.length}\t${other.length - 1}\n9\t0\t${other.length}\n`,
    );
    const families = await read(path);
    expect(families.map(({ id, text }) => [id, text])).toEqual([
      ['second', 'WK'],
      ['third', 'WK'],
    ]);
    expect(await inputBytes({ proteins: [path] })).toBe(other.length * 2 - 1);
  });

  it.each([
    ['holds sequences', [0, 0, 0, 0], 'without alignments'],
    ['holds profiles', [2, 0, 0, 0], 'mmseqs result2msa'],
    ['has a short type', [11], 'without alignments'],
    ['is compressed', [11, 0, 0, 0x80], 'mmseqs decompress'],
  ])('is refused if it %s', async (_, type, message) => {
    const error = await refusal(mmseqs(other, `7\t0\t${other.length}\n`, type));
    expect(error.code).toBe('invalid_alignment');
    expect(error.message).toContain(message);
  });

  it('is refused if its index points outside the data', async () => {
    expect((await refusal(mmseqs(other, '7\t4096\t10\n'))).message).toContain('ends at byte');
  });
});
