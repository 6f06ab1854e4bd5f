import type { ApplianceConfig } from '../config.js';
import type { Encoder } from '../encoder/encoder.js';
import { Fault } from '../errors.js';
import type { HomologSourceDependencies } from '../find-homologs/open.js';
import { backendChoiceOf, chooseBackend } from '../kernels/choose.js';
import { scanReleases } from '../release/catalog.js';
import { openRelease } from '../release/open.js';
import type { SearchEngine } from '../search/search-types.js';
import { openEngine } from './open-engine.js';

export interface OpenHomologSources extends HomologSourceDependencies {
  /** Closes the tokens of the source release. Errors  none */
  close(): Promise<void>;
}

/**
 * Opens homolog sources from the files of the indexes folder. No catalog is read, so that tasks on other machines can
 * call it.
 * @param encoder  of the searched release and of its homolog source
 */
export function openHomologSources(encoder: Encoder, config: ApplianceConfig): OpenHomologSources {
  const { indexesFolder, threads } = config;
  // A build or a release has one homolog source.
  let opened: Promise<SearchEngine> | undefined;
  const sources: OpenHomologSources = {
    indexesFolder,
    threads,
    openEngine: (releaseId) => (opened ??= openSource(releaseId)),
    async close() {
      const engine = await opened?.catch(() => undefined);
      engine?.store.close();
    },
  };
  const openSource = async (releaseId: string): Promise<SearchEngine> => {
    const { releases } = await scanReleases(indexesFolder);
    const located = releases.find(({ id }) => id === releaseId);
    if (located === undefined) throw new Fault(`There is no release ${releaseId} in ${indexesFolder}.`);
    const release = await openRelease(located.directory);
    const backend = await chooseBackend(backendChoiceOf(config));
    return openEngine({ release, encoder, backend, threads, homologSources: sources });
  };
  return sources;
}
