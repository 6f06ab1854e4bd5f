import { join } from 'node:path';
import type { Appliance } from '../../src/appliance.js';
import type { BuildHomologs } from '../../src/build-release/build-options.js';
import { openMeasuringEngine } from '../../src/engine/open-engine.js';
import { filesInput } from '../../src/build-release/sources/input-files.js';
import { buildRelease } from '../../src/build-release/release.js';
import type { FoundRelease } from '../../src/release/catalog.js';
import { openRelease } from '../../src/release/open.js';
import type { Encoder } from '../../src/encoder/encoder.js';
import type { SearchEngine } from '../../src/search/search-types.js';
import { writeFasta, type BenchProtein } from './proteins.js';

/**
 * Builds and publishes a release of these proteins with the appliance's encoder, and opens it.
 * @param buildHomologs  finder of homologs; absent for a release without profiles
 * Errors  those of the build
 */
export async function buildBenchDatabase(
  appliance: Appliance,
  targets: readonly BenchProtein[],
  slug: string,
  folder: string,
  buildHomologs?: BuildHomologs,
): Promise<SearchEngine> {
  const encoder = await appliance.loadEncoder(appliance.config.encoder);
  const release = await build(appliance, targets, slug, folder, encoder, buildHomologs);
  await encoder.close();
  const { id, manifest } = release;
  await appliance.releases.publish({ id, slug, publishedAt: new Date().toISOString(), manifest });
  return appliance.engines.open(id);
}

/**
 * Builds and opens a release with any encoder, without publishing it.
 * Errors  those of the build
 */
export async function buildWithEncoder(
  appliance: Appliance,
  targets: readonly BenchProtein[],
  slug: string,
  folder: string,
  encoder: Encoder,
): Promise<SearchEngine> {
  const { directory } = await build(appliance, targets, slug, folder, encoder);
  const release = await openRelease(directory);
  const { backend, config } = appliance;
  return openMeasuringEngine({ release, encoder, backend, threads: config.threads });
}

async function build(
  { config }: Appliance,
  targets: readonly BenchProtein[],
  slug: string,
  folder: string,
  encoder: Encoder,
  buildHomologs?: BuildHomologs,
): Promise<FoundRelease> {
  const fasta = join(folder, `${slug}.fasta`);
  await writeFasta(fasta, targets);
  const input = await filesInput({ proteins: [fasta] });
  const { indexesFolder } = config;
  const { release } = await buildRelease({ indexesFolder, slug, input, encoder, buildHomologs });
  return release;
}
