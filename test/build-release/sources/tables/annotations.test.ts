// @module-tag fast

import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { readAnnotations } from '#src/build-release/sources/tables/annotations.js';
import { scratchFiles } from '../../scratch-files.js';

const { folder, file } = scratchFiles('annotations');
const open = (...contents: (string | Buffer)[]) => readAnnotations(contents.map(file), join(folder, 'rows'));

const PROKKA =
  '##gff-version 3\n##sequence-region contig_1 1 5000\n' +
  'contig_1\tProdigal:002006\tCDS\t190\t255\t.\t+\t0\tID=ABC_00001;eC_number=2.7.7.7;Name=thrL;gene=thrL;' +
  'inference=ab initio;locus_tag=ABC_00001;product=thr operon%3B leader%09peptide\n' +
  'contig_1\tAragorn:001002\ttRNA\t300\t370\t.\t+\t.\tID=ABC_00002;locus_tag=ABC_00002;product=tRNA-Ile\n' +
  'contig_1\tProdigal:002006\tCDS\t400\t1000\t.\t-\t0\tID=ABC_00003;locus_tag=ABC_00003;product=x\n' +
  '##FASTA\n>contig_1\nACGT\n';
// Comments stand between the directives. The features are a landmark, a signal within its gene, genes beside their
// products (--compliant), a pseudogene, a gene over the origin of a circular plasmid, and a gene of two parts. Names
// have every escape that Bakta writes.
const BAKTA = [
  '##gff-version 3',
  '##feature-ontology https://example.org/so.obo',
  '# Annotated with Bakta',
  '##sequence-region p_1.1 1 900',
  'p_1.1\tBakta\tregion\t1\t900\t.\t+\t.\tID=p_1.1;Name=p_1.1;Is_circular=true',
  'p_1.1\tPyrodigal\tgene\t10\t99\t.\t+\t.\tID=QRSTUV_00005_gene;locus_tag=QRSTUV_00005;gene=fooA',
  'p_1.1\tPyrodigal\tCDS\t10\t99\t.\t+\t0\tID=QRSTUV_00005;Name=x;locus_tag=QRSTUV_00005;Parent=QRSTUV_00005_gene;' +
    'product=2%2C5-kinase%3B 50%25 %26 a%3Db %CE%B2-type;Dbxref=SO:0001217,UniRef:UniRef50_X;gene=fooA',
  'p_1.1\tDeepSig\tsignal_peptide\t10\t40\t0.98\t+\t.\tID=QRSTUV_00005_sigpep;Parent=QRSTUV_00005',
  'p_1.1\tInfernal\tncRNA\t120\t180\t4.8e-05\t+\t.\tID=QRSTUV_00010;locus_tag=QRSTUV_00010;gene=rnaX;product=RNA',
  'p_1.1\tPyrodigal\tCDS\t200\t300\t.\t-\t0\tID=QRSTUV_00015;locus_tag=QRSTUV_00015;product=transposase;pseudo=True',
  'p_1.1\t?\tCDS\t800\t950\t.\t+\t0\tID=QRSTUV_00020;locus_tag=QRSTUV_00020;product=replication protein',
  'p_1.1\t?\tCDS\t400\t450\t.\t+\t0\tID=QRSTUV_00025;locus_tag=QRSTUV_00025;product=shifted',
  'p_1.1\t?\tCDS\t450\t500\t.\t+\t0\tID=QRSTUV_00025;locus_tag=QRSTUV_00025;product=shifted',
  '',
].join('\n');
const NCBI =
  '##gff-version 3\r\n' +
  'NC_1.1\tRefSeq\tCDS\t10\t90\t.\t+\t0\tID=cds-NP_1.1;Parent=rna-1;Name=NP_1.1;gene=abc;locus_tag=b0001;' +
  'product=kinase A,B;protein_id=NP_1.1\r\n' +
  'NC_1.1\tRefSeq\tCDS\t200\t290\t.\t+\t0\tID=cds-NP_1.1;Parent=rna-1;product=kinase A;protein_id=NP_1.1\r\n' +
  'NC_2.1\tRefSeq\tCDS\t7\t9\t.\t?\t0\tID=cds-NP_1.1-2;protein_id=NP_1.1\r\n';

describe('annotations', () => {
  it('of Prokka and Bakta give gene, product and position by protein id', async () => {
    const table = await open(gzipSync(PROKKA));
    expect(table.find('ABC_00001')).toEqual({
      product: 'thr operon; leader peptide',
      gene: 'thrL',
      locus_tag: 'ABC_00001',
      contig: 'contig_1',
      start: 190,
      end: 255,
      strand: '+',
    });
    expect(table.find('ABC_00003')).toMatchObject({ start: 400, end: 1000, strand: '-' });
    // Transfer RNAs and the nucleotides of contigs are ignored.
    expect(table.find('ABC_00002')).toBeUndefined();
    expect(table.find('contig_1')).toBeUndefined();
    expect(table.notes?.()).toEqual(['Proteins with an annotation: 2.']);
    table.close();
  });

  it('of Bakta keep escaped names, pseudogenes, both parts, and positions over the origin', async () => {
    const table = await open(BAKTA);
    expect(table.find('QRSTUV_00005')).toEqual({
      product: '2,5-kinase; 50% & a=b β-type',
      gene: 'fooA',
      locus_tag: 'QRSTUV_00005',
      contig: 'p_1.1',
      start: 10,
      end: 99,
      strand: '+',
    });
    expect(table.find('QRSTUV_00010')).toBeUndefined();
    expect(table.find('QRSTUV_00015')).toMatchObject({ product: 'transposase', start: 200, strand: '-' });
    expect(table.find('QRSTUV_00020')).toMatchObject({ start: 800, end: 950 });
    expect(table.find('QRSTUV_00025')).toMatchObject({ start: 400, end: 500 });
    for (const other of ['p_1.1', 'QRSTUV_00005_gene', 'QRSTUV_00005_sigpep'])
      expect(table.find(other)).toBeUndefined();
    table.close();
  });

  it.each(['##FASTA\n', ''])('end before the nucleotides, at "%s"', async (directive) => {
    const table = await open(`${BAKTA}${directive}>p_1.1 circular\nACGT\nACGT\n`);
    expect(table.find('QRSTUV_00025')).toBeDefined();
    table.close();
  });

  it('of NCBI are matched by locus, protein and feature; parts of one coding sequence are joined', async () => {
    const table = await open(PROKKA, NCBI);
    const expected = {
      product: 'kinase A,B',
      gene: 'abc',
      contig: 'NC_1.1',
      start: 10,
      end: 290,
      strand: '+',
    };
    expect(table.find('NP_1.1')).toEqual({ ...expected, locus_tag: 'b0001' });
    expect(table.find('cds-NP_1.1')).toMatchObject(expected);
    expect(table.find('b0001')).toMatchObject({ ...expected, end: 90 });
    expect(table.find('NP_1.1-2')).toEqual({ contig: 'NC_2.1', start: 7, end: 9 });
    table.close();
  });

  it.each([
    ['something else', 'id;x\n', /line 1: GFF3 begins with/],
    ['short of columns', '##gff-version 3\nc\tx\tCDS\t1\t2\n', /line 2: GFF3 has 9 columns/],
    [
      'of a gene that ends before it begins',
      PROKKA.replace('\t190\t255', '\t255\t190'),
      /line 3: a start and an end/,
    ],
  ])('are refused where the file is %s', async (_name, content, message) => {
    await expect(open(content)).rejects.toMatchObject({ code: 'invalid_metadata' });
    await expect(open(content)).rejects.toThrow(message);
  });
});
