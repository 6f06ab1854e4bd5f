import { openEvidence } from '../../recall/evidence.js';
import type { ApplianceConfig } from '../../config.js';
import type { Encoder } from '../../encoder/encoder.js';
import { Fault } from '../../errors.js';
import { backendWishOf, chooseBackend } from '../../kernels/choose.js';
import type { HomologSourceDeps } from '../../find-homologs/open.js';
import { scanReleases } from '../../release/catalog.js';
import { openRelease } from '../../release/open.js';
import type { SearchEngine } from '../../search/search-types.js';

export interface OpenHomologSources extends HomologSourceDeps {
  close(): Promise<void>;
}

/**
 * Where relatives are looked for, as the files of the indexes folder have it: no catalog is asked, so that tasks on any
 * machine may.
 * @param encoder  of the release that is searched, and of what has its relatives
 */
export function openHomologSources(encoder: Encoder, config: ApplianceConfig): OpenHomologSources {
  const { indexesFolder, threads } = config;
  // Of one build or release: there is one background.
  let opened: Promise<SearchEngine> | undefined;
  return {
    indexesFolder,
    threads,
    openEngine: (releaseId) => (opened ??= openEngine(releaseId, encoder, config)),
    async close() {
      const engine = await opened?.catch(() => undefined);
      engine?.store.close();
    },
  };
}

async function openEngine(
  releaseId: string,
  encoder: Encoder,
  config: ApplianceConfig,
): Promise<SearchEngine> {
  const { indexesFolder, threads } = config;
  const { releases } = await scanReleases(indexesFolder);
  const found = releases.find(({ id }) => id === releaseId);
  if (found === undefined) throw new Fault(`There is no release ${releaseId} in ${indexesFolder}.`);
  const release = await openRelease(found.directory);
  const known = { id: releaseId, targetCount: release.targets.count };
  const evidence = await openEvidence(found.directory, known);
  const backend = await chooseBackend(backendWishOf(config));
  const store = await backend.open(release.tokens);
  return { release, encoder, backend, store, ...evidence, threads };
}
