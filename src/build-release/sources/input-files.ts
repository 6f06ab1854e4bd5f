import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { canonicalSha256 } from '../../canonical.js';
import { Refusal } from '../../errors.js';
import { fastaFile } from '../../sequence/fasta.js';
import { readInputFile, refuseFile } from '../../sequence/input-file.js';
import type { FormatName, ProteinFormat } from './formats/protein-format.js';
import { FORMATS, recogniseFile } from './formats/recognise.js';
import { isStructure, structureFormat, structuresIn } from './formats/structures/folder.js';
import { createJoin, joinFields } from './join.js';
import type {
  DuplicateRule,
  ProteinInput,
  ProteinSource,
  SourceField,
  SourceProtein,
} from './protein-source.js';
import { readAccessionTaxids } from './tables/accession-taxids.js';
import type { AttributeTable } from './tables/attribute-table.js';
import { readAnnotations } from './tables/annotations.js';
import { readDomains } from './tables/domains.js';
import { readMetadataTable } from './tables/metadata-table.js';
import { readTaxonomyDump } from './taxonomy-dump.js';

/** A user's files; each plain or compressed by gzip, zstd or xz. */
export interface InputFiles {
  /** Files, and folders of structures, which are read by name; in this order. */
  readonly proteins: readonly string[];
  /** Of all of them; absent where the first bytes of each tell. */
  readonly format?: FormatName;
  /** Default: `fail`. */
  readonly duplicates?: DuplicateRule;
  /** NCBI's taxids by accession, for proteins whose header gives none: accession-taxids.ts. */
  readonly accessionTaxids?: string;
  /** GFF3: annotations.ts. */
  readonly annotations?: readonly string[];
  /** Domains by id: domains.ts. */
  readonly domains?: readonly string[];
  /** Attributes by id: metadata-table.ts. */
  readonly metadata?: string;
  readonly taxonomy?: { readonly nodes: string; readonly names: string };
}

export interface InputReports {
  /** Bytes that were digested. */
  readonly onBytes?: (bytes: number) => void;
  /** What each file was recognised as, a line each. */
  readonly onRecognised?: (line: string) => void;
}

interface ProteinFile {
  readonly path: string;
  readonly format: ProteinFormat;
}

/**
 * The files as a build's input; they are recognised and their contents digested here, and read when it is opened.
 * Errors  Refusal `file_not_found`; `invalid_input` where a file is known to hold no proteins
 */
export async function filesInput(files: InputFiles, reports: InputReports = {}): Promise<ProteinInput> {
  const proteins: ProteinFile[] = [];
  for (const path of files.proteins) {
    proteins.push(...(await recognise(path, files.format, reports.onRecognised)));
  }
  const digests = async (paths: readonly string[]): Promise<readonly string[]> => {
    const list: string[] = [];
    for (const path of paths) list.push(await digestFile(path, reports.onBytes));
    return list;
  };
  const { duplicates = 'fail', taxonomy } = files;
  const digest = canonicalSha256({
    proteins: await digests(proteins.map(({ path }) => path)),
    // Structures that do not tell their names are called by those of their files.
    names: proteins.map(({ path, format }) => (isStructure(format) ? basename(path) : '')),
    formats: proteins.map(({ format }) => format.name),
    duplicates,
    accession_taxids: await digests(optional(files.accessionTaxids)),
    annotations: await digests(files.annotations ?? []),
    domains: await digests(files.domains ?? []),
    metadata: await digests(optional(files.metadata)),
    taxonomy: await digests(taxonomy === undefined ? [] : [taxonomy.nodes, taxonomy.names]),
  });
  return { digest, open: (scratchFolder) => openFiles(files, proteins, scratchFolder) };
}

/** A file, or those of a folder of structures, whose names tell what they are. */
async function recognise(
  path: string,
  named: FormatName | undefined,
  onRecognised: InputReports['onRecognised'],
): Promise<readonly ProteinFile[]> {
  const structures = await structuresIn(path);
  if (structures === undefined) {
    const { format, packing } = await recogniseFile(path, named);
    onRecognised?.(`${path}: ${format.title}${packing === undefined ? '' : `, ${packing}`}`);
    return [{ path, format }];
  }
  const files = structures.map((file) => ({ path: file, format: structureFormat(file) }));
  onRecognised?.(`${path}: ${files.length} files of structures`);
  return files;
}

/** Bytes of all files, for the progress of digesting them. Errors  Refusal `file_not_found` */
export async function inputBytes(files: InputFiles): Promise<number> {
  const { taxonomy } = files;
  const proteins = await Promise.all(
    files.proteins.map(async (path) => (await structuresIn(path)) ?? [path]),
  );
  return bytesOf([
    ...proteins.flat(),
    ...optional(files.accessionTaxids),
    ...(files.annotations ?? []),
    ...(files.domains ?? []),
    ...optional(files.metadata),
    ...(taxonomy === undefined ? [] : [taxonomy.nodes, taxonomy.names]),
  ]);
}

async function openFiles(
  files: InputFiles,
  proteins: readonly ProteinFile[],
  scratchFolder: string,
): Promise<ProteinSource> {
  const taxonomy =
    files.taxonomy === undefined
      ? undefined
      : await readTaxonomyDump(files.taxonomy.nodes, files.taxonomy.names);
  const tables = await openTables(files, proteins, scratchFolder);
  const joined = createJoin(tables, taxonomy);
  /** Files of which nothing came: structures of nucleic acids. */
  const empty = new Set<string>();
  return {
    fields: joinFields(fieldsOf(proteins), tables, taxonomy),
    ...(taxonomy === undefined ? {} : { taxonomy }),
    duplicates: files.duplicates,
    totalBytes: await bytesOf(proteins.map(({ path }) => path)),
    async *proteins(onBytes) {
      for await (const protein of proteinsOf(proteins, onBytes, (path) => empty.add(path))) {
        yield joined.protein(protein);
      }
      if (empty.size === proteins.length) throw refuseEmpty(proteins);
    },
    notes: () => [
      ...joined.notes(),
      ...(empty.size === 0 ? [] : [`Structures without a protein: ${empty.size}.`]),
    ],
    close: () => tables.forEach((table) => table.close()),
  };
}

/** In the order in which they replace each other's values. */
async function openTables(
  { accessionTaxids, annotations = [], domains = [], metadata }: InputFiles,
  proteins: readonly ProteinFile[],
  scratchFolder: string,
): Promise<readonly AttributeTable[]> {
  const scratch = (name: string): string => join(scratchFolder, `${name}.rows`);
  const tables: AttributeTable[] = [];
  if (accessionTaxids !== undefined) {
    const places = { wanted: scratch('accessions'), found: scratch('taxids') };
    tables.push(await readAccessionTaxids(accessionTaxids, idsOf(proteins), places));
  }
  if (annotations.length > 0) tables.push(await readAnnotations(annotations, scratch('annotations')));
  if (domains.length > 0) tables.push(await readDomains(domains, scratch('domains')));
  if (metadata !== undefined) tables.push(await readMetadataTable(metadata, scratch('metadata')));
  return tables;
}

async function* proteinsOf(
  files: readonly ProteinFile[],
  onBytes?: (bytes: number) => void,
  onEmpty?: (path: string) => void,
): AsyncGenerator<SourceProtein> {
  for (const { path, format } of files) {
    let isEmpty = true;
    for await (const protein of format.read(fastaFile(path, onBytes))) {
      isEmpty = false;
      yield protein;
    }
    if (isEmpty) onEmpty?.(path);
  }
}

async function* idsOf(files: readonly ProteinFile[]): AsyncGenerator<string> {
  for await (const { id } of proteinsOf(files)) yield id;
}

/** Fields of all formats that are there, in the order of FORMATS, which agree on the type of each name. */
function fieldsOf(files: readonly ProteinFile[]): readonly SourceField[] {
  const fields = new Map<string, SourceField>();
  for (const format of FORMATS) {
    if (!files.some((file) => file.format === format)) continue;
    for (const field of format.fields) if (!fields.has(field.name)) fields.set(field.name, field);
  }
  return [...fields.values()];
}

function refuseEmpty([{ path }]: readonly ProteinFile[]): Refusal {
  return new Refusal('invalid_input', `${path} holds no chain of amino acids, nor does any other file.`, {
    file: path,
  });
}

function optional(path: string | undefined): readonly string[] {
  return path === undefined ? [] : [path];
}

async function bytesOf(paths: readonly string[]): Promise<number> {
  return (await Promise.all(paths.map(sizeOf))).reduce((sum, size) => sum + size, 0);
}

/** SHA-256 of a file as it lies there. Errors  Refusal `file_not_found` */
export async function digestFile(path: string, onBytes?: (bytes: number) => void): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of readInputFile(path, onBytes)) hash.update(chunk);
  return hash.digest('hex');
}

async function sizeOf(path: string): Promise<number> {
  return stat(path).then(
    ({ size }) => size,
    (cause: unknown) => {
      throw refuseFile(path, cause);
    },
  );
}
