import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Appliance } from '../src/appliance.js';
import { fastaInput } from '../src/build/fasta-source.js';
import { buildRelease } from '../src/build/release.js';
import type { SearchEngine } from '../src/search/search-types.js';
import type { BenchProtein } from './search-proteins.js';

/** Builds and publishes a release of these proteins below the folder, and opens it. */
export async function buildBenchDatabase(
  appliance: Appliance,
  targets: readonly BenchProtein[],
  slug: string,
  folder: string,
): Promise<SearchEngine> {
  const fasta = join(folder, `${slug}.fasta`);
  await writeFile(fasta, targets.map(({ id, sequence }) => `>${id}\n${sequence}\n`).join(''));
  const encoder = await appliance.loadEncoder(appliance.config.encoder);
  const { indexesFolder } = appliance.config;
  const { release } = await buildRelease({
    indexesFolder,
    slug,
    input: await fastaInput({ fasta: [fasta] }),
    encoder,
  });
  await encoder.close();
  const { id, manifest } = release;
  await appliance.releases.publish({ id, slug, publishedAt: new Date().toISOString(), manifest });
  return appliance.engines.open(id);
}
