import { Refusal } from '../../../errors.js';
import { decompress, readInputFile, requireRegularFile } from '../../../sequence/input-file.js';
import { packingOf, readUnpackedFile } from '../../../sequence/unpack.js';
import { A3M } from './families/a3m.js';
import { HH_SUITE } from './families/hh-suite.js';
import { HMMER3 } from './families/hmmer3.js';
import { familiesNamed } from './families/locate.js';
import { MMSEQS } from './families/mmseqs.js';
import { STOCKHOLM } from './families/stockholm.js';
import { TAR } from './families/tar.js';
import { FASTA } from './fasta.js';
import type { FormatName, ProteinFormat } from './protein-format.js';
import { MMCIF } from './structures/mmcif.js';
import { PDB } from './structures/pdb.js';
import { UNIPROT_FLAT } from './uniprot-flat.js';
import { UNIPROT_XML } from './uniprot-xml.js';

export const FORMATS: readonly ProteinFormat[] = [
  FASTA,
  UNIPROT_FLAT,
  UNIPROT_XML,
  MMCIF,
  PDB,
  STOCKHOLM,
  A3M,
  HMMER3,
  HH_SUITE,
  MMSEQS,
  TAR,
];

/** Number of decompressed bytes that suffice to recognise a file. */
const HEAD_BYTES = 4096;
/** Other formats that users often pass, with a remedy. */
const OTHERS: readonly { readonly begins: RegExp; readonly is: string; readonly remedy: string }[] = [
  { begins: /^\x89HDF\r\n/, is: 'an HDF5 file', remedy: 'It has no sequences.' },
  { begins: /^LOCUS {2}/, is: 'a GenBank file', remedy: 'Convert its proteins to FASTA.' },
  { begins: /^ID {3}\S+;/, is: 'an EMBL file', remedy: 'Convert its proteins to FASTA.' },
  {
    begins: /^##gff-version/,
    is: 'a GFF3 file',
    remedy: 'Pass the FASTA file of its proteins, and this file with --gff.',
  },
  { begins: /^@\S*[^]*?\n[A-Za-z.]+\r?\n\+/, is: 'a FASTQ file', remedy: 'Proteins are required.' },
  { begins: /^HMMER2/, is: 'a profile of HMMER2', remedy: 'Convert it by hmmconvert.' },
  {
    begins: /^(HHsearch 1\.|HMMER3\/[^a-f])/,
    is: 'a profile in another format',
    remedy: 'Pass its alignment.',
  },
  { begins: /^\s*(<\?xml|<!DOCTYPE|<html)/i, is: "XML, but not UniProt's", remedy: 'Give FASTA instead.' },
  { begins: /^PK\W\W/, is: 'a zip archive', remedy: 'Extract it first.' },
  { begins: /^BZh\d/, is: 'compressed by bzip2', remedy: 'Decompress it first.' },
  { begins: /^SQLite format 3\0/, is: 'an SQLite database', remedy: 'Export its proteins as FASTA.' },
];

/** Format and compression of a file. */
export interface Recognised {
  /** The given path, or that of the data of a database. */
  readonly path: string;
  readonly format: ProteinFormat;
  readonly packing: ReturnType<typeof packingOf>;
}

/**
 * Recognises a file by its name or first bytes. A file in an unknown format is read as FASTA, whose reader reports the
 * first invalid line.
 * Errors  those of reading; Refusal `invalid_input` for a known format without proteins; Refusal `file_not_found` for a
 *         path that is no regular file
 */
export async function recogniseFile(given: string, named?: FormatName): Promise<Recognised> {
  const families = await familiesNamed(given);
  const path = families?.path ?? given;
  await requireRegularFile(path);
  const packing = packingOf(await headOf(readInputFile(path)));
  const requested = FORMATS.find(({ name }) => name === named);
  if (requested !== undefined) return { path, format: requested, packing };
  if (families !== undefined) return { ...families, packing };
  const bytes = await headOf(decompress(readUnpackedFile(path), () => path));
  const head = bytes.toString('latin1');
  const format = FORMATS.find((candidate) => candidate.isRecognised(head));
  if (format !== undefined) return { path, format, packing };
  const other = OTHERS.find(({ begins }) => begins.test(head));
  if (other !== undefined) {
    throw new Refusal('invalid_input', `${path} is ${other.is}. ${other.remedy}`, { file: path });
  }
  return { path, format: FASTA, packing };
}

async function headOf(bytes: AsyncIterable<Uint8Array>): Promise<Buffer> {
  let head = Buffer.alloc(0);
  for await (const chunk of bytes) {
    head = Buffer.concat([head, chunk]);
    if (head.length >= HEAD_BYTES) break;
  }
  return head.subarray(0, HEAD_BYTES);
}
