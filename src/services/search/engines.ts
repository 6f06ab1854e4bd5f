import { LRUCache } from 'lru-cache';
import { openCodebookOf } from '../../recall/codebook-sidecar.js';
import { openEvidence } from '../../recall/evidence.js';
import { isCudaBackend } from '../../kernels/cuda.js';
import type { KernelBackend } from '../../kernels/kernels.js';
import { OPEN_RELEASES_MAX_COUNT } from '../../limits.js';
import type { Release } from '../../release/release.js';
import type { Encoder } from '../../encoder/encoder.js';
import { openProfileEncoder } from '../../find-homologs/open.js';
import { openRange, targetRanges } from '../../search/partitions/scan.js';
import type { Scan, SearchEngine } from '../../search/search-types.js';

/** Releases that are ready to be searched, each with the encoder that made it. */
export interface Engines {
  /**
   * Opens the release on first use; later calls share it, with the calibration that the catalog names by then.
   * @param part  one of so many parts, from 0 on: the engine has the tokens of these targets and no others
   * Errors  Fault when its files, its encoder or the backend cannot be opened; the next call tries again
   */
  open(releaseId: string, part?: ReleasePartition): Promise<SearchEngine>;
  close(): Promise<void>;
}

export interface ReleasePartition {
  readonly part: number;
  readonly count: number;
}

export interface EngineSources {
  readonly backend: KernelBackend;
  readonly threads: number;
  readonly indexesFolder: string;
  /** Opens a release of the catalog by id. */
  openRelease(releaseId: string): Promise<Release>;
  /** Where the calibration of a release is and which it is; undefined where the catalog no longer has the release. */
  calibrationOf(releaseId: string): CalibrationPlace | undefined;
  /** Loads an encoder in the very version that has this digest. */
  loadEncoder(encoderId: string, digest: string): Promise<Encoder>;
  /** How others look at the targets of a release; undefined where they are looked at here. Default: always here. */
  scanOf?(releaseId: string): Scan | undefined;
}

export interface CalibrationPlace {
  /** Undefined where none was named: there may be one all the same, copied with its release. */
  readonly id: string | undefined;
  /** The same of the card of its approximate policy. */
  readonly qualificationId: string | undefined;
  readonly releaseDirectory: string;
}

/** A release without its tokens, which parts of it share. */
type LoadedRelease = Pick<SearchEngine, 'release' | 'encoder' | 'profileEncoder'>;

/** A release in memory, and itself with the calibration last asked for. */
interface OpenRelease {
  readonly plain: SearchEngine;
  readonly calibrated: Map<string, Promise<SearchEngine>>;
}

export function createEngines(sources: EngineSources): Engines {
  const encoders = new Map<string, Promise<Encoder>>();
  const loaded = new LRUCache<string, Promise<LoadedRelease>>({ max: OPEN_RELEASES_MAX_COUNT });
  const opened = new LRUCache<string, Promise<OpenRelease>>({
    max: OPEN_RELEASES_MAX_COUNT,
    // A run may be between two searches of it.
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
    const profileEncoder = openProfileEncoder(release.manifest, encoder, { ...sources, openEngine: open });
    return { release, encoder, profileEncoder };
  };
  const openPlain = async (releaseId: string, part: ReleasePartition | undefined): Promise<OpenRelease> => {
    const known = await once(loaded, releaseId, () => load(releaseId));
    const { threads } = sources;
    const { release } = known;
    if (part !== undefined) {
      const { backend } = sources;
      const store = await openRange(release, backend, targetRanges(release, part.count)[part.part]);
      return { plain: { ...known, backend, store, threads }, calibrated: new Map() };
    }
    const scan = sources.scanOf?.(releaseId);
    // What others look at is mapped here, for finalists, and not brought to a GPU.
    const backend = scan && isCudaBackend(sources.backend) ? sources.backend.affineBackend : sources.backend;
    const store = await backend.open(release.tokens);
    return { plain: { ...known, backend, store, threads, scan }, calibrated: new Map() };
  };
  const open = async (releaseId: string, part?: ReleasePartition): Promise<SearchEngine> => {
    const key = part === undefined ? releaseId : `${releaseId} ${part.part}/${part.count}`;
    const { plain, calibrated } = await once(opened, key, () => openPlain(releaseId, part));
    // Parts are compared; what is found in them is judged by whoever puts them together.
    if (part !== undefined) return plain;
    const place = sources.calibrationOf(releaseId);
    const name = `${place?.id ?? ''} ${place?.qualificationId ?? ''}`;
    if (!calibrated.has(name)) calibrated.clear();
    return once(calibrated, name, () => calibrate(plain, place?.releaseDirectory));
  };
  return {
    open,
    async close() {
      const releases = await Promise.allSettled(opened.values());
      for (const result of releases) if (result.status === 'fulfilled') result.value.plain.store.close();
      opened.clear();
      const loaded = await Promise.allSettled(encoders.values());
      for (const result of loaded) if (result.status === 'fulfilled') await result.value.close();
    },
  };
}

async function calibrate(plain: SearchEngine, directory: string | undefined): Promise<SearchEngine> {
  const { id, targets, directory: own } = plain.release;
  const evidence = await openEvidence(directory ?? own, { id, targetCount: targets.count });
  const { calibration, qualification } = evidence;
  const codebook =
    qualification && (await openCodebookOf(directory ?? own, qualification.card.codes, plain.release.tokens));
  return Object.freeze({ ...plain, calibration, qualification, codebook });
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
  started.catch(() => map.get(key) === started && map.delete(key));
  return started;
}
