import { Option, type Command } from 'commander';
import { INPUT_FORMATS, MOST_FAMILY_MEMBERS, type InputOptions } from '../../pipelines/input.js';
import { integerBetween } from '../terminal/arguments.js';
import { readTaxonomyOption } from './taxonomy-option.js';

/** Flags of a build's input, besides the files. */
export interface InputFlags {
  readonly format: NonNullable<InputOptions['format']> | 'auto';
  readonly duplicates: NonNullable<InputOptions['duplicates']>;
  readonly accession2taxid?: string;
  readonly gff: readonly string[];
  readonly domains: readonly string[];
  readonly metadata?: string;
  readonly taxonomy?: string;
  readonly embeddings?: string;
  readonly members?: number;
}

export function addInputOptions(command: Command): Command {
  const formats = ['auto', ...INPUT_FORMATS];
  return command
    .addOption(new Option('--format <name>', 'what the files are').choices(formats).default('auto'))
    .addOption(
      new Option('--duplicates <rule>', 'where an id is given again: end, keep the first, or rename to id_2')
        .choices(['fail', 'first', 'suffix'])
        .default('fail'),
    )
    .option(
      '--metadata <table.tsv>',
      'more attributes by protein id: a tab-separated table with a header row',
    )
    .addOption(
      repeated('--gff <file>', 'GFF3 of Prokka, Bakta or NCBI: genes and their places; may be given again'),
    )
    .addOption(
      repeated('--domains <file>', 'TSV of InterProScan or --domtblout of HMMER; may be given again'),
    )
    .option(
      '--accession2taxid <file>',
      "NCBI's prot.accession2taxid: taxids of proteins whose header has none",
    )
    .option('--taxonomy <nodes.dmp,names.dmp>', 'NCBI taxonomy dumps: adds lineages by taxid')
    .option(
      '--embeddings <path>',
      "features of the encoder's model that exist already: an HDF5 file, NumPy's .npz, or a folder of <id>.npy",
    )
    .addOption(
      new Option(
        '--members [number]',
        'of files of families: so many members of each family are the targets, instead of its consensus',
      )
        .argParser(integerBetween(1, MOST_FAMILY_MEMBERS))
        .preset(MOST_FAMILY_MEMBERS),
    )
    .addHelpText('after', HELP);
}

function repeated(flags: string, description: string): Option {
  return new Option(flags, description)
    .argParser((path, before: readonly string[]) => [...before, path])
    .default([], 'none');
}

const HELP = `
Files are recognised by their first bytes, and the first lines on standard error say as what; each may
be compressed by gzip or bgzf, and by zstd or xz where these programs are installed.

  fasta        headers of UniProt give name, entry_name, organism (OS=), taxid (OX=), gene (GN=) and
               reviewed (sp|, tr|); of UniRef name, member_count (n=), organism (Tax=), taxid (TaxID=)
               and representative (RepID=); of NCBI name and organism ([…]), and of equal proteins that
               are joined (by U+0001, or as blastdbcmd writes them) member_count, accessions and
               organisms; of any other the first word is the id and the rest the description
  uniprot-dat  UniProt's flat file: name, entry_name, organism, taxid, gene, reviewed,
               protein_existence (1 to 5), ec, go, pfam, interpro, pdb and keywords
  uniprot-xml  UniProt's XML: the same
  mmcif, pdb   structures, or a folder of them: the sequence as entities or SEQRES list it, else that of
               the atoms; name, organism, taxid, structure, chain, chains (equal ones are one protein);
               of models of AlphaFold and ColabFold accession and mean_plddt (0 to 100)
  stockholm    families, as in Pfam-A.seed or Pfam-A.full: the consensus is the sequence, the members are
               the homologs; name, accession, description, clan, type, gathering_threshold, trusted_cutoff,
               noise_cutoff (each also as _domain) and member_count; with --members the targets are members
               <family>/<member>, which have the attributes of their family and family_id
  a3m          one family in a file <id>.a3m, or a folder or tar of such files
  hh-suite     <name>_a3m.ffdata and <name>_a3m.ffindex; <name> alone will do
  mmseqs       <name>, <name>.index and <name>.dbtype, as mmseqs result2msa --msa-format-mode 6 writes them
  hmmer3       profile HMMs: match emissions are the profile, the consensus line is the sequence

Every protein gets its length. With -, standard input is copied below TMPDIR first:

  blastdbcmd -db nr -taxids 562 | gloaming index build - --name ecoli

--gff gives product, gene, locus_tag, contig, start, end (from 1, inclusive) and strand of the coding
sequence whose ID, locus_tag or protein_id is the protein's id.

--domains gives the lists domains ("PF00085:4-108"), signatures, pfam, and of InterProScan interpro and go;
of HMMER's domains those with an i-Evalue of 0.001 or less.

The metadata table's first column holds the ids. Other columns are attributes, named in the header row
as "name:type" with type string, integer, number, boolean or string_list (items separated by ";");
without a type the narrowest one that fits is taken. An empty cell is a missing value.

Attributes of --gff, --domains and --metadata stand in place of those of the same name that the proteins' own
files give, for all proteins, also those that the table does not have; of two tables the later named here wins.

--embeddings takes a data set [residues × features] for each protein, by its id, as UniProt publishes them
for ProtT5 (per-residue.h5), or as numpy.savez writes them. They are projected and quantised as the encoder's
card says; proteins without one are encoded. All lengths, and a sample that is encoded again, must agree, else
the build is refused.

Letters: U becomes C, O becomes K; B, Z, J and inner "*" become X; the report counts them. Anything else
is refused with file, line and record, before encoding begins.`;

/** Returns the input that the flags name. Errors  Refusal `invalid_option` */
export function inputOptionsOf(
  paths: readonly string[],
  { format, duplicates, members, accession2taxid, gff, domains, metadata, taxonomy }: InputFlags,
  stdin: AsyncIterable<unknown>,
): InputOptions {
  return {
    paths,
    standardInput: stdin as AsyncIterable<Uint8Array>,
    format: format === 'auto' ? undefined : format,
    duplicates,
    members,
    accessionTaxids: accession2taxid,
    annotations: gff,
    domains,
    metadata,
    ...readTaxonomyOption(taxonomy),
  };
}
