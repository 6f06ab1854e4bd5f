import { execFileSync, spawn, spawnSync } from 'node:child_process';
import {
  appendFileSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { Refusal } from '#src/errors.js';
import { buildRelease } from '#src/build-release/release.js';
import { filesInput, type InputFiles } from '#src/build-release/sources/input-files.js';
import { spoolStandardInput } from '#src/build-release/sources/standard-input.js';
import { openRelease } from '#src/release/open.js';
import { fakeEncoder } from '../../tools/fake-encoder.js';
import { scratchFiles } from '../scratch-files.js';

const { folder, file } = scratchFiles('input-files');

async function build(files: InputFiles) {
  const recognised: string[] = [];
  const input = await filesInput(files, { onRecognised: (line) => recognised.push(line) });
  const indexesFolder = mkdtempSync(join(folder, 'indexes-'));
  const report = await buildRelease({ indexesFolder, slug: 'db', encoder: fakeEncoder(), input });
  const { targets, fields } = await openRelease(report.release.directory);
  const proteins = Array.from({ length: targets.count }, (_, at) => ({
    id: targets.id(at),
    sequence: targets.sequence(at),
    ...targets.attributes(at),
  }));
  return { report, recognised, proteins, fields };
}

async function refusal(files: InputFiles): Promise<Refusal> {
  const error: unknown = await build(files).then(
    () => new Error('nothing was refused'),
    (cause: unknown) => cause,
  );
  if (error instanceof Refusal) return error;
  throw error;
}

const FASTA = '>UniRef90_A0A1 Titin n=2 Tax=Homo sapiens TaxID=9606 RepID=TITIN_HUMAN\nMKVLAW\n';
const FLAT =
  'ID   A_ECOLI                 Reviewed;          6 AA.\nAC   P00001;\nDE   RecName: Full=First;\n' +
  'DR   GO; GO:0000001; C:x; IDA:Y.\nPE   1: Evidence at protein level;\nSQ   SEQUENCE   6 AA;\n     ACDEFG\n//\n';
const XML =
  '<uniprot><entry dataset="TrEMBL"><accession>Q00001</accession><name>B</name>' +
  '<dbReference type="Pfam" id="PF00001"/><sequence>HIKLMN</sequence></entry></uniprot>';

describe('the files of a build', () => {
  it('is refused in a sentence if a file is a device, a pipe or a folder', { timeout: 10_000 }, async () => {
    const zero = join(folder, 'zero.fasta');
    const pipe = join(folder, 'pipe.fasta');
    symlinkSync('/dev/zero', zero);
    execFileSync('mkfifo', [pipe]);
    const fasta = file(FASTA);
    for (const given of [zero, pipe]) {
      expect((await refusal({ proteins: [given] })).message).toMatch(
        / is a (device|pipe); write it to a file first/,
      );
      expect((await refusal({ proteins: [fasta], metadata: given })).code).toBe('file_not_found');
      expect((await refusal({ proteins: [fasta], annotations: [given] })).code).toBe('file_not_found');
    }
    expect((await refusal({ proteins: [fasta], metadata: folder })).message).toContain('is a folder');
  });

  it('are recognised one by one by their first bytes, and form one database', async () => {
    const given = [file(FASTA), file(gzipSync(FLAT)), file(XML)];
    const { recognised, proteins, fields } = await build({ proteins: given });
    expect(recognised).toEqual([
      `${given[0]}: FASTA`,
      `${given[1]}: UniProt flat file, gzip`,
      `${given[2]}: UniProt XML`,
    ]);
    expect(proteins).toEqual([
      {
        id: 'UniRef90_A0A1',
        sequence: 'MKVLAW',
        name: 'Titin',
        organism: 'Homo sapiens',
        taxid: 9606,
        member_count: 2,
        representative: 'TITIN_HUMAN',
        length: 6,
      },
      {
        id: 'P00001',
        sequence: 'ACDEFG',
        name: 'First',
        entry_name: 'A_ECOLI',
        reviewed: true,
        protein_existence: 1,
        go: ['GO:0000001'],
        length: 6,
      },
      { id: 'Q00001', sequence: 'HIKLMN', entry_name: 'B', reviewed: false, pfam: ['PF00001'], length: 6 },
    ]);
    // A field without values is omitted.
    expect(fields.map(({ name }) => name)).not.toContain('keywords');
    expect(fields.find(({ name }) => name === 'go')?.type).toBe('string_list');
  });

  it('have the format that the caller states, if any', async () => {
    const named = await refusal({ proteins: [file(FASTA)], format: 'uniprot-dat' });
    expect(named.message).toContain('begins with "ID"');
  });

  it('are refused with a remedy if they are in another known format', async () => {
    const cases: readonly (readonly [string | Buffer, string])[] = [
      [Buffer.from('\x89HDF\r\n\x1a\n', 'latin1'), 'an HDF5 file'],
      ['LOCUS       SCU49845     5028 bp    DNA', 'a GenBank file'],
      ['ID   X56734; SV 1; linear; mRNA; STD; PLN; 1859 BP.', 'an EMBL file'],
      ['##gff-version 3\n', 'a GFF3 file'],
      ['@read1\nACGTNN\n+\nFFFFFF\n', 'a FASTQ file'],
      ['<!DOCTYPE html><html>', 'XML, but not'],
      ['PK\x03\x04rest', 'a zip archive'],
      ['BZh91AY', 'compressed by bzip2'],
      ['SQLite format 3\0', 'an SQLite database'],
      ['HMMER2.0 [2.3]\n', 'a profile of HMMER2'],
    ];
    for (const [content, name] of cases) {
      const error = await refusal({ proteins: [file(content)] });
      expect(error.code).toBe('invalid_input');
      expect(error.message).toContain(name);
    }
    expect((await refusal({ proteins: [file('protein\n')] })).code).toBe('invalid_fasta');
  });

  it('are refused with the line of an illegal letter, in every format', async () => {
    const flat = await refusal({ proteins: [file(FLAT.replace('     ACDEFG', '     ACD\n     E1G'))] });
    expect(flat.message).toMatch(/given-\d+, line 8, record 1 \(P00001\): .*"1" at position 5/);
    const xml = await refusal({ proteins: [file(XML.replace('<sequence>HIK', '\n<sequence>\nH-K'))] });
    expect(xml.message).toMatch(/given-\d+, line 3, record 1 \(Q00001\): .*"-" at position 2/);
  });
});

describe('a file that changes after it was hashed', () => {
  /** Builds in a folder that must stay empty. */
  async function refusedBuild(files: InputFiles, change: () => void): Promise<unknown> {
    const input = await filesInput(files);
    change();
    const indexesFolder = mkdtempSync(join(folder, 'indexes-'));
    const building = buildRelease({ indexesFolder, slug: 'db', encoder: fakeEncoder(), input });
    const cause: unknown = await building.catch((error: unknown) => error);
    expect(readdirSync(indexesFolder)).toEqual([]);
    return cause;
  }

  it('is refused, and leaves no release and no build to resume', async () => {
    const [fasta, metadata] = [file(''), file('id\tx\na\t1\n')];
    for (const [given, other] of [
      [fasta, '>a\nMKW\n'],
      [fasta, 'no FASTA\n'],
      [metadata, 'id\tx\na\t2\n'],
    ]) {
      writeFileSync(fasta, '>a\nMKV\n');
      const cause = await refusedBuild({ proteins: [fasta], metadata }, () => renameSync(file(other), given));
      const message = `${given} changed while it was read: run the command again.`;
      expect(cause).toMatchObject({ code: 'invalid_input', message });
    }
  });

  it('is refused if it is written in place, or is gone', async () => {
    const fasta = file('>a\nMKV\n');
    for (const change of [
      () => appendFileSync(fasta, 'A\n'),
      () => utimesSync(fasta, 1, 1),
      () => rmSync(fasta),
    ]) {
      const cause = await refusedBuild({ proteins: [fasta] }, change);
      expect(cause).toMatchObject({ message: `${fasta} changed while it was read: run the command again.` });
    }
  });

  it('is refused if it is replaced between two of its proteins', async () => {
    const fasta = file('>a\nMKV\n>b\nMK\n');
    const source = await (await filesInput({ proteins: [fasta] })).open(folder);
    const reading = (async () => {
      for await (const { id } of source.proteins()) if (id === 'a') renameSync(file('>c\nMKV\n'), fasta);
    })();
    await expect(reading).rejects.toThrow('changed while it was read');
    source.close();
  });
});

describe('a folder of structures', () => {
  const cif = (id: string, type: string) =>
    `data_${id}\n_entry.id ${id}\n_entity_poly.entity_id 1\n_entity_poly.type '${type}'\n` +
    '_entity_poly.pdbx_seq_one_letter_code_can MKVL\n_entity_poly.pdbx_strand_id A\n';

  it('is a database of its proteins, with a note on structures without a protein', async () => {
    const models = mkdtempSync(join(folder, 'models-'));
    writeFileSync(join(models, '2.cif'), cif('2DEF', 'polypeptide(L)'));
    writeFileSync(join(models, '1.cif.gz'), gzipSync(cif('1ABC', 'polypeptide(L)')));
    writeFileSync(join(models, '3.cif'), cif('3GHI', 'polyribonucleotide'));
    const { recognised, proteins, report } = await build({ proteins: [models, file(FASTA)] });
    expect(recognised[0]).toBe(`${models}: 3 files of structures`);
    expect(proteins.map(({ id }) => id)).toEqual(['1ABC_A', '2DEF_A', 'UniRef90_A0A1']);
    expect(report.notes).toEqual(['Structures without a protein: 1.']);
    rmSync(join(models, '1.cif.gz'));
    rmSync(join(models, '2.cif'));
    expect((await refusal({ proteins: [models] })).message).toContain('None of the files has a protein');
  });
});

describe('a table of domains', () => {
  it('replaces the domains in the sequence file', async () => {
    const rows =
      'P00001\tmd5\t6\tPfam\tPF00085\tThioredoxin\t1\t6\t1E-3\tT\t01-01-2024\t-\t-\tGO:0000002\t-\n';
    const { proteins, report } = await build({ proteins: [file(FLAT), file(XML)], domains: [file(rows)] });
    expect(proteins).toMatchObject([{ go: ['GO:0000002'], domains: ['PF00085:1-6'] }, { id: 'Q00001' }]);
    expect(proteins[1]).not.toHaveProperty('pfam');
    expect(report.notes).toEqual(['Proteins with domains: 1.']);
  });
});

describe('a file of annotations', () => {
  it('adds gene and position to proteins, as numbers for filters', async () => {
    const gff =
      '##gff-version 3\nc1\tProdigal\tCDS\t7\t90\t.\t-\t0\tID=L_1;locus_tag=L_1;product=kinase;gene=abc\n';
    const { proteins, fields } = await build({
      proteins: [file('>L_1 kinase\nMKV\n>L_2\nACD\n')],
      annotations: [file(gff)],
    });
    expect(proteins[0]).toMatchObject({
      product: 'kinase',
      gene: 'abc',
      contig: 'c1',
      start: 7,
      end: 90,
      strand: '-',
    });
    expect(proteins[1]).toEqual({ id: 'L_2', sequence: 'ACD', length: 3 });
    expect(fields.filter(({ type }) => type === 'integer').map(({ name }) => name)).toEqual([
      'start',
      'end',
      'length',
    ]);
  });
});

describe('repeated ids', () => {
  const given = ['>a x\nMKV\n>b\nACD\n>a y\nWWW\n', '>b\nCCC\n>a\nDDD\n>a_2\nEEE\n>a_3\nFFF\n'];

  it('refuse the build, with both places', async () => {
    const error = await refusal({ proteins: given.map(file) });
    expect(error.code).toBe('duplicate_id');
    expect(error.message).toMatch(/line 5, record 3: the id a is already used in .*line 1, record 1\./);
    // The caller of this build had no choice of a rule, as in a refresh.
    expect(error.message).toMatch(/Ids must be unique\. Remove or rename one of the two proteins\.$/);
    const chosen = await refusal({ proteins: given.map(file), duplicates: 'fail' });
    expect(chosen.message).toMatch(/Use --duplicates first to drop/);
  });

  it('are dropped or renamed to unused ids on request, with a note', async () => {
    const first = await build({ proteins: given.map(file), duplicates: 'first' });
    expect(first.proteins.map(({ id, sequence }) => `${id}:${sequence}`)).toEqual([
      'a:MKV',
      'b:ACD',
      'a_2:EEE',
      'a_3:FFF',
    ]);
    expect(first.report.notes[0]).toBe('Proteins left out because of a repeated id: 3.');
    const suffix = await build({ proteins: given.map(file), duplicates: 'suffix' });
    expect(suffix.proteins.map(({ id, sequence }) => `${id}:${sequence}`)).toEqual([
      'a:MKV',
      'b:ACD',
      'a_2:WWW',
      'b_2:CCC',
      'a_3:DDD',
      'a_2_2:EEE',
      'a_3_2:FFF',
    ]);
    expect(suffix.report.notes[0]).toMatch(/^Proteins renamed .* repeated id: 5\.$/);
    expect(suffix.report.release.id).not.toBe(first.report.release.id);
  });

  it('are never renamed to an id in use', async () => {
    const taken = file('>a_2\nMKV\n>a\nACD\n>a\nWWW\n');
    const { proteins } = await build({ proteins: [taken], duplicates: 'suffix' });
    expect(proteins.map(({ id }) => id)).toEqual(['a_2', 'a', 'a_3']);
  });

  it('are not renamed beyond the longest id', async () => {
    const long = 'x'.repeat(255);
    const error = await refusal({ proteins: [file(`>${long}\nMKV\n>${long}\nMKV\n`)], duplicates: 'suffix' });
    expect(error.code).toBe('invalid_id');
  });
});

describe("NCBI's taxids by accession", () => {
  const fasta =
    '>WP_1.1 kinase [Escherichia]\nMKV\n>WP_2 bare\nACD\n>WP_3.2 unknown\nEEE\n' +
    '>sp|P0A001|X_Y Z OS=Homo sapiens OX=9606\nMMM\n>WP_4.1 zero\nFFF\n';
  const long =
    'accession\taccession.version\ttaxid\tgi\nWP_1\tWP_1.1\t562\t0\nWP_2\tWP_2.7\t287\t0\n' +
    'WP_3\tWP_3.1\t1\t0\nP0A001\tP0A001.1\t10090\t0\nWP_4\tWP_4.1\t0\t0\nXP_9\tXP_9.1\t9\t0\n';

  it('are used for headers without a taxid, with and without version', async () => {
    const full = long
      .split('\n')
      .map((row) => row.split('\t').slice(1, 3).join('\t'))
      .join('\n');
    for (const table of [long, full]) {
      const { proteins, report } = await build({
        proteins: [file(fasta)],
        accessionTaxids: file(gzipSync(table)),
      });
      // Another version is another protein, and a taxid of the header takes precedence.
      expect(proteins).toMatchObject([{ taxid: 562 }, { taxid: 287 }, { id: 'WP_3.2' }, { taxid: 9606 }, {}]);
      expect(proteins.filter((protein) => 'taxid' in protein)).toHaveLength(3);
      expect(report.notes).toEqual(['2 of 5 proteins have no accession2taxid row.']);
    }
  });

  it('are refused if the file is another table', async () => {
    for (const [table, message] of [
      ['WP_1.1\t562\n', /line 1: a header row/],
      ['accession.version\ttaxid\nWP_1.1\tx\n', /line 2: an accession and a taxid/],
      ['accession.version\ttaxid\nWP_1.1\n', /line 2: an accession and a taxid/],
    ] as const) {
      const error = await refusal({ proteins: [file(fasta)], accessionTaxids: file(table) });
      expect(error.code).toBe('invalid_metadata');
      expect(error.message).toMatch(message);
    }
  });
});

describe('standard input', () => {
  it('is copied to a file in a folder of its own for the duration of the build', async () => {
    const spooled = await spoolStandardInput(Readable.from([Buffer.from('>a\n'), Buffer.from('MKV\n')]));
    const { proteins } = await build({ proteins: [spooled.path] });
    expect(proteins.map(({ id }) => id)).toEqual(['a']);
    await spooled.remove();
    expect(() => readdirSync(join(spooled.path, '..'))).toThrow('ENOENT');
  });

  const isThere = spawnSync('blastdbcmd', ['-version']).status === 0;
  if (!isThere) console.log('skipped: no blastdbcmd (apt-get install ncbi-blast+)');

  it.skipIf(!isThere)('reads the output of blastdbcmd for a database of makeblastdb', async () => {
    const database = join(folder, 'blast');
    const fasta = file(
      '>sp|P0AA25|THIO_ECOLI Thioredoxin 1 OS=Escherichia coli OX=83333 GN=trxA\nMSDKIIHLTDDSFDTDVLKADG\n' +
        '>WP_000000001.1 kinase [Escherichia coli]\nMKVLAWYDEFGHIKLMNPQR\n>lcl|mine my own\nACDEFGHIKL\n',
    );
    const options = ['-dbtype', 'prot', '-parse_seqids', '-in', fasta, '-out', database];
    expect(spawnSync('makeblastdb', options).status).toBe(0);
    const printed = spawn('blastdbcmd', ['-db', database, '-entry', 'all'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const spooled = await spoolStandardInput(printed.stdout);
    const { proteins } = await build({ proteins: [spooled.path] });
    await spooled.remove();
    expect(proteins).toEqual([
      expect.objectContaining({ id: 'P0AA25', name: 'Thioredoxin 1', organism: 'Escherichia coli' }),
      expect.objectContaining({ id: 'WP_000000001.1', name: 'kinase', organism: 'Escherichia coli' }),
      expect.objectContaining({ id: 'mine', sequence: 'ACDEFGHIKL' }),
    ]);
  });

  it('leaves no file behind if the build is interrupted while it is read', async () => {
    const usual = process.env.TMPDIR;
    const own = mkdtempSync(join(folder, 'tmp-'));
    process.env.TMPDIR = own;
    const controller = new AbortController();
    async function* slow() {
      yield Buffer.from('>a\n');
      controller.abort(new Refusal('interrupted', 'Interrupted.'));
      yield Buffer.from('MKV\n');
    }
    try {
      await expect(spoolStandardInput(slow(), controller.signal)).rejects.toThrow('Interrupted.');
      expect(readdirSync(own)).toEqual([]);
    } finally {
      if (usual === undefined) delete process.env.TMPDIR;
      else process.env.TMPDIR = usual;
    }
  });
});
