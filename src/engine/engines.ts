import { LRUCache } from 'lru-cache';
import type { Encoder } from '../encoder/encoder.js';
import { isCudaBackend } from '../kernels/cuda.js';
import type { KernelBackend } from '../kernels/kernels.js';
import { OPEN_RELEASES_MAX_COUNT } from '../limits.js';
import type { Release, ReleaseManifest } from '../release/release.js';
import { targetRanges } from '../search/partitions/scan.js';
import type { Scan, SearchEngine } from '../search/search-types.js';
import type { ProbabilityCard } from '../significance/probability.js';
import { loadedRelease, openTokens, withEvidence, type LoadedRelease } from './open-engine.js';

/** Cache of open releases, each with the encoder that made it. */
export interface Engines {
  /**
   * Opens the release on first use. Later calls share the tokens, and use the evidence that the catalog names then.
   * @param partition one of `count` partitions, from 0: the engine has the tokens of these targets and no evidence
   * Errors  Fault if its files, its encoder or the backend cannot be opened; the next call tries again
   */
  open(releaseId: string, partition?: ReleasePartition): Promise<SearchEngine>;
  /** Has the next call open the release anew. Its engines stay searchable by their holders. */
  forget(releaseId: string): void;
  /** Closes all tokens and encoders. Errors  those of closing an encoder */
  close(): Promise<void>;
}

export interface ReleasePartition {
  readonly index: number;
  readonly count: number;
}

export interface EngineSources {
  readonly backend: KernelBackend;
  readonly threads: number;
  readonly indexesFolder: string;
  /** Opens a release of the catalog by id. Errors  Fault where its files are damaged */
  openRelease(releaseId: string): Promise<Release>;
  /** The place and identity of a release's evidence; undefined where the catalog no longer has the release. */
  calibrationOf(releaseId: string): CalibrationPlace | undefined;
  /** Loads the encoder version with this digest. Errors  Fault where it is not installed or cannot be loaded */
  loadEncoder(encoderId: string, digest: string): Promise<Encoder>;
  /**
   * Reads the probabilities of the encoder version for such releases. Default: there are none.
   * Errors  Fault where the table is damaged
   */
  probabilityOf?(manifest: ReleaseManifest): Promise<ProbabilityCard | undefined>;
  /** How workers scan the targets of a release; undefined where this process scans them. Default: this process. */
  scanOf?(releaseId: string): Scan | undefined;
}

export interface CalibrationPlace {
  /** Undefined where the catalog names none. A copied release may still have one beside it. */
  readonly id: string | undefined;
  /** Identity of the policy card, undefined by the same rule. */
  readonly qualificationId: string | undefined;
  readonly releaseDirectory: string;
}

/** An open release, and its engine with the evidence of the last call. */
interface OpenRelease {
  readonly plain: SearchEngine;
  readonly calibrated: Map<string, Promise<SearchEngine>>;
}

export function createEngines(sources: EngineSources): Engines {
  const encoders = new Map<string, Promise<Encoder>>();
  const loaded = new LRUCache<string, Promise<LoadedRelease>>({ max: OPEN_RELEASES_MAX_COUNT });
  const opened = new LRUCache<string, Promise<OpenRelease>>({
    max: OPEN_RELEASES_MAX_COUNT,
    // A run may still be between two searches of this release: its last reader closes the tokens.
    dispose: (release) =>
      void release.then(
        ({ plain }) => plain.store.abandon(),
        () => undefined,
      ),
  });

  const load = async (releaseId: string): Promise<LoadedRelease> => {
    const release = await sources.openRelease(releaseId);
    const { id, sha256 } = release.manifest.encoder;
    const encoder = await once(encoders, sha256, () => sources.loadEncoder(id, sha256));
    return loadedRelease({ release, encoder, homologSources: { ...sources, openEngine: open } });
  };
  const openPlain = async (
    releaseId: string,
    partition: ReleasePartition | undefined,
  ): Promise<OpenRelease> => {
    const cached = await once(loaded, releaseId, () => load(releaseId));
    const { threads } = sources;
    const { release } = cached;
    const range = partition && targetRanges(release, partition.count)[partition.index];
    const scan = partition === undefined ? sources.scanOf?.(releaseId) : undefined;
    // Workers scan the targets, and this process only rescores candidates: the tokens stay out of GPU memory.
    const backend = scan && isCudaBackend(sources.backend) ? sources.backend.affineBackend : sources.backend;
    const store = await openTokens(release, backend, range);
    const probability = await sources.probabilityOf?.(release.manifest);
    return { plain: { ...cached, backend, store, threads, scan, probability }, calibrated: new Map() };
  };
  const open = async (releaseId: string, partition?: ReleasePartition): Promise<SearchEngine> => {
    const key = partition === undefined ? releaseId : `${releaseId} ${partition.index}/${partition.count}`;
    const { plain, calibrated } = await once(opened, key, () => openPlain(releaseId, partition));
    // A partition only scans; the coordinator that merges the partial results judges their significance.
    if (partition !== undefined) return plain;
    const place = sources.calibrationOf(releaseId);
    const name = `${place?.id ?? ''} ${place?.qualificationId ?? ''}`;
    if (!calibrated.has(name)) calibrated.clear();
    const directory = place?.releaseDirectory ?? plain.release.directory;
    return once(calibrated, name, () => withEvidence(plain, directory));
  };
  return {
    open,
    forget(releaseId) {
      loaded.delete(releaseId);
      for (const key of [...opened.keys()]) if (key.split(' ', 1)[0] === releaseId) opened.delete(key);
    },
    async close() {
      const releases = await Promise.allSettled(opened.values());
      for (const result of releases) if (result.status === 'fulfilled') result.value.plain.store.close();
      opened.clear();
      const closing = await Promise.allSettled(encoders.values());
      for (const result of closing) if (result.status === 'fulfilled') await result.value.close();
    },
  };
}

interface PromiseMap<Value> {
  get(key: string): Promise<Value> | undefined;
  set(key: string, value: Promise<Value>): unknown;
  delete(key: string): unknown;
}

/** Returns the attempt under a key, or starts it. A failed attempt is removed: the next call retries. */
function once<Value>(map: PromiseMap<Value>, key: string, attempt: () => Promise<Value>): Promise<Value> {
  const cached = map.get(key);
  if (cached !== undefined) return cached;
  const started = attempt();
  map.set(key, started);
  started.catch(() => map.get(key) === started && map.delete(key));
  return started;
}
