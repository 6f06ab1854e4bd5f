import type { Appliance } from '../../src/appliance.js';
import { loadedRelease, openMeasuringEngine, withEvidence } from '../../src/engine/open-engine.js';
import { assert } from '../../src/errors.js';
import { scanReleases } from '../../src/release/catalog.js';
import { openRelease } from '../../src/release/open.js';
import type { SearchEngine } from '../../src/search/search-types.js';
import type { HomologSourceKind } from '../tools/homolog-source.js';
import { openCalibrated } from '../tools/calibrated-database.js';
import { openWithHomologs } from '../tools/homologs.js';
import type { Members } from './lists.js';
import type { BenchProtein } from '../tools/proteins.js';

/** Where the homologs of the domains come from: nowhere, or one of the sources of the relatives bench. */
export type WorldKind = 'plain' | HomologSourceKind;

/**
 * Opens the calibrated release of the domains. A release of this kind that is in the folder is used as it is, such as
 * one of the relatives bench. It has the domains in the order of the list. It may have others, which are not searched.
 * Errors  those of the build, of mmseqs and of the calibration
 */
export async function openWorld(
  appliance: Appliance,
  targets: readonly BenchProtein[],
  kind: WorldKind,
  folder: string,
  data: string,
): Promise<Members> {
  const engine = await openEngine(appliance, targets, kind, folder, data);
  const members = Uint32Array.from(targets, ({ id }) => engine.release.targets.find(id)!);
  // Hits are places among the members, and labels those of the list.
  assert(
    members.every((target, at) => at === 0 || target > members[at - 1]),
    'the release has the domains in the order of the list',
  );
  return { engine, targets: members };
}

async function openEngine(
  appliance: Appliance,
  targets: readonly BenchProtein[],
  kind: WorldKind,
  folder: string,
  data: string,
): Promise<SearchEngine> {
  const { config, backend } = appliance;
  const { indexesFolder, threads } = config;
  if (kind === 'plain') return openCalibrated(appliance, targets, kind, folder);
  const { releases } = await scanReleases(indexesFolder);
  const existing = releases.find(({ slug }) => slug === kind);
  if (existing === undefined)
    return openWithHomologs(appliance, targets, { kind, source: kind, slug: kind, data, folder });
  const encoder = await appliance.loadEncoder(config.encoder);
  const { directory } = existing;
  const release = await openRelease(directory);
  const homologSources = { indexesFolder, threads, openEngine: (id: string) => appliance.engines.open(id) };
  const measuring = await openMeasuringEngine({ release, encoder, backend, threads });
  return withEvidence({ ...measuring, ...loadedRelease({ release, encoder, homologSources }) }, directory);
}
