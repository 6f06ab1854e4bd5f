import { join } from 'node:path';
import { canonicalSha256 } from '../../canonical.js';
import { Refusal } from '../../errors.js';
import type { AttributeType, AttributeValue, FilterField, Release } from '../../release/release.js';
import { lineageNames, readTaxonomy, type Taxonomy } from '../../release/taxonomy.js';
import { digestFile, type InputFiles } from './input-files.js';
import type { ProteinInput, SourceField, SourceProtein } from './protein-source.js';
import type { AttributeTable } from './tables/attribute-table.js';
import { readMetadataTable } from './tables/metadata-table.js';
import { readTaxonomyDump } from './taxonomy-dump.js';

/*
 * Inputs that go on from a release: the next one of a growing database keeps what is known of its proteins, and an
 * annotated one is the same proteins with more said of them.
 */

type Attributes = Readonly<Record<string, AttributeValue>>;

/** Computed at each build, and so never kept. */
const LENGTH_FIELD: SourceField = { name: 'length', type: 'integer' };
const LINEAGE_FIELD: SourceField = { name: 'lineage', type: 'string_list', isOptional: true };
const TAXID = 'taxid';

/** What is said anew of the proteins that a release has; the taxonomy takes the place of the release's own. */
export type Annotation = Pick<InputFiles, 'metadata' | 'taxonomy'>;

/**
 * The input with what the earlier release says of the same ids: a protein keeps each attribute that the input does not
 * give it, but for columns that the input has for all of its proteins. Lineages are of the input's taxonomy, or else of
 * the earlier release's.
 * Errors  Refusal `invalid_metadata` where a field has another type than in the earlier release
 */
export function continuedInput(input: ProteinInput, earlier: Release): ProteinInput {
  return {
    digest: canonicalSha256({ input: input.digest, earlier: earlier.id }),
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
            const kept = row === undefined ? {} : without(earlier.targets.attributes(row), own);
            yield { ...protein, attributes: lineages.add({ ...kept, ...protein.attributes }) };
          }
        },
        notes: () => [...source.notes(), ...lineages.notes()],
      };
    },
  };
}

/**
 * The release's own proteins with other attributes: those that have a row in the table have what it says in all of its
 * columns, also where a cell is empty; the others stay as they are.
 * Errors  Refusal `invalid_metadata` where a column has another type than in the release, or is computed here
 */
export async function annotatedInput(
  release: Release,
  { metadata: table, taxonomy: dumps }: Annotation,
): Promise<ProteinInput> {
  const digests: (string | null)[] = [];
  for (const path of [table, dumps?.nodes, dumps?.names]) {
    digests.push(path === undefined ? null : await digestFile(path));
  }
  return {
    digest: canonicalSha256({ release: release.id, files: digests }),
    async open(scratchFolder) {
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
    },
  };
}

function refuseComputed(fields: readonly FilterField[]): void {
  const names = new Set([LENGTH_FIELD, LINEAGE_FIELD].map(({ name }) => name));
  const twin = fields.find(({ name }) => names.has(name));
  if (twin === undefined) return;
  throw new Refusal('invalid_metadata', `The attribute ${twin.name} is computed here; rename the column.`);
}

function* proteinsOf({ targets }: Release): Generator<SourceProtein> {
  for (let target = 0; target < targets.count; target += 1) {
    yield { id: targets.id(target), text: targets.sequence(target), attributes: targets.attributes(target) };
  }
}

/** A column of a table, which speaks for every protein; what headers tell is optional. */
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

/** Gives proteins the lineage of their taxid; where it says so, it tells of taxids that are not in the taxonomy. */
function createLineages(taxonomy: Taxonomy | undefined, reportsUnknown: boolean) {
  let unknown = 0;
  return {
    add(given: Attributes): Attributes {
      if (taxonomy === undefined) return given;
      const { lineage: _, ...attributes } = given;
      if (typeof attributes[TAXID] !== 'number') return attributes;
      const lineage = lineageNames(taxonomy, attributes[TAXID]);
      if (lineage.length > 0) return { ...attributes, lineage };
      unknown += 1;
      return attributes;
    },
    notes: (): readonly string[] =>
      unknown === 0 || !reportsUnknown
        ? []
        : [`${unknown} proteins have a taxid that the taxonomy does not know; --taxonomy gives a newer one.`],
  };
}

async function taxonomyOf({ manifest, directory }: Release): Promise<Taxonomy | undefined> {
  return manifest.files.taxonomy === undefined ? undefined : readTaxonomy(directory);
}

/** Fields of the release in their order, then those that are new, then what is computed. */
function joinFields(
  release: Release,
  given: readonly SourceField[],
  taxonomy: Taxonomy | undefined,
): readonly SourceField[] {
  const computed = taxonomy === undefined ? [LENGTH_FIELD] : [LENGTH_FIELD, LINEAGE_FIELD];
  const names = new Set(computed.map(({ name }) => name));
  const kept = release.fields.filter(({ name }) => !names.has(name));
  const own = new Map(kept.map((field) => [field.name, field]));
  const types = new Map(given.map(({ name, type }) => [name, type]));
  const fields = [
    ...kept.map(({ name, type }) => ({ name, type: joinTypes(release, { name, type }, types.get(name)) })),
    ...given.filter(({ name }) => !own.has(name) && !names.has(name)),
  ];
  if (taxonomy !== undefined && !fields.some(({ name, type }) => name === TAXID && type === 'integer')) {
    throw new Refusal('invalid_metadata', 'With a taxonomy, an attribute taxid must hold integers.');
  }
  return [
    ...fields.map(({ name, type }): SourceField => {
      const isTaxonomy = taxonomy !== undefined && name === TAXID && type === 'integer';
      return { name, type, isOptional: true, ...(isTaxonomy && { isTaxonomy }) };
    }),
    ...computed,
  ];
}

/** Integers are numbers; any other difference has to be settled by whoever wrote the table. */
function joinTypes(
  { manifest }: Release,
  { name, type }: FilterField,
  given: AttributeType | undefined,
): AttributeType {
  if (given === undefined || given === type) return type;
  if ([type, given].every((one) => one === 'integer' || one === 'number')) return 'number';
  throw new Refusal(
    'invalid_metadata',
    `The attribute ${name} is a ${type} in ${manifest.title}, and a ${given} in what was given: call the column ` +
      `"${name}:${type}", or give it another name.`,
  );
}

function without(attributes: Attributes, names: ReadonlySet<string>): Attributes {
  return Object.fromEntries(Object.entries(attributes).filter(([name]) => !names.has(name)));
}
