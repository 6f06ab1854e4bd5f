import type { ApplianceConfig } from './config.js';
import type { Engines } from './engine/engines.js';
import { backendChoiceOf, chooseBackend } from './kernels/choose.js';
import type { ReleaseManifest } from './release/release.js';
import { openControlStore } from './store/control-store.js';
import { requireSoundControlState } from './store/probe.js';
import { releaseEvents } from './store/tables/release-events.js';
import { ReleaseTable } from './store/tables/releases.js';
import { realWorld } from './world.js';
import { openEngines } from './composition/engines.js';

/** The part of an appliance that one search of the command line needs. */
export interface Searcher {
  readonly releases: ReleaseTable<ReleaseManifest>;
  readonly engines: Engines;
  /** `0.1.0+<commit>`: the exact build. Errors  none */
  serverVersion(): Promise<string>;
  close(): Promise<void>;
}

/**
 * Opens kernels, control state and the cache of engines. The modules of the other services are not loaded: all of them
 * take 0.6 s of processor time, these 0.2 s.
 * Errors  Fault if data folder, addon or configured device cannot be used
 */
export async function openSearcher(config: ApplianceConfig): Promise<Searcher> {
  const backend = await chooseBackend(backendChoiceOf(config));
  await requireSoundControlState(config.dataFolder);
  const store = openControlStore(config.dataFolder);
  const releases = new ReleaseTable<ReleaseManifest>(store, releaseEvents(store));
  const workers = config.workers && (await connectWorkers(config.workers));
  const engines = openEngines({ config, backend, releases }, workers);
  return {
    releases,
    engines,
    serverVersion: async () => (await import('./composition/identity.js')).buildVersion(config.packageFolder),
    async close() {
      await engines.close();
      workers?.close();
      await store.close();
    },
  };
}

async function connectWorkers(settings: NonNullable<ApplianceConfig['workers']>) {
  const { createWorkers } = await import('./services/workers/workers.js');
  return createWorkers(settings, realWorld);
}
