import { describe, expect, it } from 'vitest';
import { parseFastaHeader } from '#src/sequence/fasta-header.js';

describe('reading a FASTA header', () => {
  it('takes a UniProt header apart', () => {
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

  it('leaves out what a UniProt header does not say', () => {
    expect(parseFastaHeader('tr|A0A385XJN2|A0A385XJN2_ECOLI')).toEqual({
      id: 'A0A385XJN2',
      entryName: 'A0A385XJN2_ECOLI',
      reviewed: false,
    });
    expect(
      parseFastaHeader('sp|P04150-2|GCR_HUMAN Isoform 2 of X=Y receptor OS=Homo sapiens OX=9606').id,
    ).toBe('P04150-2');
  });

  it('takes the first word of any other header as the id and the rest as the description', () => {
    expect(parseFastaHeader('d1dlwa_ a.1.1.1 (A:) Protozoan hemoglobin')).toEqual({
      id: 'd1dlwa_',
      description: 'a.1.1.1 (A:) Protozoan hemoglobin',
    });
    expect(parseFastaHeader('gi|5524211|gb|AAD44166.1|')).toEqual({ id: 'gi|5524211|gb|AAD44166.1|' });
    expect(parseFastaHeader('')).toEqual({ id: '' });
  });
});
