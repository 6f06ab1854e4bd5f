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
 * damaged release is out of service until the server restarts.
 */
export class ReleaseWatch {
  #pace = PACE;
  readonly #releases = new Map<string, WatchedRelease>();
  /** By release. */
  readonly #problems = new Map<string, string>();
  #ending = new AbortController();
  #searchedAtMs = -Infinity;
  #watching: Promise<void> = Promise.resolve();

  /** Adds a release that was opened. */
  add(release: WatchedRelease): void {
    this.#releases.set(release.id, release);
  }

  /** Checks a release before a search. Errors  Refusal `storage_unavailable` if it has changed */
  require(releaseId: string): void {
    this.#searchedAtMs = performance.now();
    const problem = this.#problems.get(releaseId);
    if (problem === undefined) return;
    throw storageUnavailable(
      `The files of release ${releaseId} have changed; it is out of service.`,
      new Error(problem),
    );
  }

  /** One message per release that is out of service, with the reason. */
  problems(): readonly string[] {
    return [...this.#problems].map(([id, problem]) => `release ${id} is out of service: ${problem}`);
  }

  /** Starts once, or again after a stop. @param onProblem called once for each release that is taken out of service */
  start(onProblem: (problem: string, releaseId: string) => void, pace = PACE): void {
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

  async #watch(onProblem: (problem: string, releaseId: string) => void): Promise<void> {
    for (;;) {
      await this.#rest(this.#pace.restMs);
      for (const release of [...this.#releases.values()]) {
        if (this.#problems.has(release.id)) continue;
        const problem = await this.#problemOf(release);
        if (problem === undefined) continue;
        this.#problems.set(release.id, problem);
        onProblem(problem, release.id);
      }
    }
  }

  async #problemOf({ directory, manifest }: WatchedRelease): Promise<string | undefined> {
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
