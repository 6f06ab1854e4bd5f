import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { canonicalSha256 } from '../../canonical.js';
import { Refusal } from '../../errors.js';
import type { AttributeValue } from '../../release/release.js';
import { lineageOf, type Taxonomy } from '../../release/taxonomy.js';
import { parseFastaHeader } from '../../sequence/fasta-header.js';
import { fastaFile, readFasta, type FastaRecord } from '../../sequence/fasta.js';
import { readInputFile, refuseFile } from '../../sequence/input-file.js';
import { readMetadataTable, type MetadataTable } from './metadata-table.js';
import type { ProteinInput, ProteinSource, SourceField, SourceProtein } from './protein-source.js';
import { readTaxonomyDump } from './taxonomy-dump.js';

/** A user's files. */
export interface FastaFiles {
  /** Read in this order; each plain or gzip. */
  readonly fasta: readonly string[];
  /** Attributes by id: metadata-table.ts. */
  readonly metadata?: string;
  readonly taxonomy?: { readonly nodes: string; readonly names: string };
}

const ROOT_TAXID = 1;
/** What headers tell; see fasta-header.ts. */
const HEADER_FIELDS: readonly SourceField[] = [
  { name: 'description', type: 'string', isOptional: true },
  { name: 'name', type: 'string', isOptional: true },
  { name: 'entry_name', type: 'string', isOptional: true },
  { name: 'organism', type: 'string', isOptional: true },
  { name: 'taxid', type: 'integer', isOptional: true },
  { name: 'gene', type: 'string', isOptional: true },
  { name: 'reviewed', type: 'boolean', isOptional: true },
];
const LENGTH_FIELD: SourceField = { name: 'length', type: 'integer' };
const LINEAGE_FIELD: SourceField = { name: 'lineage', type: 'string_list', isOptional: true };

/**
 * The files as a build's input; their contents are digested here, and read when it is opened.
 * Errors  Refusal `file_not_found`
 */
export async function fastaInput(
  files: FastaFiles,
  onBytes?: (bytes: number) => void,
): Promise<ProteinInput> {
  const digests = async (paths: readonly string[]): Promise<readonly string[]> => {
    const list: string[] = [];
    for (const path of paths) list.push(await digestFile(path, onBytes));
    return list;
  };
  const { metadata, taxonomy } = files;
  const digest = canonicalSha256({
    fasta: await digests(files.fasta),
    metadata: await digests(metadata === undefined ? [] : [metadata]),
    taxonomy: await digests(taxonomy === undefined ? [] : [taxonomy.nodes, taxonomy.names]),
  });
  return { digest, open: (scratchFolder) => openFastaSource(files, scratchFolder) };
}

/** Bytes of all files, for the progress of digesting them. */
export async function inputBytes({ fasta, metadata, taxonomy }: FastaFiles): Promise<number> {
  const paths = [
    ...fasta,
    ...(metadata === undefined ? [] : [metadata]),
    ...(taxonomy === undefined ? [] : [taxonomy.nodes, taxonomy.names]),
  ];
  return (await Promise.all(paths.map(sizeOf))).reduce((sum, size) => sum + size, 0);
}

async function openFastaSource(files: FastaFiles, scratchFolder: string): Promise<ProteinSource> {
  const taxonomy =
    files.taxonomy === undefined
      ? undefined
      : await readTaxonomyDump(files.taxonomy.nodes, files.taxonomy.names);
  const metadata =
    files.metadata === undefined
      ? undefined
      : await readMetadataTable(files.metadata, join(scratchFolder, 'metadata.rows'));
  const sizes = await Promise.all(files.fasta.map(sizeOf));
  const fields = joinFields(metadata, taxonomy);
  const joined = createJoin(metadata, taxonomy);
  return {
    fields,
    ...(taxonomy === undefined ? {} : { taxonomy }),
    totalBytes: sizes.reduce((sum, size) => sum + size, 0),
    async *proteins(onBytes) {
      for (const path of files.fasta) {
        for await (const record of readFasta(fastaFile(path, onBytes))) yield joined.protein(record);
      }
    },
    notes: joined.notes,
    close: () => metadata?.close(),
  };
}

/** A column of the user's table replaces the header's field of the same name. */
function joinFields(
  metadata: MetadataTable | undefined,
  taxonomy: Taxonomy | undefined,
): readonly SourceField[] {
  const own = metadata?.fields ?? [];
  const names = new Set(own.map(({ name }) => name));
  const computed = taxonomy === undefined ? [LENGTH_FIELD] : [LENGTH_FIELD, LINEAGE_FIELD];
  for (const { name } of computed) {
    if (names.has(name)) {
      throw new Refusal('invalid_metadata', `The attribute ${name} is computed here; rename the column.`);
    }
  }
  const fields = [...HEADER_FIELDS.filter(({ name }) => !names.has(name)), ...own, ...computed];
  if (taxonomy === undefined) return fields;
  const taxid = fields.find(({ name }) => name === 'taxid');
  if (taxid?.type !== 'integer') {
    throw new Refusal('invalid_metadata', 'With a taxonomy, the column taxid must hold integers.');
  }
  return fields.map((field) => (field === taxid ? { ...field, isTaxonomy: true } : field));
}

/** Puts header, table and taxonomy together, and counts what did not fit. */
function createJoin(metadata: MetadataTable | undefined, taxonomy: Taxonomy | undefined) {
  const own = new Set(metadata?.fields.map(({ name }) => name));
  let [proteins, matched, unknownTaxids] = [0, 0, 0];
  const attributesOf = (header: ReturnType<typeof parseFastaHeader>): Record<string, AttributeValue> => {
    const { id, entryName, ...rest } = header;
    const fromHeader = entryName === undefined ? rest : { ...rest, entry_name: entryName };
    const attributes: Record<string, AttributeValue> = Object.fromEntries(
      Object.entries(fromHeader).filter(([name]) => !own.has(name)),
    );
    const row = metadata?.find(id);
    if (row !== undefined) matched += 1;
    return Object.assign(attributes, row);
  };
  return {
    protein(record: FastaRecord): SourceProtein {
      const header = parseFastaHeader(record.header);
      const attributes = attributesOf(header);
      proteins += 1;
      if (taxonomy !== undefined && typeof attributes.taxid === 'number') {
        const lineage = lineageOf(taxonomy, attributes.taxid).filter(({ taxid }) => taxid !== ROOT_TAXID);
        if (lineage.length > 0) attributes.lineage = lineage.map(({ name }) => name).reverse();
        else unknownTaxids += 1;
      }
      return { id: header.id, text: record.text, attributes, record };
    },
    notes: (): readonly string[] => {
      const notes: string[] = [];
      if (metadata !== undefined && matched < metadata.rowCount) {
        notes.push(`${metadata.rowCount - matched} of ${metadata.rowCount} metadata rows match no protein.`);
      }
      if (metadata !== undefined && matched < proteins) {
        notes.push(`${proteins - matched} of ${proteins} proteins have no metadata row.`);
      }
      if (unknownTaxids > 0)
        notes.push(`${unknownTaxids} proteins have a taxid that the taxonomy does not know.`);
      return notes;
    },
  };
}

async function digestFile(path: string, onBytes?: (bytes: number) => void): Promise<string> {
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
