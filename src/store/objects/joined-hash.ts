import { createHash, type Hash } from 'node:crypto';
import { MEBIBYTE_BYTES } from '../../limits.js';
import { HashThread } from './hash-thread.js';

/** An object that is one segment of a longer content. */
export interface Segment {
  readonly sha256: string;
  readonly sizeBytes: number;
}

/** Bytes hashed in one turn. It bounds the wait of other hashes for their turn. */
const TURN_BYTES = 64 * MEBIBYTE_BYTES;
/** Bound on hashes in memory. The least recently extended one is dropped first. */
const HASHES_MAX_COUNT = 64;

interface Joined {
  /** Id of the hash on the thread, never reused. */
  readonly id: number;
  count: number;
  /** Hash of the digests of the segments so far. It shows whether a content begins with these segments. */
  readonly beginning: Hash;
  /** The work that hashes ahead, if there is any. It never rejects. */
  working?: Promise<void>;
  isFinishing: boolean;
  isForgotten: boolean;
}

/** Returns the segment at an index of an incomplete content, or undefined if it has not arrived. */
type Next = (index: number) => Segment | undefined;

/**
 * SHA-256 of concatenated objects, computed on a thread. Segments that are likely the beginning of the content can be
 * hashed ahead. That saves time and does not affect the result: objects are named by their content, and `finish` starts
 * again if the content begins otherwise.
 */
export class JoinedHashes {
  readonly #pathOf: (sha256: string) => string;
  readonly #thread = new HashThread();
  /** By name, least recently extended first. */
  readonly #hashes = new Map<string, Joined>();
  #begunCount = 0;

  /** @param pathOf path of the object with this digest */
  constructor(pathOf: (sha256: string) => string) {
    this.#pathOf = pathOf;
  }

  /**
   * Called when a segment has arrived. Hashes the segments that `next` returns, until it returns none. Only the first
   * segment starts a hash, so that a dropped hash, or one of an earlier server, is not read repeatedly.
   */
  ahead(name: string, index: number, next: Next): void {
    const joined = this.#hashes.get(name) ?? (index === 0 ? this.#begin(name) : undefined);
    // A running hash continues with the next part by itself.
    if (joined === undefined || joined.working !== undefined || joined.isFinishing) return;
    this.#hashes.delete(name);
    this.#hashes.set(name, joined);
    joined.working = this.#workAhead(name, joined, next);
  }

  /**
   * Returns the SHA-256 of the whole. Its objects must be pinned.
   * Errors  Fault if an object cannot be read
   */
  async finish(name: string, segments: readonly Segment[]): Promise<string> {
    const existing = this.#hashes.get(name);
    if (existing !== undefined) {
      existing.isFinishing = true;
      await existing.working;
    }
    const isGood = existing !== undefined && !existing.isForgotten && startsWith(segments, existing);
    if (!isGood) this.forget(name);
    const joined = isGood ? existing : this.#begin(name);
    joined.isFinishing = true;
    try {
      for (const segment of segments.slice(joined.count)) await this.#add(joined, segment);
      return (await this.#thread.ask({ kind: 'end', id: joined.id })) as string;
    } finally {
      this.forget(name);
    }
  }

  forget(name: string): void {
    const joined = this.#hashes.get(name);
    if (joined === undefined) return;
    this.#hashes.delete(name);
    joined.isForgotten = true;
    this.#thread.ask({ kind: 'drop', id: joined.id }).catch(() => undefined);
  }

  close(): Promise<void> {
    return this.#thread.close();
  }

  #begin(name: string): Joined {
    const isIdle = ({ working, isFinishing }: Joined): boolean => working === undefined && !isFinishing;
    const [oldest] = [...this.#hashes].find(([, joined]) => isIdle(joined)) ?? [];
    if (this.#hashes.size >= HASHES_MAX_COUNT && oldest !== undefined) this.forget(oldest);
    this.#begunCount += 1;
    const beginning = createHash('sha256');
    const joined = { id: this.#begunCount, count: 0, beginning, isFinishing: false, isForgotten: false };
    this.#hashes.set(name, joined);
    return joined;
  }

  async #add(joined: Joined, { sha256, sizeBytes }: Segment): Promise<void> {
    const path = this.#pathOf(sha256);
    for (let start = 0; start < sizeBytes && !joined.isForgotten; start += TURN_BYTES) {
      const end = Math.min(sizeBytes, start + TURN_BYTES);
      const isFirst = joined.count === 0 && start === 0;
      await this.#thread.ask({ kind: 'add', id: joined.id, isFirst, path, start, end });
    }
    joined.count += 1;
    joined.beginning.update(sha256);
  }

  async #workAhead(name: string, joined: Joined, next: Next): Promise<void> {
    try {
      while (!joined.isFinishing && !joined.isForgotten) {
        const segment = next(joined.count);
        if (segment === undefined) break;
        await this.#add(joined, segment);
      }
    } catch {
      // The file was removed or is unreadable. The reader of the whole upload gets the error.
      this.forget(name);
    }
    joined.working = undefined;
  }
}

function startsWith(segments: readonly Segment[], { count, beginning }: Joined): boolean {
  const same = createHash('sha256');
  for (const { sha256 } of segments.slice(0, count)) same.update(sha256);
  return same.digest('hex') === beginning.copy().digest('hex');
}
