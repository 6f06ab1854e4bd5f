import { canonicalSha256 } from '../canonical.js';
import type { AttributeValue } from '../release/release.js';
import { lineageOf, type Taxonomy } from '../release/taxonomy.js';
import type { Encoder } from '../encoder/encoder.js';
import type { BuildProgress, BuildReport } from '../build-release/build-options.js';
import type {
  ProteinInput,
  ProteinSource,
  SourceField,
  SourceProtein,
} from '../build-release/sources/protein-source.js';
import { buildRelease } from '../build-release/release.js';
import {
  SIMULATED_DESCRIPTION,
  SIMULATED_TITLE,
  simulateProteins,
  type SimulatedDatabase,
  type SimulatedProtein,
} from './simulate.js';
import { ROOT_TAXID } from './taxonomy.js';

/** Name of the database of simulated proteins. */
export const SIMULATED_SLUG = 'simulated';
const SEED = 20_260_808;
const PROTEINS = 2_000;

interface SimulatedOptions {
  readonly slug?: string;
  readonly onProgress?: (progress: BuildProgress) => void;
}

const FIELDS: readonly SourceField[] = [
  { name: 'name', type: 'string' },
  { name: 'organism', type: 'string' },
  { name: 'taxid', type: 'integer', isTaxonomy: true },
  { name: 'lineage', type: 'string_list' },
  { name: 'ec_class', type: 'string' },
  { name: 'length', type: 'integer' },
  { name: 'reviewed', type: 'boolean' },
];

/** Simulates the proteins of the simulated database, which are the same on every machine. */
export function simulatedProteins(): SimulatedDatabase {
  return simulateProteins(SEED, PROTEINS);
}

/**
 * Builds a release of simulated proteins by the same code as any other release.
 * Errors  those of `buildRelease`
 */
export function buildSimulated(
  database: SimulatedDatabase,
  encoder: Encoder,
  indexesFolder: string,
  { slug = SIMULATED_SLUG, onProgress }: SimulatedOptions = {},
): Promise<BuildReport> {
  return buildRelease({
    indexesFolder,
    slug,
    title: SIMULATED_TITLE,
    description: SIMULATED_DESCRIPTION,
    isSimulated: true,
    input: simulatedInput(database),
    encoder,
    onProgress,
  });
}

function simulatedInput(database: SimulatedDatabase): ProteinInput {
  return {
    digest: canonicalSha256({ seed: database.seed, proteins: database.proteins }),
    open: async () => simulatedSource(database),
  };
}

function simulatedSource({ proteins, taxonomy: tree }: SimulatedDatabase): ProteinSource {
  const taxonomy: Taxonomy = new Map(tree.nodes.map((node) => [node.taxid, node]));
  const attributesOf = (protein: SimulatedProtein): Record<string, AttributeValue> => ({
    name: protein.name,
    organism: protein.organism,
    taxid: protein.taxid,
    lineage: lineageOf(taxonomy, protein.taxid)
      .filter(({ taxid }) => taxid !== ROOT_TAXID)
      .map(({ name }) => name)
      .reverse(),
    ...(protein.ecClass === undefined ? {} : { ec_class: protein.ecClass }),
    length: protein.sequence.length,
    reviewed: protein.reviewed,
  });
  return {
    fields: FIELDS,
    taxonomy,
    totalBytes: proteins.reduce((sum, { sequence }) => sum + sequence.length, 0),
    async *proteins(onBytes): AsyncGenerator<SourceProtein> {
      let bytes = 0;
      for (const protein of proteins) {
        bytes += protein.sequence.length;
        onBytes?.(bytes);
        yield { id: protein.id, text: protein.sequence, attributes: attributesOf(protein) };
      }
    },
    notes: () => [],
    close() {
      // The proteins are in memory, so that there is nothing to close.
    },
  };
}
