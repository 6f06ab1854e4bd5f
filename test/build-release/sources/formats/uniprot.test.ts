import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { Refusal } from '#src/errors.js';
import type { ProteinFormat } from '#src/build-release/sources/formats/protein-format.js';
import { UNIPROT_FLAT } from '#src/build-release/sources/formats/uniprot-flat.js';
import { UNIPROT_XML } from '#src/build-release/sources/formats/uniprot-xml.js';
import type { SourceProtein } from '#src/build-release/sources/protein-source.js';

function input(bytes: Buffer | string, pieceBytes = 1 << 16) {
  const all = Buffer.from(bytes);
  const pieces: Buffer[] = [];
  for (let at = 0; at < all.length; at += pieceBytes) pieces.push(all.subarray(at, at + pieceBytes));
  return { file: 'given', bytes: Readable.from(pieces, { objectMode: true }) };
}

async function proteins(format: ProteinFormat, bytes: Buffer | string, pieceBytes?: number) {
  const list: SourceProtein[] = [];
  for await (const protein of format.read(input(bytes, pieceBytes))) list.push(protein);
  return list;
}

async function refusal(format: ProteinFormat, bytes: Buffer | string): Promise<Refusal> {
  const error: unknown = await proteins(format, bytes).then(
    () => new Error('nothing was refused'),
    (cause: unknown) => cause,
  );
  if (error instanceof Refusal) return error;
  throw error;
}

const FLAT = `ID   THIO_ECOLX              Reviewed;          24 AA.
AC   P0TEST; Q9TEST; Q8TEST;
AC   Q7TEST;
DT   21-JUL-1986, integrated into UniProtKB/Swiss-Prot.
DE   RecName: Full=Thioredoxin 1; alpha {ECO:0000303|PubMed:1};
DE            Short=Trx-1;
DE            EC=1.8.1.9 {ECO:0000269|PubMed:2, ECO:0000305};
DE   AltName: Full=Second name;
DE   Includes:
DE     RecName: Full=A part;
DE              EC=2.7.-.-;
GN   Name=trxA;1 {ECO:0000312|EMBL:X1}; Synonyms=fipA, tsnC;
GN   OrderedLocusNames=b3781, JW5856;
OS   Escherichia coli (strain K12 / (W3110)) (Bacillus coli)
OS   (Bacterium coli).
OC   Bacteria; Pseudomonadota.
OX   NCBI_TaxID=83333 {ECO:0000313|EMBL:X1};
CC   -!- FUNCTION: Participates in various redox reactions.
DR   PDB; 1F6M; X-ray; 2.95 A; C/D/G/H=2-109.
DR   PDB; 1KEB; X-ray; 1.80 A; A/B=2-109.
DR   PDBsum; 1F6M; -.
DR   GO; GO:0005829; C:cytosol; IDA:EcoCyc.
DR   GO; GO:0045454; P:cell redox homeostasis; IBA:GO_Central.
DR   GO; GO:0005829; C:cytosol; ISS:UniProtKB.
DR   InterPro; IPR005746; Thioredoxin.
DR   Pfam; PF00085; Thioredoxin; 1.
PE   1: Evidence at protein level;
KW   3D-structure; Disulfide bond {ECO:0000256}; Electron transport;
KW   Reference proteome.
FT   CHAIN           2..109
SQ   SEQUENCE   24 AA;  11807 MW;  9E7C8B9AB2A3D9C5 CRC64;
     MSDKIIHLTD DSFDTDVLKA
     DGAU
//
ID   A0A1_MOUSE              Unreviewed;         4 AA.
AC   A0A1;
DE   SubName: Full=Uncharacterized protein {ECO:0000313};
GN   ORFNames=mCG_1;
OS   Mus musculus (Mouse).
OX   NCBI_TaxID=10090;
PE   4: Predicted;
SQ   SEQUENCE   4 AA;  1 MW;  0 CRC64;
     MKVL
//
`;
const XML = `<?xml version="1.0" encoding="UTF-8"?>
<uniprot xmlns="http://uniprot.org/uniprot">
<entry dataset="Swiss-Prot" created="1986-07-21" version="212">
<accession>P0TEST</accession><accession>Q9TEST</accession>
<name>THIO_ECOLX</name>
<protein>
<recommendedName><fullName evidence="1">Thioredoxin 1; alpha</fullName>
<ecNumber evidence="2">1.8.1.9</ecNumber></recommendedName>
<alternativeName><fullName>Second name</fullName></alternativeName>
<component><recommendedName><fullName>A part</fullName><ecNumber>2.7.-.-</ecNumber></recommendedName></component>
</protein>
<gene><name type="synonym">fipA</name><name type="primary">trxA;1</name></gene>
<organism><name type="scientific">Escherichia coli (strain K12 / (W3110))</name><name type="common">x</name>
<dbReference type="NCBI Taxonomy" id="83333"/><lineage><taxon>Bacteria</taxon></lineage></organism>
<reference key="1"><citation type="journal article"><title>Title &amp; more</title>
<dbReference type="PDB" id="9XYZ"/></citation></reference>
<comment type="alternative products"><isoform><id>P0TEST-1</id><sequence type="displayed"/></isoform></comment>
<dbReference type="EC" id="1.8.1.9"/>
<dbReference type="PDB" id="1F6M"><property type="method" value="X-ray"/></dbReference>
<dbReference type="PDB" id="1KEB"><property type="method" value="X-ray"/></dbReference>
<dbReference type="GO" id="GO:0005829"/><dbReference type="GO" id="GO:0045454"/>
<dbReference type="InterPro" id="IPR005746"/><dbReference type="Pfam" id="PF00085"/>
<proteinExistence type="evidence at protein level"/>
<keyword id="KW-0002">3D-structure</keyword><keyword id="KW-1015">Disulfide bond</keyword>
<keyword id="KW-0249">Electron transport</keyword><keyword id="KW-1185">Reference proteome</keyword>
<sequence length="24" mass="11807">MSDKIIHLTDDSFDTDVLKADGAU</sequence>
</entry>
<entry dataset="TrEMBL"><accession>A0A1</accession><name>A0A1_MOUSE</name>
<protein><submittedName><fullName>Uncharacterized protein</fullName></submittedName></protein>
<gene><name type="ORF">mCG_1</name></gene>
<organism><name type="scientific">Mus musculus</name><dbReference type="NCBI Taxonomy" id="10090"/></organism>
<proteinExistence type="predicted"/><sequence>
MKVL
</sequence></entry>
<copyright>Copyrighted by the UniProt Consortium</copyright>
</uniprot>
`;
const EXPECTED = [
  {
    id: 'P0TEST',
    letters: 'MSDKIIHLTDDSFDTDVLKADGAU',
    attributes: {
      name: 'Thioredoxin 1; alpha',
      entry_name: 'THIO_ECOLX',
      organism: 'Escherichia coli (strain K12 / (W3110))',
      taxid: 83333,
      gene: 'trxA;1',
      reviewed: true,
      protein_existence: 1,
      ec: ['1.8.1.9', '2.7.-.-'],
      go: ['GO:0005829', 'GO:0045454'],
      pfam: ['PF00085'],
      interpro: ['IPR005746'],
      pdb: ['1F6M', '1KEB'],
      keywords: ['3D-structure', 'Disulfide bond', 'Electron transport', 'Reference proteome'],
    },
  },
  {
    id: 'A0A1',
    letters: 'MKVL',
    attributes: {
      name: 'Uncharacterized protein',
      entry_name: 'A0A1_MOUSE',
      organism: 'Mus musculus',
      taxid: 10090,
      gene: 'mCG_1',
      reviewed: false,
      protein_existence: 4,
    },
  },
];
const shown = (list: readonly SourceProtein[]) =>
  list.map(({ id, text, attributes }) => ({ id, letters: text.replaceAll(/\s/g, ''), attributes }));

describe.each([
  ['flat file', UNIPROT_FLAT, FLAT, ['ID   THIO', 'ID   A0A1']],
  ['XML', UNIPROT_XML, XML, ['<entry dataset="Swiss', '<entry dataset="TrEMBL']],
] as const)('the %s of UniProt', (_name, format, text, beginnings) => {
  it('gives sequences, names, taxa and cross references, for any chunks of the file', async () => {
    for (const piece of [1, 7, 64, 1 << 16]) {
      expect(shown(await proteins(format, text, piece))).toEqual(EXPECTED);
    }
    const crlf = text.replaceAll('\n', '\r\n');
    expect(shown(await proteins(format, gzipSync(crlf)))).toEqual(EXPECTED);
  });

  it('gives the place of each entry', async () => {
    const places = (await proteins(format, text)).map(({ record }) => record?.place);
    const lines = beginnings.map((beginning) => text.slice(0, text.indexOf(beginning)).split('\n').length);
    expect(places).toEqual(lines.map((line, at) => ({ file: 'given', line, record: at + 1 })));
  });

  it('is recognised by its first bytes', () => {
    expect(format.isRecognised(text.slice(0, 4096))).toBe(true);
    expect(format.isRecognised('>a\nMKV\n')).toBe(false);
    expect(format.isRecognised('ID   X56734; SV 1; linear; mRNA; STD; PLN; 1859 BP.')).toBe(false);
    expect(format.isRecognised('<?xml version="1.0"?><UniRef90/>')).toBe(false);
  });

  it('is refused, with the line, if it ends within an entry', async () => {
    const error = await refusal(format, text.slice(0, -120));
    expect(error.code).toBe('invalid_input');
    expect(error.message).toMatch(/^given, line \d+: /);
    expect((await refusal(format, '')).code).toBe('invalid_input');
  });

  it('is refused if it is not UTF-8', async () => {
    const bytes = Buffer.from(text);
    bytes[bytes.indexOf('Thioredoxin') + 2] = 0xe9;
    expect((await refusal(format, bytes)).message).toContain('not UTF-8');
  });

  it('is refused before it fills memory if a sequence is too long', async () => {
    const endless = text.replace('MKVL', `${'MKVL'.repeat(20)}\n     `.repeat(20_000));
    expect((await refusal(format, endless)).code).toBe('sequence_too_long');
  });

  it('stores of endless lists only enough to be refused', async () => {
    const items = Array.from({ length: 50_000 }, (_, at) => `GO:${String(at).padStart(7, '0')}`);
    const endless =
      format === UNIPROT_FLAT
        ? text.replace(
            'DR   InterPro',
            `${items.map((id) => `DR   GO; ${id}; -; -.\n`).join('')}DR   InterPro`,
          )
        : text.replace(
            '<dbReference type="EC"',
            `${items.map((id) => `<dbReference type="GO" id="${id}"/>`).join('')}<dbReference type="EC"`,
          );
    const [{ attributes }] = await proteins(format, endless);
    const characters = (attributes.go as string[]).join('').length;
    expect(characters).toBeGreaterThan(32_768);
    expect(characters).toBeLessThan(2 * 32_768 + 100);
  });
});

describe('hostile XML', () => {
  it('is refused if it declares entities, which are not expanded', async () => {
    const bomb =
      '<?xml version="1.0"?><!DOCTYPE uniprot [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]>' +
      '<uniprot><entry><name>&b;</name></entry></uniprot>';
    expect((await refusal(UNIPROT_XML, bomb)).message).toMatch(/^given, line 1: .*entity/);
  });

  it('is refused if it is nested too deeply or is another document', async () => {
    expect((await refusal(UNIPROT_XML, `<uniprot>${'<a>'.repeat(100)}`)).message).toContain(
      'nested too deeply',
    );
    expect((await refusal(UNIPROT_XML, '<UniRef90></UniRef90>')).message).toContain('not uniprot');
  });

  it.each([
    ['comment', '<!--', '-x'],
    ['comment with tags', '<!--', '<-x'],
    ['instruction', '<?x ', '?x'],
    ['section', '<name><![CDATA[', ']x'],
    ['declaration', '<!ENTITY ', "'x"],
  ])('is refused after a few MiB if a %s does not end', async (_, begin, unit) => {
    let pieces = 0;
    async function* endless() {
      yield Buffer.from(unit === "'x" ? begin : `<uniprot><entry>${begin}`);
      for (; pieces < 64; pieces += 1) yield Buffer.from(unit.repeat((1 << 20) / unit.length));
    }
    const read = async (): Promise<void> => {
      for await (const _protein of UNIPROT_XML.read({ file: 'given', bytes: endless() }));
    };
    await expect(read()).rejects.toMatchObject({ code: 'invalid_input' });
    expect(pieces).toBeLessThan(8);
  });

  it('may have comments, instructions and sections of the usual length', async () => {
    const noise = `<!-- a <b> --> <?x y?><!---->${'<!-- padding -->'.repeat(200_000)}`;
    const entry = '<entry><accession>P1</accession><sequence><![CDATA[MKV]]></sequence></entry>';
    const text = `<?xml version="1.0"?><!DOCTYPE uniprot>${noise}<uniprot>${noise}${entry}</uniprot>`;
    const ids: string[] = [];
    async function* bytes() {
      for (let at = 0; at < text.length; at += 65_537) yield Buffer.from(text.slice(at, at + 65_537));
    }
    for await (const { id } of UNIPROT_XML.read({ file: 'given', bytes: bytes() })) ids.push(id);
    expect(ids).toEqual(['P1']);
  });

  it('is refused if an element is too long', async () => {
    const piece = Buffer.alloc(1 << 20, 'x');
    async function* endless() {
      yield Buffer.from('<uniprot><entry><name a="');
      for (let at = 0; at < 80; at += 1) yield piece;
    }
    const read = async (): Promise<void> => {
      for await (const _ of UNIPROT_XML.read({ file: 'given', bytes: endless() }));
    };
    await expect(read()).rejects.toThrow('longer than 64 MiB');
  });
});

describe('a hostile flat file', () => {
  it('is refused for endless lines, and for lines outside entries', async () => {
    const long = FLAT.replace('KW   3D', `KW   ${' '.repeat(100_000)}3D`);
    expect((await refusal(UNIPROT_FLAT, long)).message).toContain('the line is too long');
    expect((await refusal(UNIPROT_FLAT, `//\n${FLAT}`)).message).toContain('begins with "ID"');
  });
});
