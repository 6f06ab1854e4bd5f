import type { AttributeType, AttributeValue, FilterField, TargetTable } from '#src/release/release.js';
import type { FilteredRelease } from '#src/release/filter/evaluate.js';

/** Attributes of made-up targets; what a row lacks is missing. */
export type Row = Readonly<Record<string, AttributeValue>>;

export function fieldsOf(
  types: Readonly<Record<string, AttributeType>>,
  taxonomyField?: string,
): FilterField[] {
  return Object.entries(types).map(([name, type]) => ({ name, type, isTaxonomy: name === taxonomyField }));
}

/** A table of made-up targets, each as long as its index plus one. */
function tableOf(rows: readonly Row[]): TargetTable {
  return {
    count: rows.length,
    id: (index) => `T${index}`,
    sequence: (index) => 'A'.repeat(index + 1),
    length: (index) => index + 1,
    selfScore: () => 1,
    attributes: (index) => rows[index]!,
    attribute: (index, field) => rows[index]![field],
    find: () => undefined,
  };
}

export function filteredRelease(
  rows: readonly Row[],
  parents: ReadonlyMap<number, number> = new Map(),
): FilteredRelease {
  const lineage = (taxid: number): number[] => {
    const path: number[] = [];
    for (
      let node: number | undefined = taxid;
      node !== undefined && parents.has(node);
      node = parents.get(node)
    ) {
      path.push(node);
      if (parents.get(node) === node) break;
    }
    return path;
  };
  return { targets: tableOf(rows), lineage };
}
