import { join } from 'node:path';
import type { BuildProgress, BuildReport } from '../build-release/build-options.js';
import { buildRelease } from '../build-release/release.js';
import { filesInput } from '../build-release/sources/input-files.js';
import type { Encoder } from '../encoder/encoder.js';
import type { ReleaseManifest } from '../release/release.js';

/** Name of the database that a first start builds. */
export const DEMO_SLUG = 'demo';
const TITLE = 'Real proteins of six organisms';
const DESCRIPTION =
  '2,000 proteins of UniProt from a gut bacterium, yeast, two cyanobacteria, a planctomycete and a malaria parasite. ' +
  'Remote families are among them; examples/README.md lists them.';

/** Folders that the demo is read from and built in. */
export interface DemoFolders {
  readonly packageFolder: string;
  readonly indexesFolder: string;
}

/** Returns the folder of the package with the demo's proteins, its example query and what programs find for it. */
export function examplesFolder(packageFolder: string): string {
  return join(packageFolder, 'examples');
}

/** Whether a release of the database `demo` is the demo, and not a database of the lab with that name. */
export function isDemo({ title }: Pick<ReleaseManifest, 'title'>): boolean {
  return title === TITLE;
}

/**
 * Builds the demo release from its committed proteins, by the same code as any other release.
 * Errors  those of `filesInput` and `buildRelease`
 */
export async function buildDemo(
  encoder: Encoder,
  { packageFolder, indexesFolder }: DemoFolders,
  onProgress?: (progress: BuildProgress) => void,
): Promise<BuildReport> {
  const folder = examplesFolder(packageFolder);
  const input = await filesInput({
    proteins: [join(folder, 'proteins.fasta.gz')],
    taxonomy: { nodes: join(folder, 'nodes.dmp'), names: join(folder, 'names.dmp') },
  });
  return buildRelease({
    indexesFolder,
    slug: DEMO_SLUG,
    title: TITLE,
    description: DESCRIPTION,
    input,
    encoder,
    onProgress,
  });
}
