import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { Refusal } from '#src/errors.js';
import {
  fastaFile,
  readFasta,
  refuseRecord,
  type FastaInput,
  type FastaRecord,
} from '#src/sequence/fasta.js';
import { parseFastaHeader } from '#src/sequence/fasta-header.js';
import { normaliseProtein } from '#src/sequence/protein.js';
import { SHARED } from '../tools/paths.js';

const folder = mkdtempSync(join(tmpdir(), 'gloaming-fasta-'));
afterAll(() => rmSync(folder, { recursive: true }));

const SAMPLE_FILE = join(SHARED, 'data', 'uniprot-sample.fasta.gz');
if (!existsSync(SAMPLE_FILE)) console.log(`skipped: ${SAMPLE_FILE} is not there`);

/** The bytes cut into pieces of this size, so that every boundary falls everywhere. */
function input(bytes: Buffer | string, pieceBytes = 1 << 16): FastaInput {
  const all = Buffer.from(bytes);
  const pieces: Buffer[] = [];
  for (let at = 0; at < all.length; at += pieceBytes) pieces.push(all.subarray(at, at + pieceBytes));
  return { file: 'given.fasta', bytes: Readable.from(pieces, { objectMode: true }) };
}

async function records(source: FastaInput): Promise<FastaRecord[]> {
  const list: FastaRecord[] = [];
  for await (const record of readFasta(source)) list.push(record);
  return list;
}

async function refusal(source: FastaInput): Promise<Refusal> {
  const error: unknown = await records(source).then(
    () => new Error('nothing was refused'),
    (cause: unknown) => cause,
  );
  if (error instanceof Refusal) return error;
  throw error;
}

const SAMPLE = '\n>a first one\nMKV\nLAW\n\n>b\r\nMK>V\r\n>c\nACD';
const EXPECTED = [
  { header: 'a first one', text: 'MKV\nLAW\n\n', place: { file: 'given.fasta', line: 2, record: 1 } },
  { header: 'b', text: 'MK>V\r\n', place: { file: 'given.fasta', line: 6, record: 2 } },
  { header: 'c', text: 'ACD', place: { file: 'given.fasta', line: 8, record: 3 } },
];

describe('reading FASTA', () => {
  it('yields the same records for any chunking of the input', async () => {
    for (let piece = 1; piece <= SAMPLE.length; piece += 1) {
      expect(await records(input(SAMPLE, piece))).toEqual(EXPECTED);
    }
  });

  it('recognises gzip by its first bytes, also in chunks of one byte and with several members', async () => {
    const members = Buffer.concat([gzipSync(SAMPLE.slice(0, 20)), gzipSync(SAMPLE.slice(20))]);
    for (const piece of [1, 7, 1 << 16]) expect(await records(input(members, piece))).toEqual(EXPECTED);
  });

  it('reads files, plain and compressed, and skips a byte order mark', async () => {
    const plain = join(folder, 'plain.fasta');
    writeFileSync(plain, '\uFEFF>a\nMKV\n');
    expect((await records(fastaFile(plain))).map(({ header, text }) => [header, text])).toEqual([
      ['a', 'MKV\n'],
    ]);
    const packed = join(folder, 'packed');
    writeFileSync(packed, gzipSync('>a\nMKV\n'));
    expect((await records(fastaFile(packed)))[0]?.text).toBe('MKV\n');
  });

  it('reads standard input', () => {
    const program = `
      import { readFasta } from '#src/sequence/fasta.js';
      for await (const { header } of readFasta({ file: 'standard input', bytes: process.stdin })) console.log(header);`;
    const output = execFileSync(process.execPath, ['--input-type=module', '-e', program], {
      input: gzipSync(SAMPLE),
      encoding: 'utf8',
    });
    expect(output).toBe('a first one\nb\nc\n');
  });

  it('names the record before truncated or damaged gzip data', async () => {
    const many = Array.from(
      { length: 5000 },
      (_, index) => `>p${index}\nMKV${'ACDEFGHIKL'.repeat(index % 40)}\n`,
    );
    const packed = gzipSync(many.join(''));
    const error = await refusal(input(packed.subarray(0, packed.length - 9)));
    expect(error.code).toBe('truncated_gzip');
    expect(error.message).toMatch(/^given\.fasta, line \d+, record \d+: the gzip data ends too early/);
    const damaged = Buffer.from(packed);
    damaged.fill(0xff, packed.length >> 1, (packed.length >> 1) + 16);
    expect((await refusal(input(damaged))).code).toBe('invalid_gzip');
  });

  it('refuses other formats and names the line', async () => {
    expect((await refusal(input('\n\n@read/1\nACGT\n'))).message).toContain('given.fasta, line 3');
    expect((await refusal(input(''))).message).toContain('holds no FASTA record');
    expect((await refusal(input('\n\n'))).code).toBe('invalid_fasta');
    expect((await refusal(input('>a\rMKV\r>b\rMKV\n'))).message).toContain('bare carriage return');
    expect((await refusal(input(Buffer.from('>a\nMKV\n>caf\xe9 x\nMKV\n', 'latin1')))).message).toContain(
      'given.fasta, line 3, record 2: the header is not UTF-8',
    );
    expect((await refusal(input(`MKV\n${'MKV\n'.repeat(400_000)}`))).message).toContain(
      'given.fasta, line 1: a',
    );
    expect((await refusal(input('MKVLAAGIVG\n'))).message).toContain('such as ">query"');
    expect((await refusal(fastaFile(join(folder, 'none.fasta')))).code).toBe('file_not_found');
    expect((await refusal(fastaFile(folder))).message).toContain('is a folder');
  });

  it('refuses a chromosome as nucleotides before it fills the memory', async () => {
    const line = `${'ACGTTGCA'.repeat(8)}\n`;
    const chunk = Buffer.from(line.repeat(16_384));
    const endless = (function* () {
      yield Buffer.from('>chr1\n');
      for (;;) yield chunk;
    })();
    const error = await refusal({ file: 'genome.fa', bytes: Readable.from(endless) });
    expect(error.code).toBe('sequence_is_nucleotide');
    expect(error.message).toContain('genome.fa, line 1, record 1 (chr1)');
  });

  it('refuses an endless sequence on lines of one letter after a megabyte', async () => {
    const chunk = Buffer.from('M\nK\n'.repeat(65_536));
    let chunks = 0;
    const endless = (function* () {
      yield Buffer.from('>titin of titins\n');
      for (; ; chunks += 1) yield chunk;
    })();
    const error = await refusal({ file: 'bomb.fa', bytes: Readable.from(endless) });
    expect(error.code).toBe('sequence_too_long');
    expect(error.message).toContain('bomb.fa, line 1, record 1 (titin of titins)');
    expect(chunks * chunk.length).toBeLessThan(4 * 1024 * 1024);
  });

  it('reads a header of many megabytes, and the longest protein on lines of one letter', async () => {
    const header = `${'x'.repeat(9 * 1024 * 1024)}`;
    const [record] = await records(input(`>${header}\n${'M\r\n'.repeat(65_535)}`));
    expect(record?.header.length).toBe(header.length);
    expect(normaliseProtein(record?.text ?? '').sequence.length).toBe(65_535);
  });

  it('reports the line of a position in a sequence', async () => {
    const [record] = await records(input('>a\nMKV L\n\nAC1W\n'));
    try {
      normaliseProtein(record?.text ?? '');
      expect.unreachable();
    } catch (cause) {
      const error = refuseRecord(cause as Refusal, record as FastaRecord, 'a');
      expect(error.message).toMatch(/^given\.fasta, line 4, record 1 \(a\): .*"1" at position 7/);
      expect(error.code).toBe('invalid_sequence');
    }
  });
});

describe('any bytes at all', () => {
  it('give the same records or the same refusal for any chunking', async () => {
    const outcome = async (source: FastaInput): Promise<unknown> =>
      records(source).catch((cause: unknown) => {
        if (cause instanceof Refusal) return [cause.code, cause.message];
        throw cause;
      });
    const line = fc.constantFrom(
      '>a',
      '>sp|P1|X_Y Z OS=O',
      '>',
      'MKV',
      '',
      ' ',
      'MK V\r',
      '*',
      '\uFEFF>a',
      '>b\rM',
      '\x1f\x8b',
    );
    const text = fc.oneof(
      fc.array(line, { maxLength: 12 }).map((lines) => lines.join('\n')),
      fc.string(),
    );
    await fc.assert(
      fc.asyncProperty(text, fc.integer({ min: 1, max: 9 }), async (given, piece) => {
        expect(await outcome(input(given, piece))).toEqual(await outcome(input(given)));
      }),
      { numRuns: 300 },
    );
  });
});

describe('real proteins', () => {
  it.skipIf(!existsSync(SAMPLE_FILE))('are all read, named once and normalised', async () => {
    const ids = new Set<string>();
    let residues = 0;
    for await (const { header, text } of readFasta(fastaFile(SAMPLE_FILE))) {
      const { id, organism, taxid } = parseFastaHeader(header);
      if (organism === undefined || taxid === undefined) expect.fail(`${header} is not understood`);
      ids.add(id);
      residues += normaliseProtein(text).sequence.length;
    }
    expect([ids.size, residues]).toEqual([27_915, 11_518_259]);
  });
});
