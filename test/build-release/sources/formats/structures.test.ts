import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { afterAll, describe, expect, it } from 'vitest';
import type { ProteinFormat } from '#src/build-release/sources/formats/protein-format.js';
import { filesIn } from '#src/build-release/sources/formats/folder.js';
import { MMCIF } from '#src/build-release/sources/formats/structures/mmcif.js';
import { PDB } from '#src/build-release/sources/formats/structures/pdb.js';

const folder = mkdtempSync(join(tmpdir(), 'gloaming-structures-'));
afterAll(() => rmSync(folder, { recursive: true }));

async function proteins(format: ProteinFormat, text: string, file = 'given', piece = 1 << 16) {
  const bytes = Buffer.from(text);
  const pieces: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += piece) pieces.push(bytes.subarray(at, at + piece));
  const list: unknown[] = [];
  const input = { file, bytes: Readable.from(pieces, { objectMode: true }) };
  for await (const { id, text: sequence, attributes } of format.read(input))
    list.push({ id, sequence, ...attributes });
  return list;
}

const CIF = `data_1ABC
#
_entry.id   1ABC
_struct.title 'It''s a title'
#
loop_
_entity.id
_entity.type
_entity.pdbx_description
1 polymer "Kinase 5' end; alpha"
2 polymer 'a DNA'
3 polymer Peptide
4 water water
#
loop_
_entity_poly.entity_id
_entity_poly.type
_entity_poly.pdbx_seq_one_letter_code
_entity_poly.pdbx_seq_one_letter_code_can
_entity_poly.pdbx_strand_id
1 'polypeptide(L)'
;(MSE)KV
L
;
;MKV
L
;
A,C
2 polydeoxyribonucleotide '(DA)(DC)' AC D
3 'polypeptide(D)' ? ? P
#
loop_
_entity_poly_seq.entity_id
_entity_poly_seq.num
_entity_poly_seq.mon_id
3 1 GLY
3 2 SER # microheterogeneity
3 2 THR
3 3 ACE
#
_entity_src_gen.entity_id                          1
_entity_src_gen.pdbx_gene_src_scientific_name      'Mus musculus'
_entity_src_gen.pdbx_gene_src_ncbi_taxonomy_id     10090
#
loop_
_atom_site.group_PDB
_atom_site.label_atom_id
_atom_site.label_comp_id
_atom_site.label_seq_id
_atom_site.auth_asym_id
_atom_site.B_iso_or_equiv
_atom_site.pdbx_PDB_model_num
ATOM CA MET 1 A 11.5 1
HETATM CA CA . A 50.0 1
ATOM CA VAL 3 A 12.5 1
#
`;
const atoms = (rows: readonly string[]) =>
  'loop_\n_atom_site.group_PDB\n_atom_site.label_atom_id\n_atom_site.label_comp_id\n_atom_site.label_seq_id\n' +
  `_atom_site.auth_asym_id\n_atom_site.B_iso_or_equiv\n_atom_site.pdbx_PDB_model_num\n${rows.join('\n')}\n`;
const MODEL = `data_AF-P12345-F1
_entry.id AF-P12345-F1
_entity_poly.entity_id 1
_entity_poly.type 'polypeptide(L)'
_entity_poly.pdbx_seq_one_letter_code_can MKV
_entity_poly.pdbx_strand_id A
_ma_target_ref_db_details.target_entity_id 1
_ma_target_ref_db_details.gene_name trxA
_ma_target_ref_db_details.organism_scientific "Escherichia coli (strain K12)"
_ma_target_ref_db_details.ncbi_taxonomy_id 83333
${atoms(['ATOM N MET 1 A 1 1', 'ATOM CA MET 1 A 90.25 1', 'ATOM CA LYS 2 A 80 1', 'ATOM CA VAL 3 A 70.5 1'])}`;

const atom = (
  record: string,
  name: string,
  residue: string,
  chain: string,
  number: string,
  bFactor: string,
): string =>
  `${record.padEnd(6)}    1 ${name} ${residue}${` ${chain}`}${number.padStart(4)}    ` +
  `${'1.000'.padStart(8)}${'2.000'.padStart(8)}${'3.000'.padStart(8)}  1.00${bFactor.padStart(6)}`;
const PDB_FILE = [
  'HEADER    TRANSFERASE                             01-JAN-99   1ABC              ',
  'TITLE     A KINASE OF                                                           ',
  'TITLE    2 THE MOUSE                                                            ',
  'SEQRES   1 A    4  MSE LYS TPO LEU                                              ',
  'SEQRES   1 B    2   DA  DC                                                      ',
  'SEQRES   1 C    4  MSE LYS TPO LEU                                              ',
  'MODRES 1ABC TPO A    3  THR  PHOSPHOTHREONINE                                   ',
  atom('ATOM', ' CA ', 'LEU', 'A', '4 ', '11.00'),
  'END',
].join('\n');

describe('mmCIF', () => {
  it.each([
    [
      'a row that was cut off',
      '1 MET A\n2 LYS\n',
      'line 7: the last row of entity_poly_seq has 2 of 3 values',
    ],
    [
      'a row that was cut off before a category',
      '1 MET\n_x.y z\n',
      'line 7: the last row of entity_poly_seq has 2',
    ],
    [
      'a row that was cut off before a loop',
      '1\nloop_\n_x.y\nz\n',
      'line 7: the last row of entity_poly_seq has 1',
    ],
    ['a quote that is open', "1 MET 'A B\n2 LYS A\n", 'line 6: a quoted text does not end on its line'],
  ])('is refused for %s of mmCIF', async (_, rows, message) => {
    const head = 'data_x\nloop_\n_entity_poly_seq.num\n_entity_poly_seq.mon_id\n_entity_poly_seq.entity_id\n';
    await expect(proteins(MMCIF, head + rows)).rejects.toThrow(message);
  });

  it('is refused if an mmCIF file ends inside a text block', async () => {
    const text = `data_X\n_entity_poly.entity_id 1\n_entity_poly.pdbx_seq_one_letter_code\n;MKV\nLAW\n`;
    await expect(proteins(MMCIF, text)).rejects.toMatchObject({
      code: 'invalid_input',
      message: expect.stringContaining('ends inside'),
    });
  });

  it('gives a protein for each polypeptide, with chains and names, for any chunks of the file', async () => {
    for (const piece of [1, 7, 1 << 16]) {
      expect(await proteins(MMCIF, CIF, 'x.cif', piece)).toEqual([
        {
          id: '1ABC_A',
          sequence: 'MKVL',
          name: "Kinase 5' end; alpha",
          organism: 'Mus musculus',
          taxid: 10090,
          structure: '1ABC',
          chain: 'A',
          chains: ['A', 'C'],
        },
        { id: '1ABC_P', sequence: 'GSX', name: 'Peptide', structure: '1ABC', chain: 'P' },
      ]);
    }
  });

  it('of an AlphaFold model has accession, gene, organism and mean pLDDT over its residues', async () => {
    expect(await proteins(MMCIF, MODEL, 'AF-P12345-F1-model_v4.cif')).toEqual([
      {
        id: 'AF-P12345-F1',
        sequence: 'MKV',
        organism: 'Escherichia coli (strain K12)',
        taxid: 83333,
        gene: 'trxA',
        accession: 'P12345',
        structure: 'AF-P12345-F1',
        chain: 'A',
        mean_plddt: 80.25,
      },
    ]);
  });

  it('without entities gives the residues of the first model, each once', async () => {
    const rows = ['ATOM CA GLY 1 X 1 1', 'ATOM CA SER 1 X 1 1', 'ATOM CA TRP 5 X 1 1', 'ATOM CA GLY 1 X 1 2'];
    expect(await proteins(MMCIF, `data_x\n${atoms(rows)}`, 'my_structure.cif.gz')).toEqual([
      { id: 'my_structure_X', sequence: 'GW', structure: 'my_structure', chain: 'X' },
    ]);
  });

  it('is refused before it fills memory if one of its parts is too long', async () => {
    const text = `data_x\n_entity_poly.x\n;${`${'A'.repeat(1_000)}\n`.repeat(1_100)}`;
    await expect(proteins(MMCIF, text)).rejects.toThrow(/given, line \d+: a text is too long/);
    await expect(proteins(MMCIF, `data_x\n${'x'.repeat(20_000)}`)).rejects.toThrow('the line is too long');
    const columns = Array.from({ length: 1_100 }, (_, at) => `_a.${at}`).join('\n');
    await expect(proteins(MMCIF, `data_x\nloop_\n${columns}`)).rejects.toThrow('too many columns');
    const many = `data_x\nloop_\n_entity_poly.entity_id\n_entity_poly.pdbx_strand_id\n`;
    const row = (at: number): string => `${at} ${'A,'.repeat(8_000)}\n`;
    const endless = many + Array.from({ length: 1_100 }, (_, at) => row(at)).join('');
    await expect(proteins(MMCIF, endless)).rejects.toThrow('too many residues');
  });
});

describe('a PDB file', () => {
  it('gives the chains of SEQRES, equal chains once, with the standard residues of modified ones', async () => {
    const expected = [
      {
        id: '1ABC_A',
        sequence: 'MKTL',
        name: 'A KINASE OF THE MOUSE',
        structure: '1ABC',
        chain: 'A',
        chains: ['A', 'C'],
      },
    ];
    for (const piece of [1, 80, 1 << 16])
      expect(await proteins(PDB, PDB_FILE, 'x.pdb', piece)).toEqual(expected);
  });

  it('without SEQRES gives the residues of the first model, without calcium and water', async () => {
    const lines = [
      'MODEL        1',
      atom('ATOM', ' N  ', 'MET', 'A', '1 ', '0.95'),
      atom('ATOM', ' CA ', 'MET', 'A', '1 ', '0.95'),
      atom('ATOM', ' CA ', 'LYS', 'A', '1A', '0.85'),
      atom('HETATM', ' CA ', 'MSE', 'A', '2 ', '0.90'),
      atom('HETATM', 'CA  ', ' CA', 'A', '3 ', '0.10'),
      'ENDMDL',
      'MODEL        2',
      atom('ATOM', ' CA ', 'MET', 'A', '1 ', '0.95'),
      'ENDMDL',
    ];
    // A ColabFold model, recognised by its name, with pLDDT as a fraction of 1.
    const name = 'run/query_unrelaxed_rank_001_alphafold2.pdb';
    const stem = 'query_unrelaxed_rank_001_alphafold2';
    expect(await proteins(PDB, lines.join('\n'), name)).toEqual([
      { id: `${stem}_A`, sequence: 'MKM', structure: stem, chain: 'A', mean_plddt: 90 },
    ]);
    expect(await proteins(PDB, lines.join('\n'), 'mine.pdb')).toEqual([
      { id: 'mine_A', sequence: 'MKM', structure: 'mine', chain: 'A' },
    ]);
  });
});

describe('a structure', () => {
  it('is recognised by its first bytes, and in a folder by its name', async () => {
    expect([MMCIF, PDB].map((format) => format.isRecognised(CIF))).toEqual([true, false]);
    expect([MMCIF, PDB].map((format) => format.isRecognised(PDB_FILE))).toEqual([false, true]);
    expect(MMCIF.isRecognised('# a comment\ndata_x\n')).toBe(true);
    const models = join(folder, 'models');
    mkdirSync(join(models, 'b'), { recursive: true });
    for (const name of ['z.cif', 'b/a.pdb.gz', 'b/A.ENT', 'confidence.json', 'y.mmcif.zst']) {
      writeFileSync(join(models, name), gzipSync(''));
    }
    const { kind, files } = (await filesIn(models))!;
    expect(kind).toBe('structures');
    expect(files.map(({ path }) => path.slice(models.length + 1))).toEqual([
      'b/A.ENT',
      'b/a.pdb.gz',
      'y.mmcif.zst',
      'z.cif',
    ]);
    expect(files.map(({ format }) => format.name)).toEqual(['pdb', 'pdb', 'mmcif', 'mmcif']);
    expect(await filesIn(join(models, 'z.cif'))).toBeUndefined();
    const empty = join(folder, 'empty');
    mkdirSync(empty);
    await expect(filesIn(empty)).rejects.toThrow('has no structure file');
    // Recognition of the file refuses it, because the name may be that of an HH-suite database.
    expect(await filesIn(join(folder, 'nowhere'))).toBeUndefined();
  });
});
