import type { ApplianceConfig } from '../config.js';
import { findEncoderVersion } from '../encoder/encoder-store.js';
import { encoderOptionsOf, loadEncoder } from '../encoder/load.js';
import { probabilitiesOf } from '../engine/probabilities.js';
import { createEngines, type Engines } from '../engine/engines.js';
import type { KernelBackend } from '../kernels/kernels.js';
import { releaseDirectory } from '../release/catalog.js';
import { openRelease } from '../release/open.js';
import type { Release, ReleaseManifest } from '../release/release.js';
import type { Workers } from '../services/workers/workers.js';
import type { ReleaseTable } from '../store/tables/releases.js';

/** Foundation of the engines: settings, kernels and the catalog of releases. */
export interface EngineFoundation {
  readonly config: ApplianceConfig;
  readonly backend: KernelBackend;
  readonly releases: ReleaseTable<ReleaseManifest>;
}

/** Returns the folder of a release, within the folder of a database that contains it. */
export function folderOfRelease({ config, releases }: EngineFoundation, releaseId: string): string {
  const [holder] = releases.holders(releaseId);
  return releaseDirectory(config.indexesFolder, holder.slug, releaseId);
}

/**
 * Creates the cache of engines of an appliance.
 * @param workers  absent = this process scans all targets
 * @param onOpen  receives each release when it opens
 */
export function openEngines(
  foundation: EngineFoundation,
  workers: Workers | undefined,
  onOpen: (release: Release) => void = () => undefined,
): Engines {
  const { config, backend, releases } = foundation;
  return createEngines({
    backend,
    threads: config.threads,
    indexesFolder: config.indexesFolder,
    async openRelease(releaseId) {
      const release = await openRelease(folderOfRelease(foundation, releaseId));
      onOpen(release);
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
