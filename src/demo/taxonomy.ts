/** A node of the simulated taxonomy. */
export interface TaxonomyNode {
  readonly taxid: number;
  /** The root is its own parent. */
  readonly parentTaxid: number;
  readonly rank: string;
  readonly name: string;
}

export interface SimulatedTaxonomy {
  readonly nodes: readonly TaxonomyNode[];
  readonly children: ReadonlyMap<number, readonly TaxonomyNode[]>;
}

export const ROOT_TAXID = 1;
/** Far above the ids of NCBI, so that no simulated organism has the id of a real one. */
const FIRST_SIMULATED_TAXID = 900_000_001;

const DOMAINS = [
  { name: 'Fictibacteria', phyla: ['Lumenota', 'Umbrota'], genera: ['bacter', 'coccus', 'monas'] },
  { name: 'Fictarchaea', phyla: ['Vesperota', 'Auroraeota'], genera: ['archaeum', 'thermus', 'globus'] },
  { name: 'Ficteukaryota', phyla: ['Noctomycota', 'Stellophyta'], genera: ['myces', 'phyton', 'zoon'] },
];
const GENUS_STEMS: Readonly<Record<string, string>> = {
  Lumenota: 'Lumi',
  Umbrota: 'Umbra',
  Vesperota: 'Vespero',
  Auroraeota: 'Auro',
  Noctomycota: 'Nocto',
  Stellophyta: 'Stello',
};
const EPITHETS = ['fictus', 'imaginarius', 'simulatus'];

/** Returns a root, 3 domains, 6 phyla, 18 genera and 54 species. All are invented and have obviously invented names. */
export function simulatedTaxonomy(): SimulatedTaxonomy {
  const nodes: TaxonomyNode[] = [
    { taxid: ROOT_TAXID, parentTaxid: ROOT_TAXID, rank: 'no rank', name: 'root' },
  ];
  const add = (parentTaxid: number, rank: string, name: string): number => {
    const taxid = FIRST_SIMULATED_TAXID + nodes.length - 1;
    nodes.push({ taxid, parentTaxid, rank, name });
    return taxid;
  };
  for (const domain of DOMAINS) {
    const domainTaxid = add(ROOT_TAXID, 'domain', domain.name);
    for (const phylum of domain.phyla) {
      const phylumTaxid = add(domainTaxid, 'phylum', phylum);
      for (const ending of domain.genera) {
        const genus = `${GENUS_STEMS[phylum]}${ending}`;
        const genusTaxid = add(phylumTaxid, 'genus', genus);
        for (const epithet of EPITHETS) add(genusTaxid, 'species', `${genus} ${epithet}`);
      }
    }
  }
  const children = new Map(
    nodes.map(({ taxid }) => [
      taxid,
      nodes.filter((node) => node.parentTaxid === taxid && node.taxid !== taxid),
    ]),
  );
  return { nodes, children };
}
