import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { canonicalSha256 } from '../../canonical.js';
import { Refusal } from '../../errors.js';
import { fastaFile } from '../../sequence/fasta.js';
import { readInputFile, refuseFile, requireRegularFile } from '../../sequence/input-file.js';
import type { FormatName, ProteinFormat } from './formats/protein-format.js';
import { FORMATS, recogniseFile } from './formats/recognise.js';
import { familiesNamed } from './formats/families/locate.js';
import { filesIn } from './formats/folder.js';
import { isStructure } from './formats/structures/by-name.js';
import { FAMILY_FIELD, membersOf } from './family-members.js';
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

/** Input files; each plain or compressed by gzip, zstd or xz. */
export interface InputFiles {
  /** Files, and folders of structures or alignments, in this order. Files of a folder are sorted by name. */
  readonly proteins: readonly string[];
  /** Format of all files; undefined to recognise each file by its first bytes. */
  readonly format?: FormatName;
  /** Default: `fail`. */
  readonly duplicates?: DuplicateRule;
  /** Members of each family that become targets in the place of the family (family-members.ts); ≥ 1. */
  readonly members?: number;
  /** NCBI's table of taxids by accession, for proteins whose header has none (accession-taxids.ts). */
  readonly accessionTaxids?: string;
  /** GFF3 files (annotations.ts). */
  readonly annotations?: readonly string[];
  /** Tables of domains by id (domains.ts). */
  readonly domains?: readonly string[];
  /** Table of attributes by id (metadata-table.ts). */
  readonly metadata?: string;
  readonly taxonomy?: { readonly nodes: string; readonly names: string };
}

export interface InputReports {
  /** Receives the number of bytes hashed since the previous call. */
  readonly onBytes?: (bytes: number) => void;
  /** Receives one line per file with its recognised format. */
  readonly onRecognised?: (line: string) => void;
}

interface ProteinFile {
  readonly path: string;
  readonly format: ProteinFormat;
}

/**
 * Returns the input of a build from files. This call recognises and hashes the files; opening the input reads them.
 * Errors  Refusal `file_not_found`; Refusal `invalid_input` for a file in a known format without proteins; Refusal
 *         `invalid_option` for `members` where no file has families
 */
export async function filesInput(files: InputFiles, reports: InputReports = {}): Promise<ProteinInput> {
  const proteins: ProteinFile[] = [];
  for (const path of files.proteins) {
    proteins.push(...(await recognise(path, files.format, reports.onRecognised)));
  }
  const hasFamilies = proteins.some(({ format }) => format.hasFamilies === true);
  if (files.members !== undefined && !hasFamilies) {
    throw new Refusal(
      'invalid_option',
      '--members are those of families, and no file of the input has families.',
    );
  }
  const hashed = createHashedFiles(reports.onBytes);
  const digests = async (paths: readonly string[]): Promise<readonly string[]> => {
    const list: string[] = [];
    for (const path of paths) list.push(await hashed.digest(path));
    return list;
  };
  const { duplicates = 'fail', taxonomy } = files;
  const digest = canonicalSha256({
    proteins: await digests(proteins.flatMap(({ path, format }) => [path, ...(format.beside?.(path) ?? [])])),
    // Structures and alignments without a name are named by their file, so file names are part of the digest.
    names: proteins.map(({ path, format }) =>
      isStructure(format) || format.hasFamilies === true ? basename(path) : '',
    ),
    formats: proteins.map(({ format }) => format.name),
    duplicates,
    ...(files.members !== undefined && { members: files.members }),
    accession_taxids: await digests(optional(files.accessionTaxids)),
    annotations: await digests(files.annotations ?? []),
    domains: await digests(files.domains ?? []),
    metadata: await digests(optional(files.metadata)),
    taxonomy: await digests(taxonomy === undefined ? [] : [taxonomy.nodes, taxonomy.names]),
  });
  return {
    digest,
    hasFamilies: hasFamilies && files.members === undefined,
    open: (scratchFolder) => hashed.open(() => openFiles(files, proteins, scratchFolder)),
  };
}

/** Recognises a file, or the files of a folder by their extensions. */
async function recognise(
  path: string,
  named: FormatName | undefined,
  onRecognised: InputReports['onRecognised'],
): Promise<readonly ProteinFile[]> {
  const folder = await filesIn(path);
  if (folder === undefined) {
    const { packing, ...file } = await recogniseFile(path, named);
    onRecognised?.(`${file.path}: ${file.format.title}${packing === undefined ? '' : `, ${packing}`}`);
    return [file];
  }
  onRecognised?.(`${path}: ${folder.files.length} files of ${folder.kind}`);
  return folder.files;
}

/** Returns the size of all files, for the progress of hashing. Errors  Refusal `file_not_found` */
export async function inputBytes(files: InputFiles): Promise<number> {
  const { taxonomy } = files;
  const proteins = await Promise.all(
    files.proteins.map(async (path) => {
      const named = (await filesIn(path))?.files ?? [(await familiesNamed(path)) ?? { path }];
      return named.map((file) => file.path);
    }),
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
  /** Files without a protein, such as structures of nucleic acids. */
  const empty = new Set<string>();
  const own = fieldsOf(proteins);
  return {
    fields: joinFields(files.members === undefined ? own : [...own, FAMILY_FIELD], tables, taxonomy),
    ...(taxonomy === undefined ? {} : { taxonomy }),
    duplicates: files.duplicates,
    totalBytes: await bytesOf(proteins.map(({ path }) => path)),
    async *proteins(onBytes) {
      for await (const protein of proteinsOf(proteins, onBytes, (path) => empty.add(path))) {
        const whole = joined.protein(protein);
        if (files.members === undefined) yield whole;
        else yield* membersOf(whole, files.members);
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

/** Opens the tables, in an order in which later tables replace values of earlier ones. */
async function openTables(
  { accessionTaxids, annotations = [], domains = [], metadata }: InputFiles,
  proteins: readonly ProteinFile[],
  scratchFolder: string,
): Promise<readonly AttributeTable[]> {
  const scratch = (name: string): string => join(scratchFolder, `${name}.rows`);
  const tables: AttributeTable[] = [];
  if (accessionTaxids !== undefined) {
    const places = { accessions: scratch('accessions'), taxids: scratch('taxids') };
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

/** Returns the fields of all formats in use, in the order of FORMATS. Formats agree on the type of each field. */
function fieldsOf(files: readonly ProteinFile[]): readonly SourceField[] {
  const fields = new Map<string, SourceField>();
  for (const format of FORMATS) {
    if (!files.some((file) => file.format === format)) continue;
    for (const field of format.fields) if (!fields.has(field.name)) fields.set(field.name, field);
  }
  return [...fields.values()];
}

function refuseEmpty([{ path }]: readonly ProteinFile[]): Refusal {
  return new Refusal('invalid_input', `None of the files has a protein; ${path} is one of them.`, {
    file: path,
  });
}

function optional(path: string | undefined): readonly string[] {
  return path === undefined ? [] : [path];
}

async function bytesOf(paths: readonly string[]): Promise<number> {
  return (await Promise.all(paths.map(sizeOf))).reduce((sum, size) => sum + size, 0);
}

/** Returns the SHA-256 of a file's bytes. Errors  Refusal `file_not_found` */
export async function digestFile(path: string, onBytes?: (bytes: number) => void): Promise<string> {
  await requireRegularFile(path);
  const hash = createHash('sha256');
  for await (const chunk of readInputFile(path, onBytes)) hash.update(chunk);
  return hash.digest('hex');
}

/** Files that are hashed before a build and read again by it. */
export interface HashedFiles {
  /** Returns the SHA-256 of a file's bytes. Errors  Refusal `file_not_found` */
  digest(path: string): Promise<string>;
  /**
   * Opens a source. A hashed file that is not the same any more at the end of the proteins, or when reading fails,
   * is refused by `invalid_input`.
   * Errors  those of `open`
   */
  open(open: () => Promise<ProteinSource>): Promise<ProteinSource>;
}

/** Errors  none here. @param onBytes  receives the number of bytes hashed since the previous call */
export function createHashedFiles(onBytes?: (bytes: number) => void): HashedFiles {
  const stamps = new Map<string, string | undefined>();
  const requireUnchanged = async (): Promise<void> => {
    for (const [path, stamp] of stamps) {
      if ((await stampOf(path)) === stamp) continue;
      throw new Refusal('invalid_input', `${path} changed while it was read: run the command again.`, {
        file: path,
      });
    }
  };
  /** A change of a file explains the errors of reading it. */
  const rethrow = async (cause: unknown): Promise<never> => {
    await requireUnchanged();
    throw cause;
  };
  return {
    async digest(path) {
      // Taken before hashing, so that a change during hashing is seen, too.
      if (!stamps.has(path)) stamps.set(path, await stampOf(path));
      return digestFile(path, onBytes);
    },
    async open(open) {
      const source = await open().catch(rethrow);
      return {
        ...source,
        async *proteins(onRead) {
          try {
            yield* source.proteins(onRead);
          } catch (cause) {
            await rethrow(cause);
          }
          await requireUnchanged();
        },
      };
    },
  };
}

/** Returns what changes when a file is written or replaced; undefined for a file that cannot be found. */
async function stampOf(path: string): Promise<string | undefined> {
  return stat(path, { bigint: true }).then(
    ({ size, mtimeNs, ino }) => `${size} ${mtimeNs} ${ino}`,
    () => undefined,
  );
}

async function sizeOf(path: string): Promise<number> {
  return stat(path).then(
    ({ size }) => size,
    (cause: unknown) => {
      throw refuseFile(path, cause);
    },
  );
}
