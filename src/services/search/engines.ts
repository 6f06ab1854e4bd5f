import { LRUCache } from 'lru-cache';
import { openQualification } from '../../calibration/policy-sidecar.js';
import { openCodesOf } from '../../calibration/codes-sidecar.js';
import { openCalibration } from '../../calibration/sidecar.js';
import type { KernelBackend } from '../../kernels/kernels.js';
import { OPEN_RELEASES_MAX_COUNT } from '../../limits.js';
import type { Release } from '../../release/release.js';
import type { Encoder } from '../../encoder/encoder.js';
import { openFamilySource } from '../../relatives/open.js';
import type { SearchEngine } from '../../search/search-types.js';

/** Releases that are ready to be searched, each with the encoder that made it. */
export interface Engines {
  /**
   * Opens the release on first use; later calls share it, with the calibration that the catalog names by then.
   * Errors  Fault when its files, its encoder or the backend cannot be opened; the next call tries again
   */
  open(releaseId: string): Promise<SearchEngine>;
  close(): Promise<void>;
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
}

export interface CalibrationPlace {
  /** Undefined where none was named: there may be one all the same, copied with its release. */
  readonly id: string | undefined;
  /** The same of the card of its approximate policy. */
  readonly qualificationId: string | undefined;
  readonly releaseDirectory: string;
}

/** A release in memory, and itself with the calibration last asked for. */
interface OpenRelease {
  readonly plain: SearchEngine;
  readonly calibrated: Map<string, Promise<SearchEngine>>;
}

export function createEngines(sources: EngineSources): Engines {
  const encoders = new Map<string, Promise<Encoder>>();
  const opened = new LRUCache<string, Promise<OpenRelease>>({
    max: OPEN_RELEASES_MAX_COUNT,
    // A search that still runs keeps the memory alive until it ends.
    dispose: (release) =>
      void release.then(
        ({ plain }) => plain.store.close(),
        () => undefined,
      ),
  });

  const openPlain = async (releaseId: string): Promise<OpenRelease> => {
    const release = await sources.openRelease(releaseId);
    const { id, sha256 } = release.manifest.encoder;
    const encoder = await once(encoders, sha256, () => sources.loadEncoder(id, sha256));
    const store = await sources.backend.open(release.tokens);
    const { backend, threads } = sources;
    const families = openFamilySource(release.manifest, encoder, { ...sources, openEngine: open });
    return { plain: { release, encoder, families, backend, store, threads }, calibrated: new Map() };
  };
  const open = async (releaseId: string): Promise<SearchEngine> => {
    const { plain, calibrated } = await once(opened, releaseId, () => openPlain(releaseId));
    const place = sources.calibrationOf(releaseId);
    const name = `${place?.id ?? ''} ${place?.qualificationId ?? ''}`;
    if (!calibrated.has(name)) calibrated.clear();
    return once(calibrated, name, () => calibrate(plain, place?.releaseDirectory));
  };
  return {
    open,
    async close() {
      opened.clear();
      const loaded = await Promise.allSettled(encoders.values());
      for (const result of loaded) if (result.status === 'fulfilled') await result.value.close();
    },
  };
}

async function calibrate(plain: SearchEngine, directory: string | undefined): Promise<SearchEngine> {
  const { id, targets, directory: own } = plain.release;
  const calibration = await openCalibration(directory ?? own, { id, targetCount: targets.count });
  const known = { releaseId: id, calibrationId: calibration?.id };
  const qualification = await openQualification(directory ?? own, known);
  const codes =
    qualification && (await openCodesOf(directory ?? own, qualification.card.codes, plain.release.tokens));
  return Object.freeze({ ...plain, calibration, qualification, codes });
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
