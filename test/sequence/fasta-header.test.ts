// @module-tag fast

import { describe, expect, it } from 'vitest';
import { parseFastaHeader } from '#src/sequence/fasta-header.js';

describe('reading a FASTA header', () => {
  it('parses a UniProt header', () => {
    const header =
      'sp|P13738|NHAA_ECOLI Na(+)/H(+) antiporter NhaA OS=Escherichia coli (strain K12) OX=83333 GN=nhaA PE=1 SV=3';
    expect(parseFastaHeader(header)).toEqual({
      id: 'P13738',
      name: 'Na(+)/H(+) antiporter NhaA',
      entryName: 'NHAA_ECOLI',
      organism: 'Escherichia coli (strain K12)',
      taxid: 83333,
      gene: 'nhaA',
      reviewed: true,
    });
  });

  it('leaves out members that a UniProt header lacks', () => {
    expect(parseFastaHeader('tr|A0A385XJN2|A0A385XJN2_ECOLI')).toEqual({
      id: 'A0A385XJN2',
      entryName: 'A0A385XJN2_ECOLI',
      reviewed: false,
    });
    expect(
      parseFastaHeader('sp|P04150-2|GCR_HUMAN Isoform 2 of X=Y receptor OS=Homo sapiens OX=9606').id,
    ).toBe('P04150-2');
  });

  it('parses a UniProt header after blastdbcmd, and only a UniProt header', () => {
    const about = 'Thioredoxin 1 OS=Escherichia coli (strain K12) OX=83333 GN=trxA PE=1 SV=2';
    const fields = {
      name: 'Thioredoxin 1',
      organism: 'Escherichia coli (strain K12)',
      taxid: 83333,
      gene: 'trxA',
    };
    expect(parseFastaHeader(`P0AA25 ${about}`)).toEqual({ id: 'P0AA25', ...fields });
    expect(parseFastaHeader(`A0A385XJN2 ${about}`)).toEqual({ id: 'A0A385XJN2', ...fields });
    expect(parseFastaHeader(`lab7 ${about}`)).toEqual({ id: 'lab7', description: about });
    expect(parseFastaHeader('P0AA25 that makes an OS=x')).toEqual({
      id: 'P0AA25',
      description: 'that makes an OS=x',
    });
  });

  it('parses a UniRef header', () => {
    const header = 'UniRef50_Q8WZ42 Titin, isoform N=2 n=65 Tax=Homo sapiens TaxID=9606 RepID=TITIN_HUMAN';
    expect(parseFastaHeader(header)).toEqual({
      id: 'UniRef50_Q8WZ42',
      name: 'Titin, isoform N=2',
      memberCount: 65,
      organism: 'Homo sapiens',
      taxid: 9606,
      representative: 'TITIN_HUMAN',
    });
    expect(parseFastaHeader('UniRef100_UPI0000 n=1 Tax=root')).toEqual({
      id: 'UniRef100_UPI0000',
      memberCount: 1,
      organism: 'root',
    });
    expect(parseFastaHeader('UniRef90_A0A1')).toEqual({ id: 'UniRef90_A0A1' });
  });

  it('parses an NCBI header with brackets inside names', () => {
    expect(parseFastaHeader('WP_003131952.1 MULTISPECIES: 30S ribosomal protein S18 [Lactococcus]')).toEqual({
      id: 'WP_003131952.1',
      name: 'MULTISPECIES: 30S ribosomal protein S18',
      organism: 'Lactococcus',
    });
    expect(parseFastaHeader('AAA12345.1 holo-[acyl-carrier] synthase [Bacillus [sp.] X]')).toEqual({
      id: 'AAA12345.1',
      name: 'holo-[acyl-carrier] synthase',
      organism: 'Bacillus [sp.] X',
    });
    expect(parseFastaHeader('1ABC_A Chain A, protein [Homo sapiens]')).toMatchObject({
      id: '1ABC_A',
      organism: 'Homo sapiens',
    });
    // A bracket alone makes none, nor does an accession alone.
    expect(parseFastaHeader('mine.1x protein [Homo sapiens]').description).toBe('protein [Homo sapiens]');
    expect(parseFastaHeader('WP_003131952.1 a protein').description).toBe('a protein');
    expect(parseFastaHeader('WP_003131952.1 broken] name]').organism).toBeUndefined();
  });

  it('lists the identical proteins of an nr record, from the file and from blastdbcmd', () => {
    const records = [
      'WP_1.1 thioredoxin [Escherichia]',
      '1XOB_A Chain A, Trx',
      'P0AA25.2 Trx-1 [Escherichia]',
    ];
    for (const separator of ['\x01', ' >']) {
      expect(parseFastaHeader(records.join(separator))).toEqual({
        id: 'WP_1.1',
        name: 'thioredoxin',
        organism: 'Escherichia',
        memberCount: 3,
        accessions: ['WP_1.1', '1XOB_A', 'P0AA25.2'],
        organisms: ['Escherichia'],
      });
    }
    const many = Array.from({ length: 5_000 }, (_, at) => `WP_${at}.1 kinase [Genus species ${at}]`);
    const { memberCount, accessions, organisms } = parseFastaHeader(many.join('\x01'));
    expect(memberCount).toBe(5_000);
    for (const list of [accessions, organisms]) {
      const characters = list?.join('').length ?? 0;
      expect(characters).toBeGreaterThan(16_000);
      expect(characters).toBeLessThanOrEqual(16_384);
    }
  });

  it('splits any other header into id and description', () => {
    expect(parseFastaHeader('d1dlwa_ a.1.1.1 (A:) Protozoan hemoglobin')).toEqual({
      id: 'd1dlwa_',
      description: 'a.1.1.1 (A:) Protozoan hemoglobin',
    });
    expect(parseFastaHeader('gi|5524211|gb|AAD44166.1|')).toEqual({ id: 'gi|5524211|gb|AAD44166.1|' });
    expect(parseFastaHeader('')).toEqual({ id: '' });
  });
});
