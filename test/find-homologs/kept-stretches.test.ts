import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { writeKeptStretches, type KeptStretch } from '#src/find-homologs/kept-stretches.js';
import type { FoundHomolog } from '#src/homologs/homolog-set.js';

const folder = mkdtempSync(join(tmpdir(), 'gloaming-kept-stretches-'));
afterAll(() => rmSync(folder, { recursive: true }));
const [result, lookup, written] = ['result', 'lookup', 'written'].map((name) => join(folder, name));

const homologOf = (start: number, targetStart: number, cigar: string): FoundHomolog => ({
  id: 't',
  eValue: 1e-9,
  identity: 1,
  coverage: 1,
  round: 1,
  residues: '',
  start,
  residueStart: 0,
  cigar,
  targetStart,
  targetLength: 90,
});

const lineOf = (key: number, cells: readonly (string | number)[]): string =>
  `${[key, 80, '0.500', '1E-9', ...cells].join('\t')}\n`;

/** Writes a result of two queries: the data in two files, as two threads leave it. */
function writeResult(): void {
  const first = `${lineOf(5, [0, 19, 40, 10, 31, 90, '10M2D10M'])}${lineOf(6, [3, 22, 40, 0, 19, 90, '20M'])}\0`;
  const second = `${lineOf(7, [0, 9, 30, 0, 9, 90, '10M'])}\0`;
  writeFileSync(`${result}.0`, first);
  writeFileSync(`${result}.1`, second);
  writeFileSync(`${result}.index`, `1\t0\t${first.length}\n0\t${first.length}\t${second.length}\n`);
  writeFileSync(`${result}.dbtype`, Buffer.from([5, 0, 0, 0]));
  // mmseqs shuffles its keys.
  writeFileSync(lookup, '0\tq0\t0\n1\tq1\t0\n');
}

describe('a result of mmseqs with shorter alignments', () => {
  const untouched = homologOf(0, 0, '10M');
  const shortened: KeptStretch = {
    found: homologOf(0, 10, '10M2D10M'),
    kept: homologOf(2, 12, '5=3X2D1=1X'),
  };
  const lost: KeptStretch = { found: homologOf(3, 0, '20M'), kept: undefined };

  it('has the kept stretches, and no line for a hit of which nothing is left', async () => {
    writeResult();
    await writeKeptStretches(result, lookup, written, [
      [{ found: untouched, kept: untouched }],
      [shortened, lost],
    ]);
    const text = readFileSync(written, 'latin1');
    const [first, second] = [
      lineOf(5, [2, 11, 40, 12, 23, 90, '8M2D2M']),
      lineOf(7, [0, 9, 30, 0, 9, 90, '10M']),
    ];
    expect(text).toBe(`${first}\0${second}\0`);
    expect(readFileSync(`${written}.index`, 'utf8')).toBe(
      `1\t0\t${first.length + 1}\n0\t${first.length + 1}\t${second.length + 1}\n`,
    );
    expect(readFileSync(`${written}.dbtype`)).toEqual(Buffer.from([5, 0, 0, 0]));
  });

  it('is a failure where the hits are others than those of the result', async () => {
    writeResult();
    const others: readonly (readonly KeptStretch[])[][] = [
      [[{ found: untouched, kept: untouched }], [shortened]],
      [[{ found: untouched, kept: untouched }], [lost, shortened]],
    ];
    for (const hits of others) {
      await expect(writeKeptStretches(result, lookup, written, hits)).rejects.toThrow(/other alignments/);
    }
  });
});
