// @module-tag fast

import { mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { columnsOf } from '#src/homologs/homolog-set.js';
import { RELATIVE_RULES } from '#src/homologs/rules.js';
import { ALIGNMENT_MAX_BYTES } from '#src/limits.js';
import { alignedHomologs, openAlignments } from '#src/find-homologs/alignments.js';

const folder = mkdtempSync(join(tmpdir(), 'gloaming-alignments-'));
afterAll(() => rmSync(folder, { recursive: true }));

let folders = 0;
function given(files: Readonly<Record<string, string>>): string {
  folders += 1;
  const path = join(folder, String(folders));
  mkdirSync(path);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(path, name), text);
  return path;
}

async function homologsOf(files: Readonly<Record<string, string>>, id: string, sequence: string) {
  const finder = alignedHomologs(await openAlignments(given(files)), RELATIVE_RULES);
  const [homologSet] = await finder.find([{ id, sequence }]);
  return homologSet.homologs;
}

const PROTEIN = 'MKTAYIAKQR';
/** The protein with a near relative that has two residues more in the middle and lacks one later. */
const A3M = `>p1 description\n${PROTEIN}\n>r1\nMRTGYggVGK-R\n>short\nMK--------\n`;
const STOCKHOLM =
  '# STOCKHOLM 1.0\n#=GF ID one\n\np1 MKTAY..IAKQR\nr1 MRTGYggVGK-R\nshort MK..........\n#=GC RF xxxxx..xxxxx\n//\n';

describe("a lab's own alignments", () => {
  it('give the same relatives as A3M and as Stockholm', async () => {
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

  it('place rows over a protein that is not the first of them and has gaps itself', async () => {
    const [row] = await homologsOf({ 'p1.a3m': `>r1\nGGMKVAYIVKQR\n>p1\n--${PROTEIN}\n` }, 'p1', PROTEIN);
    expect([row.residues, row.cigar, row.start]).toEqual(['MKVAYIVKQR', '10M', 0]);
  });

  it('give nothing to a protein without an alignment, nor to one whose id leads elsewhere', async () => {
    expect(await homologsOf({ 'p1.a3m': A3M }, 'p2', PROTEIN)).toEqual([]);
    const path = given({ 'p1.a3m': A3M });
    writeFileSync(join(path, '..', 'outside.a3m'), A3M);
    const [homologSet] = await alignedHomologs(await openAlignments(path), RELATIVE_RULES).find([
      { id: '../outside', sequence: PROTEIN },
    ]);
    expect(homologSet.homologs).toEqual([]);
  });

  it('are named in the refusal where they are of another protein or no alignment', async () => {
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

  it('are refused whole where one is larger than is read, and where there are none', async () => {
    const path = given({ 'p1.a3m': A3M });
    truncateSync(join(path, 'p1.a3m'), ALIGNMENT_MAX_BYTES + 1);
    await expect(openAlignments(path)).rejects.toMatchObject({ code: 'invalid_alignment' });
    await expect(openAlignments(given({ 'notes.txt': '' }))).rejects.toMatchObject({
      code: 'invalid_alignment',
    });
    await expect(openAlignments(join(folder, 'missing'))).rejects.toMatchObject({
      code: 'invalid_alignment',
    });
  });

  it('are pinned by their names and content', async () => {
    const digest = async (files: Readonly<Record<string, string>>): Promise<string> =>
      (await openAlignments(given(files))).sha256;
    const one = await digest({ 'p1.a3m': A3M, 'notes.txt': 'any' });
    expect(await digest({ 'p1.a3m': A3M })).toBe(one);
    expect(await digest({ 'p2.a3m': A3M })).not.toBe(one);
    expect(await digest({ 'p1.a3m': A3M.replace('MK--', 'MR--') })).not.toBe(one);
  });
});
