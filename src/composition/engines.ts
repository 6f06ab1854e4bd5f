import type { ApplianceConfig } from '../config.js';
import { findEncoderVersion } from '../encoder/encoder-store.js';
import { encoderOptionsOf, loadEncoder } from '../encoder/load.js';
import { probabilitiesOf } from '../engine/probabilities.js';
import { createEngines, type Engines } from '../engine/engines.js';
import { Refusal } from '../errors.js';
import type { KernelBackend } from '../kernels/kernels.js';
import { releaseDirectory } from '../release/catalog.js';
import { openRelease } from '../release/open.js';
import type { ReleaseManifest } from '../release/release.js';
import type { ReleasePlace, ReleaseWatch } from '../services/search/release-watch.js';
import type { Workers } from '../services/workers/workers.js';
import type { ReleaseTable } from '../store/tables/releases.js';

/** Foundation of the engines: settings, kernels and the catalog of releases. */
export interface EngineFoundation {
  readonly config: ApplianceConfig;
  readonly backend: KernelBackend;
  readonly releases: ReleaseTable<ReleaseManifest>;
}

/** Returns the folders in which the catalog has a release, each with the time of its publication. */
export function placesOfRelease(
  { config, releases }: EngineFoundation,
  releaseId: string,
): readonly ReleasePlace[] {
  return releases.holders(releaseId).map(({ slug, publishedAt }) => ({
    directory: releaseDirectory(config.indexesFolder, slug, releaseId),
    publishedAt,
  }));
}

/**
 * Returns the folder of a release, within the folder of a database that contains it.
 * @param preferred  folder that is taken if the catalog has the release there
 * Errors  Refusal `database_not_found`
 */
export function folderOfRelease(foundation: EngineFoundation, releaseId: string, preferred?: string): string {
  const directories = placesOfRelease(foundation, releaseId).map(({ directory }) => directory);
  if (directories.length === 0)
    throw new Refusal('database_not_found', `The release ${releaseId} was removed from every database.`);
  return directories.find((directory) => directory === preferred) ?? directories[0];
}

/**
 * Creates the cache of engines of an appliance.
 * @param workers  absent = this process scans all targets
 * @param watch  names the folder to open a release from, and receives each release when it opens
 */
export function openEngines(
  foundation: EngineFoundation,
  workers: Workers | undefined,
  watch?: Pick<ReleaseWatch, 'directoryOf' | 'add'>,
): Engines {
  const { config, backend, releases } = foundation;
  return createEngines({
    backend,
    threads: config.threads,
    indexesFolder: config.indexesFolder,
    async openRelease(releaseId) {
      const release = await openRelease(
        folderOfRelease(foundation, releaseId, watch?.directoryOf(releaseId)),
      );
      watch?.add(release);
      return release;
    },
    calibrationOf: (releaseId) => {
      const holders = releases.holders(releaseId);
      const holder = holders.find(({ calibrationId }) => calibrationId !== undefined) ?? holders.at(0);
      return (
        holder && {
          id: holder.calibrationId,
          qualificationId: holder.qualificationId,
          releaseDirectory: releaseDirectory(config.indexesFolder, holder.slug, releaseId),
        }
      );
    },
    scanOf(releaseId) {
      const databases = config.workers?.databases;
      const isForwarded = ({ slug }: { readonly slug: string }): boolean => databases?.includes(slug) ?? true;
      return releases.holders(releaseId).some(isForwarded) ? workers?.scan : undefined;
    },
    loadEncoder: async (id, digest) =>
      loadEncoder(await findEncoderVersion(id, digest, config), encoderOptionsOf(config)),
    probabilityOf: (manifest) => probabilitiesOf(manifest, config),
  });
}
