import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { filesInput, type InputFiles } from '#src/build-release/sources/input-files.js';
import type { BuildOptions } from '#src/build-release/build-options.js';
import { buildRelease } from '#src/build-release/release.js';
import { Refusal } from '#src/errors.js';
import { openRelease } from '#src/release/open.js';
import { verifyRelease } from '#src/release/verify.js';
import { fakeEncoder, tokensOf } from '../tools/fake-encoder.js';
import { scratchFiles } from './scratch-files.js';

const { folder, file } = scratchFiles('build');

let folders = 0;
async function build(files: InputFiles, options: Partial<BuildOptions> = {}) {
  folders += 1;
  const indexesFolder = join(folder, `indexes-${folders}`);
  const input = await filesInput(files);
  return buildRelease({ indexesFolder, slug: 'db', encoder: fakeEncoder(), input, ...options });
}

async function refusal(files: InputFiles): Promise<Refusal> {
  const indexesFolder = mkdtempSync(join(folder, 'refused-'));
  const error: unknown = await build(files, { indexesFolder }).then(
    () => new Error('nothing was refused'),
    (cause: unknown) => cause,
  );
  if (!(error instanceof Refusal)) throw error;
  // A refused build leaves no files, not even the database's folder.
  expect(readdirSync(indexesFolder)).toEqual([]);
  return error;
}

/** Returns the bytes of every file below the folder. */
function contents(directory: string): Record<string, string> {
  return Object.fromEntries(
    readdirSync(directory).map((name) => [name, readFileSync(join(directory, name)).toString('base64')]),
  );
}

const SWISS =
  '>sp|P13738|NHAA_ECOLI Na(+)/H(+) antiporter OS=Escherichia coli OX=562 GN=nhaA PE=1 SV=3\nMKHLHRFF*\n' +
  '>tr|A0A1|A0A1_ECOLI Selenoprotein OS=Escherichia coli OX=562\nMUBX\nOk\n';
const PLAIN = '>plain a protein\nACDEFGHIKLMNPQRSTVWY\n>other\nMKV\n';
const NODES =
  '1\t|\t1\t|\tno rank\t|\n2\t|\t1\t|\tdomain\t|\n562\t|\t2\t|\tspecies\t|\n9606\t|\t1\t|\tspecies\t|\n';
const NAMES =
  '1\t|\troot\t|\t\t|\tscientific name\t|\n2\t|\tBacteria\t|\t\t|\tscientific name\t|\n' +
  '2\t|\teubacteria\t|\t\t|\tgenbank common name\t|\n562\t|\tEscherichia coli\t|\t\t|\tscientific name\t|\n' +
  '9606\t|\tHomo sapiens\t|\t\t|\tscientific name\t|\n';

describe('a build', () => {
  it('writes all proteins of FASTA files into a release, in order', async () => {
    const report = await build({ proteins: [file(SWISS), file(gzipSync(PLAIN))] }, { title: 'Mine' });
    expect(report.replaced).toEqual({ U: 1, B: 1, O: 1 });
    expect(report.encodedResidues).toBe(8 + 6 + 20 + 3);
    const release = await openRelease(report.release.directory);
    const { targets } = release;
    expect([0, 1, 2, 3].map((target) => [targets.id(target), targets.sequence(target)])).toEqual([
      ['P13738', 'MKHLHRFF'],
      ['A0A1', 'MCXXKK'],
      ['plain', 'ACDEFGHIKLMNPQRSTVWY'],
      ['other', 'MKV'],
    ]);
    expect(targets.attributes(0)).toEqual({
      name: 'Na(+)/H(+) antiporter',
      entry_name: 'NHAA_ECOLI',
      organism: 'Escherichia coli',
      taxid: 562,
      gene: 'nhaA',
      reviewed: true,
      length: 8,
    });
    expect(targets.attributes(2)).toEqual({ description: 'a protein', length: 20 });
    expect(targets.attributes(3)).toEqual({ length: 3 });
    expect(release.manifest).toMatchObject({ title: 'Mine', counts: { targets: 4, residues: 37 } });
    expect(await verifyRelease(report.release.directory)).toMatchObject({ isIntact: true });
  });

  it('writes the tokens of every residue and the self-score of every target', async () => {
    const report = await build({ proteins: [file(PLAIN)] });
    const { targets, tokens, affine } = await openRelease(report.release.directory);
    const place = tokens.tokens as { path: string; byteOffset: number };
    const stored = readFileSync(place.path).subarray(place.byteOffset, place.byteOffset + 23 * 32);
    const expected = [...tokensOf('ACDEFGHIKLMNPQRSTVWY'), ...tokensOf('MKV')];
    expect([...new Int8Array(stored)]).toEqual(expected);
    const score = [20, 21, 22].reduce((sum, row) => {
      const dot = expected.slice(row * 32, row * 32 + 32).reduce((total, value) => total + value * value, 0);
      return sum + Math.max(0, Math.floor((dot * affine.multiplier) / 65_536) - affine.offset);
    }, 0);
    expect(score).toBeGreaterThan(0);
    expect(targets.selfScore(1)).toBe(score);
  });

  it('joins typed attributes from a table and lineages from a taxonomy', async () => {
    const metadata = file(
      gzipSync(
        'id\tmass\tec:string_list\tgene\tcode\tflag\tn:number\r\n' +
          'P13738\t41.5\t1.1.1.1; 2.7.-.-\tNHAA\t007\ttrue\t1\r\nother\t\t\t\t12\tfalse\t2\nabsent\t1\n',
      ),
    );
    const taxonomy = { nodes: file(gzipSync(NODES)), names: file(NAMES) };
    const report = await build({ proteins: [file(SWISS), file(PLAIN)], metadata, taxonomy });
    expect(report.notes).toEqual([
      '1 of 3 metadata rows match no protein.',
      '2 of 4 proteins have no metadata row.',
    ]);
    const release = await openRelease(report.release.directory);
    const types = Object.fromEntries(release.fields.map(({ name, type }) => [name, type]));
    expect(types).toMatchObject({
      mass: 'number',
      ec: 'string_list',
      code: 'string',
      flag: 'boolean',
      n: 'number',
    });
    expect(release.fields.filter(({ isTaxonomy }) => isTaxonomy).map(({ name }) => name)).toEqual(['taxid']);
    expect(release.targets.attributes(0)).toMatchObject({
      mass: 41.5,
      ec: ['1.1.1.1', '2.7.-.-'],
      gene: 'NHAA',
      code: '007',
      flag: true,
      lineage: ['Bacteria', 'Escherichia coli'],
    });
    // The table's column replaces the header's field, and its cell is empty, so this protein has no gene.
    expect(release.targets.attribute(1, 'gene')).toBeUndefined();
    expect(release.targets.attributes(3)).toEqual({ code: '12', flag: false, n: 2, length: 3 });
    expect(release.lineage(562)).toEqual([562, 2, 1]);
    expect(release.lineage(9606)).toEqual([]);
  });

  it('gives the same id to equal content, independent of file names and compression', async () => {
    const first = await build({ proteins: [file(PLAIN)] });
    const second = await build({ proteins: [file(gzipSync(PLAIN))] });
    expect(second.release.id).toBe(first.release.id);
    expect(contents(second.release.directory)).toEqual(contents(first.release.directory));
    expect((await build({ proteins: [file(PLAIN)] }, { title: 'Other' })).release.id).not.toBe(
      first.release.id,
    );
  });

  it('encodes nothing if an identical release exists', async () => {
    const indexesFolder = join(folder, 'known');
    const fasta = [file(PLAIN)];
    const first = await build({ proteins: fasta }, { indexesFolder });
    const encoder = fakeEncoder(() => expect.unreachable());
    const again = await build({ proteins: fasta }, { indexesFolder, encoder });
    expect(again).toMatchObject({ isKnown: true, encodedResidues: 0 });
    expect(again.release.id).toBe(first.release.id);
    expect(readdirSync(join(indexesFolder, 'db'))).toEqual([first.release.id]);
  });
});

describe('a build refuses, with file, line and record,', () => {
  it.each([
    [
      'duplicate ids',
      PLAIN + '>other again\nMKL\n',
      'duplicate_id',
      /line 5, record 3: the id other .*line 3, record 2/,
    ],
    ['empty sequences', '>a\nMKV\n>b\n\n>c\nMK\n', 'sequence_empty', /line 3, record 2 \(b\)/],
    [
      'illegal letters',
      '>a\nMKV\n>b\nMKV\nM1V\n',
      'invalid_sequence',
      /line 5, record 2 \(b\): .*"1" at position 5/,
    ],
    [
      'nucleotides',
      `>a\nMKV\n>dna\n${'ACGT'.repeat(20)}\n`,
      'sequence_is_nucleotide',
      /line 3, record 2 \(dna\)/,
    ],
    ['records without an id', '>\nMKV\n', 'invalid_id', /line 1, record 1/],
    ['what is no FASTA', 'id\tsequence\na\tMKV\n', 'invalid_fasta', /line 1/],
    ['over-long proteins', `>a\n${'MKLV'.repeat(20_000)}\n`, 'sequence_too_long', /80000 residues/],
  ])('%s', async (_name, content, code, message) => {
    const error = await refusal({ proteins: [file(content)] });
    expect(error.code).toBe(code);
    expect(error.message).toMatch(message);
  });

  it('truncated gzip, missing files and an invalid slug', async () => {
    const packed = gzipSync(
      Array.from({ length: 500 }, (_, at) => `>p${at}\nMKV${at % 7 ? 'LA' : 'W'}\n`).join(''),
    );
    expect((await refusal({ proteins: [file(packed.subarray(0, -20))] })).code).toBe('truncated_gzip');
    await expect(build({ proteins: [join(folder, 'nowhere.fasta')] })).rejects.toThrow('does not exist');
    await expect(build({ proteins: [file(PLAIN)] }, { slug: '../x' })).rejects.toThrow(
      'cannot name a database',
    );
    await expect(build({ proteins: [file(PLAIN)] }, { slug: 'encoders' })).rejects.toThrow(
      'cannot name a database',
    );
  });

  it.each([
    [
      'a cell of another type than its column',
      'id\tx:integer\na\t1\nplain\t2.5\n',
      /line 3: "2.5" in column x is not of type integer/,
    ],
    ['a row given twice', 'id\tx\nplain\t1\nplain\t2\n', /line 3: the id plain has more than one row/],
    ['a column given twice', 'id\tx\tx\n', /line 1: the column "x" occurs twice/],
    ['too many cells', 'id\tx\nplain\t1\t2\n', /line 2: the row has 3 cells/],
    ['a computed name', 'id\tlength\nplain\t1\n', /computes the attribute length/],
    ['a name that none can have', 'id\t__proto__\nplain\t1\n', /"__proto__" cannot name an attribute/],
    ['a NUL', 'id\tx\nplain\ta\0b\n', /line 2: a cell holds the character U\+0000/],
    ['no table at all', '', /empty/],
  ])('metadata with %s', async (_name, table, message) => {
    const error = await refusal({ proteins: [file(PLAIN)], metadata: file(table) });
    expect(error.code).toBe('invalid_metadata');
    expect(error.message).toMatch(message);
  });

  it('a malformed taxonomy', async () => {
    const taxonomy = { nodes: file('1 | 1\n'), names: file(NAMES) };
    const error = await refusal({ proteins: [file(SWISS)], taxonomy });
    expect(error.code).toBe('invalid_taxonomy');
  });
});

/** Stops a build after the encoding, and returns the path of a file in its folder. */
async function stopBeforeWriting(
  proteins: readonly string[],
  indexesFolder: string,
  name: string,
): Promise<string> {
  const controller = new AbortController();
  const onProgress = ({ stage }: { readonly stage: string }): void => {
    if (stage === 'write') controller.abort(new Error('stopped before writing'));
  };
  const options = { indexesFolder, onProgress, signal: controller.signal };
  await expect(build({ proteins }, options)).rejects.toThrow('stopped before writing');
  return join(dirname(spoolIn(indexesFolder)), name);
}

/** Returns the spool of the only unfinished build. */
function spoolIn(indexesFolder: string): string {
  const [work] = readdirSync(join(indexesFolder, 'db'));
  return join(indexesFolder, 'db', work, 'proteins.jsonl');
}

describe('an interrupted build', () => {
  const many = Array.from(
    { length: 900 },
    (_, at) => `>p${at}\n${'ACDEFGHIKLMNPQRSTVWY'.repeat(10 + (at % 50))}\n`,
  );

  it('resumes at its checkpoint and ends with the same bytes', async () => {
    const fasta = [file(many.join(''))];
    const whole = await build({ proteins: fasta });
    const indexesFolder = join(folder, 'interrupted');
    for (const fatal of [0, 100, 700]) {
      const encoder = fakeEncoder((batches) => {
        if (batches === fatal) throw new Error('the power is gone');
      });
      await expect(build({ proteins: fasta }, { indexesFolder, encoder })).rejects.toThrow(
        'the power is gone',
      );
      expect(readdirSync(join(indexesFolder, 'db'))).toEqual([expect.stringMatching(/^\.building-/)]);
    }
    const { release } = await build({ proteins: fasta }, { indexesFolder });
    expect(contents(release.directory)).toEqual(contents(whole.release.directory));
    expect(readdirSync(join(indexesFolder, 'db'))).toEqual([release.id]);
  });

  it('reads the input again if proteins.jsonl is cut off or lost meanwhile', async () => {
    const fasta = [file(many.join(''))];
    const whole = await build({ proteins: fasta });
    for (const damage of [(spool: string) => truncateSync(spool, 5_000), (spool: string) => rmSync(spool)]) {
      const indexesFolder = mkdtempSync(join(folder, 'spool-'));
      const encoder = fakeEncoder((batches) => expect(batches).toBeLessThan(700));
      await expect(build({ proteins: fasta }, { indexesFolder, encoder })).rejects.toThrow();
      damage(spoolIn(indexesFolder));
      const { release } = await build({ proteins: fasta }, { indexesFolder });
      expect(contents(release.directory)).toEqual(contents(whole.release.directory));
    }
  });

  it('ends in a sentence, and makes no release, if proteins.jsonl is damaged', async () => {
    const indexesFolder = mkdtempSync(join(folder, 'spool-'));
    const encoder = fakeEncoder(() => expect.unreachable());
    const options = { indexesFolder };
    const fasta = [file(many.join(''))];
    await expect(build({ proteins: fasta }, { ...options, encoder })).rejects.toThrow();
    const spool = spoolIn(indexesFolder);
    const text = readFileSync(spool, 'latin1');
    for (const damaged of [text.replace('YACDE', 'YACDF'), text.replace(/\n$/, ' ')]) {
      writeFileSync(spool, damaged);
      await expect(build({ proteins: fasta }, options)).rejects.toThrow(
        `${spool} is damaged. Run the command of the build again; if this message comes again, remove ` +
          `${dirname(spool)} first.`,
      );
    }
    expect(readdirSync(join(indexesFolder, 'db'))).toEqual([expect.stringMatching(/^\.building-/)]);
    rmSync(dirname(spool), { recursive: true });
    expect((await build({ proteins: fasta }, options)).isKnown).toBe(false);
  });

  it('refuses self-scores that were damaged after the encoding', async () => {
    const indexesFolder = mkdtempSync(join(folder, 'scores-'));
    const fasta = [file(many.join(''))];
    const scores = await stopBeforeWriting(fasta, indexesFolder, 'self-scores.i32');
    const bytes = readFileSync(scores);
    bytes[0] ^= 1;
    writeFileSync(scores, bytes);
    const again = build({ proteins: fasta }, { indexesFolder });
    await expect(again).rejects.toThrow(
      /self-scores.i32 is damaged or of an earlier version; remove .* again\.$/,
    );
  });

  it('makes no release of tokens that are cut off or lost after the encoding', async () => {
    const fasta = [file(many.join(''))];
    for (const damage of [(path: string) => truncateSync(path, 5_000), (path: string) => rmSync(path)]) {
      const indexesFolder = mkdtempSync(join(folder, 'tokens-'));
      const tokens = await stopBeforeWriting(fasta, indexesFolder, 'release/tokens.arrow');
      damage(tokens);
      await expect(build({ proteins: fasta }, { indexesFolder })).rejects.toThrow(
        /tokens.arrow is damaged; remove/,
      );
      expect(readdirSync(join(indexesFolder, 'db'))).toEqual([expect.stringMatching(/^\.building-/)]);
    }
  });

  it('can be cancelled by a signal', async () => {
    const controller = new AbortController();
    const encoder = fakeEncoder(() => controller.abort(new Error('no longer wanted')));
    const building = build({ proteins: [file(many.join(''))] }, { encoder, signal: controller.signal });
    await expect(building).rejects.toThrow('no longer wanted');
  });

  it('names the remedy when the disk is full, and resumes when there is space', async () => {
    const indexesFolder = join(folder, 'full');
    const fasta = [file(PLAIN)];
    const full = Object.assign(new Error('write'), { code: 'ENOSPC' });
    const encoder = fakeEncoder(() => {
      throw full;
    });
    const error: unknown = await build({ proteins: fasta }, { indexesFolder, encoder }).catch(
      (cause: unknown) => cause,
    );
    expect(error).toMatchObject({
      code: 'disk_full',
      message: expect.stringContaining('run the same command again'),
    });
    expect((await build({ proteins: fasta }, { indexesFolder })).isKnown).toBe(false);
  });

  it('is refused while another process has the lock, and resumed if that process is dead', async () => {
    const indexesFolder = join(folder, 'locked');
    const fasta = [file(PLAIN)];
    const failing = fakeEncoder(() => {
      throw new Error('killed');
    });
    await expect(build({ proteins: fasta }, { indexesFolder, encoder: failing })).rejects.toThrow('killed');
    const [work] = readdirSync(join(indexesFolder, 'db'));
    const lock = join(indexesFolder, 'db', work, 'lock');
    // Process 1 always exists.
    writeFileSync(lock, JSON.stringify({ pid: 1 }));
    await expect(build({ proteins: fasta }, { indexesFolder })).rejects.toThrow('being built by process 1');
    writeFileSync(lock, JSON.stringify({ pid: 1, startTicks: 'an earlier life' }));
    expect((await build({ proteins: fasta }, { indexesFolder })).isKnown).toBe(false);
    mkdirSync(join(indexesFolder, 'db', work), { recursive: true });
    writeFileSync(lock, JSON.stringify({ pid: 2 ** 22 + 1 }));
    expect((await build({ proteins: fasta }, { indexesFolder })).isKnown).toBe(true);
  });
});
