import { join } from 'node:path';
import { canonicalSha256 } from '../../canonical.js';
import { Refusal } from '../../errors.js';
import type { AttributeType, AttributeValue, FilterField, Release } from '../../release/release.js';
import { lineageNames, readTaxonomy, type Taxonomy } from '../../release/taxonomy.js';
import { createHashedFiles, type InputFiles } from './input-files.js';
import type { ProteinInput, SourceField, SourceProtein } from './protein-source.js';
import type { AttributeTable } from './tables/attribute-table.js';
import { readMetadataTable } from './tables/metadata-table.js';
import { readTaxonomyDump } from './taxonomy-dump.js';

/*
 * Inputs that start from an earlier release. A continued input keeps attributes of proteins that the earlier release
 * has. An annotated input has the same proteins with other attributes.
 */

type Attributes = Readonly<Record<string, AttributeValue>>;

/** Attributes that each build computes, and which are therefore not copied. */
const LENGTH_FIELD: SourceField = { name: 'length', type: 'integer' };
const LINEAGE_FIELD: SourceField = { name: 'lineage', type: 'string_list', isOptional: true };
const TAXID = 'taxid';

/** New attributes for the proteins of a release. The taxonomy replaces that of the release. */
export type Annotation = Pick<InputFiles, 'metadata' | 'taxonomy'>;

/**
 * Returns the input with attributes of an earlier release added by protein id. An attribute is copied if the input
 * gives the protein no value, except for columns that the input defines for all proteins. Lineages come from the
 * input's taxonomy, or else from that of the earlier release.
 * Errors  none here; opening the input throws Refusal `invalid_metadata` for a field of another type than before
 */
export function continuedInput(input: ProteinInput, earlier: Release): ProteinInput {
  return {
    digest: canonicalSha256({ input: input.digest, earlier: earlier.id }),
    hasFamilies: input.hasFamilies,
    async open(scratchFolder) {
      const source = await input.open(scratchFolder);
      const taxonomy = source.taxonomy ?? (await taxonomyOf(earlier));
      const own = new Set(source.fields.filter(isColumn).map(({ name }) => name));
      const lineages = createLineages(taxonomy, source.taxonomy === undefined);
      return {
        ...source,
        ...(taxonomy && { taxonomy }),
        fields: joinFields(earlier, source.fields, taxonomy),
        async *proteins(onBytes) {
          for await (const protein of source.proteins(onBytes)) {
            const row = earlier.targets.find(protein.id);
            const earlierAttributes = row === undefined ? {} : without(earlier.targets.attributes(row), own);
            yield { ...protein, attributes: lineages.add({ ...earlierAttributes, ...protein.attributes }) };
          }
        },
        notes: () => [...source.notes(), ...lineages.notes()],
      };
    },
  };
}

/**
 * Returns the proteins of a release with new attributes. A protein with a row in the table gets the values of all its
 * columns, and an empty cell removes the value. Other proteins do not change.
 * Errors  Refusal `file_not_found`; Refusal `invalid_metadata` for a malformed table, for a column of another type than
 *         in the release, and for a column that each build computes
 */
export async function annotatedInput(
  release: Release,
  { metadata: table, taxonomy: dumps }: Annotation,
): Promise<ProteinInput> {
  const hashed = createHashedFiles();
  const digests: (string | null)[] = [];
  for (const path of [table, dumps?.nodes, dumps?.names]) {
    digests.push(path === undefined ? null : await hashed.digest(path));
  }
  return {
    digest: canonicalSha256({ release: release.id, files: digests }),
    open: (scratchFolder) =>
      hashed.open(async () => {
        const metadata =
          table === undefined
            ? undefined
            : await readMetadataTable(table, join(scratchFolder, 'metadata.rows'));
        refuseComputed(metadata?.fields ?? []);
        const taxonomy =
          dumps === undefined ? await taxonomyOf(release) : await readTaxonomyDump(dumps.nodes, dumps.names);
        const lineages = createLineages(taxonomy, true);
        const rows = createRows(metadata);
        return {
          fields: joinFields(release, metadata?.fields ?? [], taxonomy),
          ...(taxonomy && { taxonomy }),
          totalBytes: release.manifest.counts.residues,
          async *proteins(onBytes) {
            for (const protein of proteinsOf(release)) {
              yield { ...protein, attributes: lineages.add(rows.join(protein)) };
              onBytes?.(protein.text.length);
            }
          },
          notes: () => [...rows.notes(), ...lineages.notes()],
          close: () => metadata?.close(),
        };
      }),
  };
}

function refuseComputed(fields: readonly FilterField[]): void {
  const names = new Set([LENGTH_FIELD, LINEAGE_FIELD].map(({ name }) => name));
  const twin = fields.find(({ name }) => names.has(name));
  if (twin === undefined) return;
  throw new Refusal('invalid_metadata', `The build computes the attribute ${twin.name}; rename the column.`);
}

function* proteinsOf({ targets }: Release): Generator<SourceProtein> {
  for (let target = 0; target < targets.count; target += 1) {
    yield { id: targets.id(target), text: targets.sequence(target), attributes: targets.attributes(target) };
  }
}

/** Whether a field is a column of a table, which defines it for every protein. Fields of headers are optional. */
function isColumn({ isOptional }: SourceField): boolean {
  return isOptional !== true;
}

function createRows(metadata: AttributeTable | undefined) {
  const names = new Set(metadata?.fields.map(({ name }) => name));
  let matched = 0;
  return {
    join({ id, attributes }: SourceProtein): Attributes {
      const row = metadata?.find(id);
      if (row === undefined) return attributes;
      matched += 1;
      return { ...without(attributes, names), ...row };
    },
    notes(): readonly string[] {
      const rowCount = metadata?.rowCount ?? 0;
      return matched < rowCount
        ? [`${rowCount - matched} of ${rowCount} metadata rows match no protein.`]
        : [];
    },
  };
}

/** Adds lineages by taxid, and counts proteins whose taxid is not in the taxonomy. */
function createLineages(taxonomy: Taxonomy | undefined, reportsUnknown: boolean) {
  let unknown = 0;
  return {
    add(source: Attributes): Attributes {
      if (taxonomy === undefined) return source;
      const { lineage: _, ...attributes } = source;
      if (typeof attributes[TAXID] !== 'number') return attributes;
      const lineage = lineageNames(taxonomy, attributes[TAXID]);
      if (lineage.length > 0) return { ...attributes, lineage };
      unknown += 1;
      return attributes;
    },
    notes: (): readonly string[] =>
      unknown === 0 || !reportsUnknown
        ? []
        : [`${unknown} proteins have a taxid that is not in the taxonomy; pass a newer one with --taxonomy.`],
  };
}

async function taxonomyOf({ manifest, directory }: Release): Promise<Taxonomy | undefined> {
  return manifest.files.taxonomy === undefined ? undefined : readTaxonomy(directory);
}

/** Returns the fields of the release in their order, then new fields, then computed fields. */
function joinFields(
  release: Release,
  added: readonly SourceField[],
  taxonomy: Taxonomy | undefined,
): readonly SourceField[] {
  const computed = taxonomy === undefined ? [LENGTH_FIELD] : [LENGTH_FIELD, LINEAGE_FIELD];
  const names = new Set(computed.map(({ name }) => name));
  const stored = release.fields.filter(({ name }) => !names.has(name));
  const own = new Map(stored.map((field) => [field.name, field]));
  const types = new Map(added.map(({ name, type }) => [name, type]));
  const fields = [
    ...stored.map(({ name, type }) => ({ name, type: joinTypes(release, { name, type }, types.get(name)) })),
    ...added.filter(({ name }) => !own.has(name) && !names.has(name)),
  ];
  if (taxonomy !== undefined && !fields.some(({ name, type }) => name === TAXID && type === 'integer')) {
    throw new Refusal('invalid_metadata', 'With a taxonomy, the attribute taxid must have integers.');
  }
  return [
    ...fields.map(({ name, type }): SourceField => {
      const isTaxonomy = taxonomy !== undefined && name === TAXID && type === 'integer';
      return { name, type, isOptional: true, ...(isTaxonomy && { isTaxonomy }) };
    }),
    ...computed,
  ];
}

/** Returns the common type of a field. Integers widen to numbers; other differences are refused. */
function joinTypes(
  { manifest }: Release,
  { name, type }: FilterField,
  added: AttributeType | undefined,
): AttributeType {
  if (added === undefined || added === type) return type;
  if ([type, added].every((each) => each === 'integer' || each === 'number')) return 'number';
  throw new Refusal(
    'invalid_metadata',
    `The attribute ${name} is a ${type} in ${manifest.title}, and a ${added} in the new data. Name the column ` +
      `"${name}:${type}", or rename it.`,
  );
}

function without(attributes: Attributes, names: ReadonlySet<string>): Attributes {
  return Object.fromEntries(Object.entries(attributes).filter(([name]) => !names.has(name)));
}
