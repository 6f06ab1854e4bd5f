import { Refusal } from '../../errors.js';
import type { AttributeValue } from '../../release/release.js';
import { lineageNames, type Taxonomy } from '../../release/taxonomy.js';
import type { SourceField, SourceProtein } from './protein-source.js';
import type { AttributeTable } from './tables/attribute-table.js';

const LENGTH_FIELD: SourceField = { name: 'length', type: 'integer' };
const LINEAGE_FIELD: SourceField = { name: 'lineage', type: 'string_list', isOptional: true };

/**
 * Returns the fields of the proteins, of the tables and of lineages. A table's column replaces a field of the proteins
 * or of an earlier table with the same name.
 * Errors  Refusal `invalid_metadata` for a column that each build computes, and for taxids that are not integers
 */
export function joinFields(
  own: readonly SourceField[],
  tables: readonly AttributeTable[],
  taxonomy: Taxonomy | undefined,
): readonly SourceField[] {
  const computed = taxonomy === undefined ? [LENGTH_FIELD] : [LENGTH_FIELD, LINEAGE_FIELD];
  const fields = new Map(own.map((field) => [field.name, field]));
  for (const { fields: columns, fillsGaps = false } of tables) {
    for (const column of columns) {
      if (computed.some(({ name }) => name === column.name)) {
        throw new Refusal(
          'invalid_metadata',
          `The build computes the attribute ${column.name}; rename the column.`,
        );
      }
      if (fillsGaps && fields.has(column.name)) continue;
      // A replaced field moves to its position in the table.
      fields.delete(column.name);
      fields.set(column.name, column);
    }
  }
  const all = [...fields.values(), ...computed];
  if (taxonomy === undefined) return all;
  const taxid = fields.get('taxid');
  if (taxid?.type !== 'integer') {
    throw new Refusal('invalid_metadata', 'With a taxonomy, the column taxid must have integers.');
  }
  return all.map((field) => (field === taxid ? { ...field, isTaxonomy: true } : field));
}

/** Joins proteins with tables and taxonomy, and counts rows and proteins without a match. */
export function createJoin(tables: readonly AttributeTable[], taxonomy: Taxonomy | undefined) {
  const replaced = new Set(
    tables.flatMap(({ fields, fillsGaps = false }) => (fillsGaps ? [] : fields.map(({ name }) => name))),
  );
  const matched = new Map(tables.map((table) => [table, 0]));
  let [proteins, unknownTaxids] = [0, 0];
  const attributesOf = ({ id, attributes: own }: SourceProtein): Record<string, AttributeValue> => {
    const attributes = Object.fromEntries(Object.entries(own).filter(([name]) => !replaced.has(name)));
    for (const table of tables) {
      const row = table.find(id);
      if (row === undefined) continue;
      matched.set(table, (matched.get(table) ?? 0) + 1);
      Object.assign(attributes, table.fillsGaps === true ? { ...row, ...attributes } : row);
    }
    return attributes;
  };
  return {
    protein(source: SourceProtein): SourceProtein {
      const attributes = attributesOf(source);
      proteins += 1;
      if (taxonomy !== undefined && typeof attributes.taxid === 'number') {
        const lineage = lineageNames(taxonomy, attributes.taxid);
        if (lineage.length > 0) attributes.lineage = lineage;
        else unknownTaxids += 1;
      }
      return { ...source, attributes };
    },
    notes(): readonly string[] {
      const notes = tables.flatMap((table) => notesOf(table, matched.get(table) ?? 0, proteins));
      if (unknownTaxids > 0)
        notes.push(`${unknownTaxids} proteins have a taxid that is not in the taxonomy.`);
      return notes;
    },
  };
}

function notesOf(table: AttributeTable, matched: number, proteins: number): readonly string[] {
  if (table.notes !== undefined) return table.notes();
  const { name, rowCount } = table;
  return [
    ...(rowCount !== undefined && matched < rowCount
      ? [`${rowCount - matched} of ${rowCount} ${name} rows match no protein.`]
      : []),
    ...(matched < proteins ? [`${proteins - matched} of ${proteins} proteins have no ${name} row.`] : []),
  ];
}
