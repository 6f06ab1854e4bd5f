import type { Hit } from './hits.js';

/** A taxon with the number of hits below it. */
export interface TaxonNode {
  readonly name: string;
  readonly count: number;
  readonly children: readonly TaxonNode[];
}

/** Attributes that contain lineages, from the root downwards. */
const LINEAGE_FIELDS = ['lineage', 'taxonomy'] as const;

export function lineageField(hits: readonly Hit[]): string | undefined {
  return LINEAGE_FIELDS.find((field) => hits.some(({ attributes }) => Array.isArray(attributes[field])));
}

/** Builds the tree of the hits by their lineages. Hits without a lineage are left out. */
export function taxonTree(hits: readonly Hit[], field: string): TaxonNode {
  const root = { name: 'all', count: 0, children: new Map<string, GrowingNode>() };
  for (const hit of hits) {
    const lineage = hit.attributes[field];
    if (!Array.isArray(lineage)) continue;
    let node: GrowingNode = root;
    node.count += 1;
    for (const name of lineage as readonly string[]) {
      const child = node.children.get(name) ?? { name, count: 0, children: new Map() };
      node.children.set(name, child);
      child.count += 1;
      node = child;
    }
  }
  return pruned(root);
}

interface GrowingNode {
  readonly name: string;
  count: number;
  readonly children: Map<string, GrowingNode>;
}

function pruned({ name, count, children }: GrowingNode): TaxonNode {
  return { name, count, children: [...children.values()].map(pruned).sort((a, b) => b.count - a.count) };
}
