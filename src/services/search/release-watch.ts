import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { KIBIBYTE_BYTES, MEBIBYTE_BYTES } from '../../limits.js';
import { listedFiles } from '../../release/manifest.js';
import type { FileEntry, ReleaseManifest } from '../../release/release.js';
import { storageUnavailable } from '../../store/unavailable.js';

interface WatchedRelease {
  readonly id: string;
  readonly directory: string;
  readonly manifest: ReleaseManifest;
}

/** A folder in which the catalog has a release. */
export interface ReleasePlace {
  readonly directory: string;
  /** A release that was removed and published again in the same folder has another time. ISO 8601 in UTC */
  readonly publishedAt: string;
}

/** The catalog and the cache of open releases. */
interface WatchedReleases {
  /** Every place of the release now: equal content in several databases is one release. */
  placesOf(releaseId: string): readonly ReleasePlace[];
  /** Has the next search open the release anew. */
  forget(releaseId: string): void;
}

/** Files that are not what was built, and where. */
interface ReleaseProblem {
  readonly place: ReleasePlace;
  readonly text: string;
}

/** @param isServed whether searches use another copy of the release, which is whole */
type ProblemListener = (problem: string, releaseId: string, isServed: boolean) => void;

interface WatchPace {
  /** Rates while no search runs, and while searches run. */
  readonly idleBytesPerSecond: number;
  readonly busyBytesPerSecond: number;
  /** Pause between two passes over all releases. */
  readonly restMs: number;
}

const PACE: WatchPace = {
  idleBytesPerSecond: 20 * MEBIBYTE_BYTES,
  busyBytesPerSecond: 2 * MEBIBYTE_BYTES,
  restMs: 10 * 60_000,
};
/** Time during which a started search is assumed to be in progress. */
const BUSY_MS = 2_000;
const CHUNK_BYTES = 256 * KIBIBYTE_BYTES;

/**
 * Verifies the files of served releases repeatedly at a slow pace, because opening a release checks only sizes. A
 * damaged release is out of service until a pass finds it whole, in the folder of any database that has it, or until
 * the catalog no longer has the damaged files.
 */
export class ReleaseWatch {
  #pace = PACE;
  readonly #catalog: WatchedReleases;
  readonly #releases = new Map<string, WatchedRelease>();
  /** The damaged copies of each release that has no whole one. */
  readonly #problems = new Map<string, readonly ReleaseProblem[]>();
  #ending = new AbortController();
  #searchedAtMs = -Infinity;
  #watching: Promise<void> = Promise.resolve();

  constructor(catalog: WatchedReleases) {
    this.#catalog = catalog;
  }

  /** Adds a release that was opened. */
  add(release: WatchedRelease): void {
    this.#releases.set(release.id, release);
  }

  /** Folder that a release was opened from, or that a pass found whole in its place. */
  directoryOf(releaseId: string): string | undefined {
    return this.#releases.get(releaseId)?.directory;
  }

  /** Checks a release before a search. Errors  Refusal `storage_unavailable` if it has changed */
  require(releaseId: string): void {
    this.#searchedAtMs = performance.now();
    const problems = this.#problems.get(releaseId);
    if (problems === undefined) return;
    const [problem] = this.#published(releaseId, problems);
    if (problem === undefined) return this.#forget(releaseId);
    throw storageUnavailable(
      `The files of release ${releaseId} have changed; it is out of service.`,
      new Error(problem.text),
    );
  }

  /** One message per release that is out of service, with the reason. */
  problems(): readonly string[] {
    return [...this.#problems].flatMap(([id, problems]) =>
      this.#published(id, problems)
        .slice(0, 1)
        .map(({ text }) => `release ${id} is out of service: ${text}`),
    );
  }

  /** Starts once, or again after a stop. @param onProblem called once for each damaged copy of a release in service */
  start(onProblem: ProblemListener, pace = PACE): void {
    const ending = new AbortController();
    this.#ending = ending;
    this.#pace = pace;
    this.#watching = this.#watch(onProblem).catch((error: unknown) => {
      if (!ending.signal.aborted) throw error;
    });
  }

  async stop(): Promise<void> {
    this.#ending.abort();
    await this.#watching;
  }

  async #watch(onProblem: ProblemListener): Promise<void> {
    for (;;) {
      await this.#rest(this.#pace.restMs);
      for (const release of [...this.#releases.values()]) await this.#check(release, onProblem);
    }
  }

  /** Verifies the folder in use first, and then the others until one is whole. */
  async #check(release: WatchedRelease, onProblem: ProblemListener): Promise<void> {
    const { id, directory } = release;
    const isUsed = (place: ReleasePlace): boolean => place.directory === directory;
    const places = this.#catalog.placesOf(id);
    const damaged: ReleaseProblem[] = [];
    let whole: ReleasePlace | undefined;
    for (const place of [...places.filter(isUsed), ...places.filter((each) => !isUsed(each))]) {
      const text = await this.#problemOf(place.directory, release.manifest);
      if (text === undefined) {
        whole = place;
        break;
      }
      damaged.push({ place, text });
    }
    // Files that were removed from the catalog during the check are not damaged.
    const problems = this.#published(id, damaged);
    const isNew = !this.#problems.has(id);
    if (whole !== undefined) {
      if (problems.length > 0) onProblem(problems[0].text, id, true);
      if (isNew && isUsed(whole)) return;
      this.#forget(id);
      this.add({ ...release, directory: whole.directory });
    } else if (problems.length > 0) {
      if (isNew) onProblem(problems[0].text, id, false);
      this.#problems.set(id, problems);
    } else if (this.#catalog.placesOf(id).length === 0) this.#forget(id);
  }

  /** The problems whose place the catalog still has. */
  #published(releaseId: string, problems: readonly ReleaseProblem[]): readonly ReleaseProblem[] {
    const places = this.#catalog.placesOf(releaseId);
    return problems.filter(({ place: { directory, publishedAt } }) =>
      places.some((place) => place.directory === directory && place.publishedAt === publishedAt),
    );
  }

  #forget(releaseId: string): void {
    this.#releases.delete(releaseId);
    this.#problems.delete(releaseId);
    this.#catalog.forget(releaseId);
  }

  async #problemOf(directory: string, manifest: ReleaseManifest): Promise<string | undefined> {
    for (const file of listedFiles(manifest)) {
      const sha256 = await this.#digestOf(join(directory, file.path), file).catch((error: unknown) => {
        if (this.#ending.signal.aborted) throw error;
        return `none, it cannot be read: ${String((error as NodeJS.ErrnoException).code)}`;
      });
      if (sha256 !== file.sha256) return `${file.path} has the SHA-256 ${sha256}; ${file.sha256} was built`;
    }
    return undefined;
  }

  async #digestOf(path: string, { size_bytes: sizeBytes }: FileEntry): Promise<string> {
    const hash = createHash('sha256');
    const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
    const handle = await open(path, 'r');
    try {
      // Reads one byte past the original size, because a longer file has changed, too.
      for (let position = 0; position <= sizeBytes;) {
        const { bytesRead } = await handle.read(chunk, 0, CHUNK_BYTES, position);
        if (bytesRead === 0) break;
        hash.update(chunk.subarray(0, bytesRead));
        position += bytesRead;
        await this.#rest((1_000 * bytesRead) / this.#bytesPerSecond());
      }
      return hash.digest('hex');
    } finally {
      await handle.close();
    }
  }

  #bytesPerSecond(): number {
    const isBusy = performance.now() - this.#searchedAtMs < BUSY_MS;
    return isBusy ? this.#pace.busyBytesPerSecond : this.#pace.idleBytesPerSecond;
  }

  async #rest(ms: number): Promise<void> {
    await pause(ms, undefined, { ref: false, signal: this.#ending.signal });
  }
}
