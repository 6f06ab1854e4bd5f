import { LRUCache } from 'lru-cache';
import { openCalibration } from '../calibration/sidecar.js';
import type { KernelBackend } from '../kernels/kernels.js';
import { OPEN_RELEASES_MAX_COUNT } from '../limits.js';
import type { Release } from '../release/release.js';
import type { Encoder } from '../search/encoder.js';
import type { SearchEngine } from '../search/search-types.js';

/** Releases that are ready to be searched, each with the encoder that made it. */
export interface Engines {
  /**
   * Opens the release on first use; later calls share it.
   * Errors  Fault when its files, its encoder or the backend cannot be opened; the next call tries again
   */
  open(releaseId: string): Promise<SearchEngine>;
  close(): Promise<void>;
}

export interface EngineSources {
  readonly backend: KernelBackend;
  readonly threads: number;
  /** Opens a release of the catalog by id. */
  openRelease(releaseId: string): Promise<Release>;
  /** Loads an encoder in the very version that has this digest. */
  loadEncoder(encoderId: string, digest: string): Promise<Encoder>;
}

export function createEngines(sources: EngineSources): Engines {
  const encoders = new Map<string, Promise<Encoder>>();
  const engines = new LRUCache<string, Promise<SearchEngine>>({
    max: OPEN_RELEASES_MAX_COUNT,
    // A search that still runs keeps the memory alive until it ends.
    dispose: (engine) =>
      void engine.then(
        ({ store }) => store.close(),
        () => undefined,
      ),
  });

  const openEngine = async (releaseId: string): Promise<SearchEngine> => {
    const release = await sources.openRelease(releaseId);
    const { id, sha256 } = release.manifest.encoder;
    const encoder = await once(encoders, sha256, () => sources.loadEncoder(id, sha256));
    const store = await sources.backend.open(release.tokens);
    const calibration = await openCalibration(release.directory, {
      id: release.id,
      targetCount: release.targets.count,
    });
    const { backend, threads } = sources;
    return Object.freeze({ release, encoder, backend, store, calibration, threads });
  };
  return {
    open: (releaseId) => once(engines, releaseId, () => openEngine(releaseId)),
    async close() {
      engines.clear();
      const loaded = await Promise.allSettled(encoders.values());
      for (const result of loaded) if (result.status === 'fulfilled') await result.value.close();
    },
  };
}

interface PromiseMap<Value> {
  get(key: string): Promise<Value> | undefined;
  set(key: string, value: Promise<Value>): unknown;
  delete(key: string): unknown;
}

/** The one attempt under a key; a failed one is forgotten, so that the next call tries again. */
function once<Value>(map: PromiseMap<Value>, key: string, attempt: () => Promise<Value>): Promise<Value> {
  const known = map.get(key);
  if (known !== undefined) return known;
  const started = attempt();
  map.set(key, started);
  started.catch(() => map.delete(key));
  return started;
}
