// @module-tag fast

import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { FAMILY_MAX_ROWS } from '#src/limits.js';
import { seededRandom } from '#src/random.js';
import { AMINO_ACIDS } from '#src/sequence/substitution.js';
import { A3M, file, homologsOf, named, read, refusal } from './family-files.js';

/** r2 and r3 differ from each other; column 6 has a residue in one row of three. */
const STOCKHOLM =
  '# STOCKHOLM 1.0\n#=GF ID   Thio\n#=GF AC   PF00085.25\n#=GF DE   Thioredoxin\n#=GF AU   M\xfcller\n' +
  '#=GF GA   25.00 22.50;\n#=GF TC   26.1 22.6;\n#=GF NC   24.9 -22.4;\n#=GF TP   Domain\n#=GF CL   CL0172.1;\n' +
  '#=GS r1/1-9  AC P1.1\nr1/1-9  MKTAY.IAKQ\nr2/1-9  MRTGY.VGRQ\nr3/1-10 mrwgfgvgrd\n#=GC SS_cons HHHHH.EEEE\n//\n';

describe('a Stockholm file', () => {
  it('gives the consensus of each family with its members and its attributes', async () => {
    const [thio] = await read(file(Buffer.from(STOCKHOLM, 'latin1')));
    expect(thio).toMatchObject({
      id: 'PF00085.25',
      text: 'MRTGYVGRQ',
      attributes: {
        name: 'Thio',
        accession: 'PF00085.25',
        description: 'Thioredoxin',
        clan: 'CL0172.1',
        type: 'Domain',
        gathering_threshold: 25,
        gathering_threshold_domain: 22.5,
        trusted_cutoff: 26.1,
        trusted_cutoff_domain: 22.6,
        noise_cutoff: 24.9,
        noise_cutoff_domain: -22.4,
        member_count: 3,
      },
    });
    // r2 is the consensus itself, and the insertion of r3 is no column.
    expect(homologsOf(thio)?.map(({ id, residues, cigar }) => [id, residues, cigar])).toEqual([
      ['r1/1-9', 'MKTAYIAKQ', '9M'],
      ['r3/1-10', 'MRWGFGVGRD', '5M1D4M'],
    ]);
  });

  it('has the match columns that RF marks, whatever its rows have', async () => {
    const [thio] = await read(file(STOCKHOLM.replace('//', '#=GC RF xxxx.xxxxx\n//')));
    expect(thio.text).toBe('MRTGGVGRQ');
  });

  it('may be wrapped into blocks, and may hold many families', async () => {
    const wrapped =
      '# STOCKHOLM 1.0\n#=GF ID two\na MKTAY\nb MRTGY\n\na IAKQ\nb VGRQ\n//\n' +
      '# STOCKHOLM 1.0\n#=GF ID one\nc MKX.L\n//\n';
    const families = await read(file(gzipSync(wrapped)));
    expect(families.map(({ id, text }) => [id, text])).toEqual([
      ['two', 'MRTAYIARQ'],
      ['one', 'MKXL'],
    ]);
    // A family of one has no other member.
    expect(homologsOf(families[1])).toEqual([]);
    expect(families[1].attributes).toEqual({ name: 'one', member_count: 1 });
  });

  it.each([
    ['rows of unequal length', 'a MKTAY\nb MKTA\n//\n', 'line 3: the row "b" has 4 columns, and the first'],
    [
      'a shorter second block',
      'a MK\nb MK\n\na TA\n//\n',
      'follows a block of 1 rows, and the first block has 2',
    ],
    [
      'a longer second block',
      'a MK\nb MK\n\na TA\nb TA\nc TA\n//\n',
      'is row 3 of its block, and the first block has 2',
    ],
    [
      'the first row twice in one block',
      'a MKTAY\na MRTGY\n//\n',
      'line 3: the row "a" occurs twice in its block',
    ],
    ['a row twice in one block', 'a MK\nb MK\nb MK\n//\n', 'line 4: the row "b" occurs twice in its block'],
    [
      'blocks of other names',
      'a MK\nb MK\n\na TA\nc TA\n//\n',
      'continues a block whose row in this place is "b"',
    ],
    [
      'a file that was cut off',
      'a MKTAY\nb MKTAY\n',
      'line 3: the file ends within a family, before its "//"',
    ],
    ['a family without rows', '#=GF ID x\n//\n', 'the family has no rows'],
    ['gaps alone', 'a ....\nb ----\n//\n', 'the alignment has no match column'],
    ['an RF of another length', 'a MKTAY\n#=GC RF xxx\n//\n', '"#=GC RF" has 3 columns, and the rows have 5'],
    ['digits in a row', 'a MK1\n//\n', 'characters other than letters'],
    [
      'text behind a family',
      'a MK\n//\nb MK\n//\n',
      'line 4: a family that begins with "# STOCKHOLM 1.0" is expected',
    ],
  ])('is refused for %s', async (_, text, message) => {
    const error = await refusal(file(`# STOCKHOLM 1.0\n${text}`));
    expect(error).toMatchObject({ code: 'invalid_alignment' });
    expect(error.message).toContain(message);
    expect(error.message.split('\n')).toHaveLength(1);
  });

  it('of 100,000 rows leaves an even sample of them in memory', async () => {
    const random = seededRandom(1);
    const letters = (): string => Array.from({ length: 12 }, () => AMINO_ACIDS[random.below(20)]).join('');
    const rows = Array.from({ length: 100_000 }, (_, at) => `row${at}/1-12 ${letters()}\n`);
    const [family] = await read(file(`# STOCKHOLM 1.0\n#=GF ID big\n${rows.join('')}//\n`));
    expect(family.attributes.member_count).toBe(100_000);
    const members = homologsOf(family)!;
    expect(members.length).toBeGreaterThan(10);
    expect(members.length).toBeLessThanOrEqual(64);
    const numbers = members.map(({ id }) => Number(/\d+/.exec(id)![0]));
    // 100,000 rows are thinned out to every 64th.
    const stride = 64;
    expect(100_000 / stride).toBeLessThan(2 * FAMILY_MAX_ROWS);
    expect(numbers.filter((number) => number % stride !== 0)).toEqual([]);
    expect(Math.max(...numbers)).toBeGreaterThan(50_000);
  });
});

describe('an A3M file', () => {
  it('gives the consensus of its match columns under the name of the file', async () => {
    for (const path of [named('fam-1.a3m', A3M), named('fam-1.a3m.gz', gzipSync(A3M))]) {
      const [family] = await read(path);
      expect(family).toMatchObject({
        id: 'fam-1',
        text: 'MRTGYV',
        attributes: {
          accession: 'PF00085.25',
          name: 'Thio',
          description: 'Thioredoxin fold',
          member_count: 3,
        },
      });
      // m2 has the letters of the consensus, which adds nothing.
      expect(homologsOf(family)?.map(({ id, cigar }) => [id, cigar])).toEqual([
        ['m1', '6M'],
        ['m3', '4M1I1M'],
      ]);
    }
  });

  it('takes its name from the header of its first row if no line names it', async () => {
    const [family] = await read(named('q.a3m', '>sp|P1|X Some protein\nMKT\n>b\nMRT\n'));
    expect(family.attributes).toEqual({ name: 'sp|P1|X', description: 'Some protein', member_count: 2 });
  });

  it.each([
    [
      'rows of unequal length',
      '>a\nMKTAY\n>b\nMKT\n',
      'the row "b" before has 3 columns, and the first row has 5',
    ],
    ['no row', '#x\n', 'the alignment has no row'],
    ['no line', '', 'x.a3m, line 1: the alignment has no row'],
    ['letters before the first row', 'MKT\n', 'a row that begins with ">" is expected'],
    ['digits in a row', '>a\nMK1\n', 'characters other than letters'],
  ])('is refused for %s', async (_, text, message) => {
    const error = await refusal(named('x.a3m', text));
    expect(error.code).toBe('invalid_alignment');
    expect(error.message).toContain(message);
  });

  it('may be one of a folder, which may have Stockholm files and models, too', async () => {
    const first = named('families/b.a3m', A3M);
    writeFileSync(join(dirname(first), 'a.sto'), STOCKHOLM.replace('#=GF AC   PF00085.25\n', ''));
    writeFileSync(join(dirname(first), 'notes.txt'), 'ignored');
    writeFileSync(join(dirname(first), 'c.hmm.gz'), gzipSync(model({ name: 'c' })));
    const families = await read(dirname(first));
    expect(families.map(({ id }) => id)).toEqual(['Thio', 'b', 'c']);
  });
});

/** One header of a tar archive, and the content padded to blocks. */
function tarEntry(name: string, content: string | Buffer, type = '0'): Buffer {
  const bytes = Buffer.from(content);
  const header = Buffer.alloc(512);
  header.write(name, 0);
  header.write(`${bytes.length.toString(8).padStart(11, '0')}\0`, 124);
  header.write('        ', 148);
  header.write(type, 156);
  header.write('ustar\x0000', 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return Buffer.concat([header, bytes, Buffer.alloc((512 - (bytes.length % 512)) % 512)]);
}

const LONG_NAME = `${'long/'.repeat(30)}fam-2.a3m`;
const END = Buffer.alloc(1024);
const TAR = Buffer.concat([
  tarEntry('README', 'ignored'),
  tarEntry('all/fam-1.a3m', A3M),
  tarEntry('pax', `${String(LONG_NAME.length + 10)} path=${LONG_NAME}\n`, 'x'),
  tarEntry('short', A3M),
  tarEntry('all/t.sto.gz', gzipSync(STOCKHOLM)),
  END,
]);

describe('a tar archive', () => {
  it('gives the families of its files, plain or compressed', async () => {
    for (const path of [file(TAR), file(gzipSync(TAR))]) {
      expect((await read(path)).map(({ id }) => id)).toEqual(['fam-1', 'fam-2', 'PF00085.25']);
    }
  });

  it('is refused if it is cut off, damaged, or without a family', async () => {
    expect((await refusal(file(TAR.subarray(0, 512 * 3 + 40)))).message).toMatch(/ends (too early|within)/);
    const damaged = Buffer.from(TAR);
    damaged[512 * 2] ^= 1;
    expect((await refusal(file(damaged))).message).toContain('a header is damaged');
    const other = Buffer.concat([tarEntry('README', 'x'), END]);
    expect((await refusal(file(other))).message).toContain('no file of it ends with .a3m');
  });

  it('is refused if it is cut off between two files, or has one block of zeros at its end', async () => {
    const first = Buffer.concat([tarEntry('1.a3m', A3M), END]);
    expect(await read(file(first))).toHaveLength(1);
    expect((await refusal(file(first.subarray(0, -1024)))).message).toMatch(
      /given-\d+: it was cut off: the two blocks of zeros at its end are missing \(tar\)\.$/,
    );
    for (const rest of [first.subarray(0, -512), Buffer.concat([first.subarray(0, -512), first])]) {
      expect((await refusal(file(rest))).message).toContain('a block of zeros is within it');
    }
  });

  it('is refused for a family that is a link or sparse, and ignores other links', async () => {
    const whole = tarEntry('1.a3m', A3M);
    const readOf = (...entries: readonly Buffer[]) => file(Buffer.concat([whole, ...entries, END]));
    expect(await read(readOf(tarEntry('README', '', '1')))).toHaveLength(1);
    for (const type of ['1', '2']) {
      expect((await refusal(readOf(tarEntry('2.a3m', '', type)))).message).toMatch(
        /the file "2\.a3m" is a link without content; pack .* by tar --dereference --hard-dereference \(tar\)\.$/,
      );
    }
    const sparse = '22 GNU.sparse.major=1\n28 GNU.sparse.name=3.a3m\n';
    for (const entries of [
      [tarEntry('3.a3m', A3M, 'S')],
      [tarEntry('pax', sparse, 'x'), tarEntry('GNUSparseFile.1/3.a3m', A3M)],
    ]) {
      expect((await refusal(readOf(...entries))).message).toContain(
        'the file "3.a3m" is sparse; pack the archive again without --sparse',
      );
    }
  });
});

/** A model of HMMER3 with two nodes; the letters of HMMER are in alphabetical order. */
function model({
  name,
  header = '',
  letters = 'wk',
  cut = false,
}: Readonly<Record<string, string | boolean>>): string {
  const order = [...AMINO_ACIDS].sort();
  const node = (letter: string, at: number): string => {
    const cells = order.map((kind) => (kind === letter.toUpperCase() ? '0.01000' : '7.60000'));
    return `      ${at + 1} ${cells.join(' ')} ${at + 1} ${letter} - - -\n  2.7 4.4 2.8\n  0.0 4.7 *\n`;
  };
  const text =
    `HMMER3/f [3.3 | Nov 2019]\nNAME  ${String(name)}\n${String(header)}LENG  2\nALPH  amino\nRF    no\nCONS  yes\n` +
    `NSEQ  12\nEFFN  3.25\nHMM          ${order.join('        ')}\n            m->m     m->i\n  COMPO   2.5 4.2\n` +
    `  2.7 4.4\n  0.0 *\n${[...String(letters)].map(node).join('')}//\n`;
  return cut === true ? text.slice(0, -30) : text;
}

describe('a HMMER3 file', () => {
  it('gives match emissions as profile and the consensus as letters', async () => {
    const header = 'ACC   PF1.2\nDESC  Two nodes\nGA    25 20;\n';
    const [first, second] = await read(
      file(model({ name: 'one', header }) + model({ name: 'two', letters: 'ac' })),
    );
    expect(first).toMatchObject({
      id: 'PF1.2',
      text: 'WK',
      attributes: {
        name: 'one',
        accession: 'PF1.2',
        description: 'Two nodes',
        gathering_threshold: 25,
        gathering_threshold_domain: 20,
        member_count: 12,
      },
    });
    // HMMs without GA have no thresholds, and those without ACC are named by NAME.
    expect(second).toMatchObject({ id: 'two', text: 'AC', attributes: { name: 'two', member_count: 12 } });
    expect(Object.keys(second.attributes)).toEqual(['name', 'member_count']);
    const { family } = first;
    if (family === undefined || !('profile' in family)) throw new Error('the family has no profile');
    expect(family.profile).toMatchObject({ sequenceCount: 12, effectiveSequences: 3.25 });
    const rows = [0, 1].map((row) => Array.from(family.profile.frequencies).slice(20 * row, 20 * row + 20));
    for (const [row, letter] of [...'WK'].entries()) {
      expect(rows[row].indexOf(Math.max(...rows[row]))).toBe(AMINO_ACIDS.indexOf(letter));
      expect(rows[row].reduce((sum, frequency) => sum + frequency, 0)).toBeCloseTo(1, 4);
    }
  });

  it.each([
    ['it is cut off', model({ name: 'x', cut: true }), 'the file ends within a model, before its "//"'],
    ['a node is missing', model({ name: 'x', letters: 'w' }), 'the model has 1 nodes, and its LENG is 2'],
    [
      'it is of nucleotides',
      model({ name: 'x' }).replace(/^HMM  .*$/m, 'HMM   A C G T'),
      'is not of amino acids',
    ],
    [
      'an emission is no number',
      model({ name: 'x' }).replace('0.01000', '-1e9'),
      'is not a negative log probability',
    ],
    ['it has no name', model({ name: '' }), 'the model has no NAME'],
  ])('is refused if %s', async (_, text, message) => {
    const error = await refusal(file(text));
    expect(error.code).toBe('invalid_alignment');
    expect(error.message).toContain(message);
  });

  it('of version 2 is refused with a remedy', async () => {
    expect((await refusal(file('HMMER2.0  [2.3]\nNAME x\n'))).message).toContain('hmmconvert');
  });
});

const EXAMPLES = '/usr/share/doc/hmmer/examples';
const hasExamples = (() => {
  try {
    return readFileSync(join(EXAMPLES, 'tutorial', 'Pkinase.sto')).length > 0;
  } catch {
    return false;
  }
})();
if (!hasExamples) console.log('Skipped: real families need the package hmmer-examples (Debian).');

describe.skipIf(!hasExamples)('the example families of HMMER', () => {
  it('have consensus sequences near those of hmmbuild', async () => {
    const at = (name: string): string => join(EXAMPLES, 'tutorial', name);
    for (const name of ['globins4', 'fn3', 'Pkinase']) {
      const [[alignment], [profile]] = [await read(at(`${name}.sto`)), await read(at(`${name}.hmm`))];
      const [ours, theirs] = [alignment.text, profile.text];
      expect(Math.abs(ours.length - theirs.length)).toBeLessThanOrEqual(0.03 * theirs.length);
    }
    const minifam = await read(join(EXAMPLES, 'testsuite', 'minifam.gz'));
    expect(minifam.map(({ attributes }) => attributes.gathering_threshold)).not.toContain(undefined);
  });
});
