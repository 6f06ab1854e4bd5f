// @module-tag fast

import { mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { columnsOf } from '#src/homologs/homolog-set.js';
import { HOMOLOG_RULES } from '#src/homologs/rules.js';
import { ALIGNMENT_MAX_BYTES } from '#src/limits.js';
import { alignedHomologs, openAlignments } from '#src/find-homologs/alignments.js';

const folder = mkdtempSync(join(tmpdir(), 'gloaming-alignments-'));
afterAll(() => rmSync(folder, { recursive: true }));

let folders = 0;
function alignmentFolder(files: Readonly<Record<string, string>>): string {
  folders += 1;
  const path = join(folder, String(folders));
  mkdirSync(path);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(path, name), text);
  return path;
}

async function homologsOf(files: Readonly<Record<string, string>>, id: string, sequence: string) {
  const finder = alignedHomologs(await openAlignments(alignmentFolder(files)), HOMOLOG_RULES);
  const [homologSet] = await finder.find([{ id, sequence }]);
  return homologSet.homologs;
}

const PROTEIN = 'MKTAYIAKQR';
/** r1 is a near homolog with an insertion of two residues and a later deletion of one. */
const A3M = `>p1 description\n${PROTEIN}\n>r1\nMRTGYggVGK-R\n>short\nMK--------\n`;
const STOCKHOLM =
  '# STOCKHOLM 1.0\n#=GF ID one\n\np1 MKTAY..IAKQR\nr1 MRTGYggVGK-R\nshort MK..........\n#=GC RF xxxxx..xxxxx\n//\n';

describe('a folder of alignment files', () => {
  it('gives the same homologs in A3M and in Stockholm form', async () => {
    const a3m = await homologsOf({ 'p1.a3m': A3M }, 'p1', PROTEIN);
    const stockholm = await homologsOf({ 'p1.sto': STOCKHOLM }, 'p1', PROTEIN);
    expect(a3m).toEqual(stockholm);
    expect(a3m).toHaveLength(1);
    const [{ residues, cigar, start, coverage, identity }] = a3m;
    expect({ residues, cigar, start, coverage }).toEqual({
      residues: 'MRTGYGGVGKR',
      cigar: '5M2D3M1I1M',
      start: 0,
      coverage: 1,
    });
    expect(identity).toBeCloseTo(5 / 9, 12);
    expect([...columnsOf(a3m[0], PROTEIN.length)]).toEqual([0, 1, 2, 3, 4, -1, -1, 5, 6, 7, 9]);
  });

  it('aligns rows to a protein whose own row is not the first and has gaps', async () => {
    const [row] = await homologsOf({ 'p1.a3m': `>r1\nGGMKVAYIVKQR\n>p1\n--${PROTEIN}\n` }, 'p1', PROTEIN);
    expect([row.residues, row.cigar, row.start]).toEqual(['MKVAYIVKQR', '10M', 0]);
  });

  it('gives no homologs to a protein without a file, nor to an id that is a path outside the folder', async () => {
    expect(await homologsOf({ 'p1.a3m': A3M }, 'p2', PROTEIN)).toEqual([]);
    const path = alignmentFolder({ 'p1.a3m': A3M });
    writeFileSync(join(path, '..', 'outside.a3m'), A3M);
    const [homologSet] = await alignedHomologs(await openAlignments(path), HOMOLOG_RULES).find([
      { id: '../outside', sequence: PROTEIN },
    ]);
    expect(homologSet.homologs).toEqual([]);
  });

  it('is refused, with the name of the file, for an alignment of another protein or a malformed one', async () => {
    await expect(homologsOf({ 'p1.a3m': A3M }, 'p1', 'MKTAYIAKQW')).rejects.toMatchObject({
      code: 'invalid_alignment',
      message: expect.stringContaining('p1.a3m'),
    });
    const wrong: Readonly<Record<string, string>> = {
      'no header.a3m': 'MKTAY\n>p1\n',
      'digits.a3m': `>p1\n${PROTEIN}\n>r\nMK3\n`,
      'words.sto': '# STOCKHOLM 1.0\np1 MK TA\n',
    };
    for (const [name, text] of Object.entries(wrong)) {
      const id = name.replace(/\.\w+$/, '');
      await expect(homologsOf({ [name]: text }, id, PROTEIN)).rejects.toMatchObject({
        code: 'invalid_alignment',
      });
    }
  });

  it.each([
    [
      'fewer columns',
      'p1.a3m',
      `>p1\n${PROTEIN}\n>r7 x\nAAA\n`,
      /p1\.a3m, row "r7", has 3 columns, .* has 10\./,
    ],
    ['fewer columns', 'p1.sto', `# STOCKHOLM 1.0\np1 ${PROTEIN}\nr7 AAA\n//\n`, /row "r7", has 3 columns/],
    [
      'too many letters',
      'p1.a3m',
      `>p1\n${PROTEIN}\n>r7\nMK${'a'.repeat(20_000_000)}TAYIAKQR\n`,
      /row "r7", has more/,
    ],
  ])('is refused, with file and row, for a row with %s in %s', async (_, name, text, message) => {
    await expect(homologsOf({ [name]: text }, 'p1', PROTEIN)).rejects.toMatchObject({
      code: 'invalid_alignment',
      message: expect.stringMatching(message),
    });
  });

  it('may have insertions as long as a protein', async () => {
    const text = `>p1\n${PROTEIN}\n>r7\nMK${'a'.repeat(65_000)}TAYIAKQA\n`;
    const [homolog] = await homologsOf({ 'p1.a3m': text }, 'p1', PROTEIN);
    expect(homolog!.cigar).toBe('2M65000D8M');
  });

  it('is refused if one file exceeds the size limit, and if there are no alignments', async () => {
    const path = alignmentFolder({ 'p1.a3m': A3M });
    truncateSync(join(path, 'p1.a3m'), ALIGNMENT_MAX_BYTES + 1);
    await expect(openAlignments(path)).rejects.toMatchObject({ code: 'invalid_alignment' });
    await expect(openAlignments(alignmentFolder({ 'notes.txt': '' }))).rejects.toMatchObject({
      code: 'invalid_alignment',
    });
    await expect(openAlignments(join(folder, 'missing'))).rejects.toMatchObject({
      code: 'invalid_alignment',
    });
  });

  it('has a digest over the names and contents of its alignments, and over no other file', async () => {
    const digest = async (files: Readonly<Record<string, string>>): Promise<string> =>
      (await openAlignments(alignmentFolder(files))).sha256;
    const one = await digest({ 'p1.a3m': A3M, 'notes.txt': 'any' });
    expect(await digest({ 'p1.a3m': A3M })).toBe(one);
    expect(await digest({ 'p2.a3m': A3M })).not.toBe(one);
    expect(await digest({ 'p1.a3m': A3M.replace('MK--', 'MR--') })).not.toBe(one);
  });
});
