import { createHash, type Hash } from 'node:crypto';
import { MEBIBYTE_BYTES } from '../../limits.js';
import { createHashThread } from './hash-thread.js';

/** An object that is a part of something longer. */
export interface Segment {
  readonly sha256: string;
  readonly sizeBytes: number;
}

/**
 * SHA-256 of objects that make a whole, one after the other, on a thread of its own. What is known to be the beginning
 * can be hashed ahead; that saves time and decides nothing: objects are named by their content, and `finish` starts
 * anew where the whole begins otherwise.
 */
export interface JoinedHashes {
  /**
   * Told that a segment is there: hashes what `next` names at each index, until it names none. Only the first segment
   * begins a hash, so that one that was forgotten, or is of an earlier server, is not read again and again.
   */
  ahead(name: string, index: number, next: (index: number) => Segment | undefined): void;
  /**
   * The whole, whose objects must be pinned.
   * Errors  Fault where an object cannot be read
   */
  finish(name: string, segments: readonly Segment[]): Promise<string>;
  forget(name: string): void;
  close(): Promise<void>;
}

/** Bytes of one turn: others wait no longer for theirs. */
const TURN_BYTES = 64 * MEBIBYTE_BYTES;
/** Hashes that are kept at once; the one that went on longest ago goes first. */
const HASHES_MAX_COUNT = 64;

interface Joined {
  /** Its name on the thread, never used again. */
  readonly id: number;
  count: number;
  /** Of the digests of the segments that are in: tells whether a whole begins with them. */
  readonly beginning: Hash;
  /** What hashes ahead, where something does; it fails never. */
  working?: Promise<void>;
  isFinishing: boolean;
  isForgotten: boolean;
}

/** @param pathOf where the object with this digest lies */
export function createJoinedHashes(pathOf: (sha256: string) => string): JoinedHashes {
  const hashes = new Map<string, Joined>();
  const thread = createHashThread();
  let begunCount = 0;

  const forget = (name: string): void => {
    const joined = hashes.get(name);
    if (joined === undefined) return;
    hashes.delete(name);
    joined.isForgotten = true;
    thread.ask({ kind: 'drop', id: joined.id }).catch(() => undefined);
  };
  const begin = (name: string): Joined => {
    const [oldest] =
      [...hashes].find(([, { working, isFinishing }]) => working === undefined && !isFinishing) ?? [];
    if (hashes.size >= HASHES_MAX_COUNT && oldest !== undefined) forget(oldest);
    begunCount += 1;
    const beginning = createHash('sha256');
    const joined = { id: begunCount, count: 0, beginning, isFinishing: false, isForgotten: false };
    hashes.set(name, joined);
    return joined;
  };
  const add = async (joined: Joined, { sha256, sizeBytes }: Segment): Promise<void> => {
    for (let start = 0; start < sizeBytes && !joined.isForgotten; start += TURN_BYTES) {
      const end = Math.min(sizeBytes, start + TURN_BYTES);
      const isFirst = joined.count === 0 && start === 0;
      await thread.ask({ kind: 'add', id: joined.id, isFirst, path: pathOf(sha256), start, end });
    }
    joined.count += 1;
    joined.beginning.update(sha256);
  };
  const workAhead = async (name: string, joined: Joined, next: (index: number) => Segment | undefined) => {
    try {
      while (!joined.isFinishing && !joined.isForgotten) {
        const segment = next(joined.count);
        if (segment === undefined) break;
        await add(joined, segment);
      }
    } catch {
      // Removed meanwhile, or unreadable: whoever needs the whole will be told.
      forget(name);
    }
    joined.working = undefined;
  };
  return {
    forget,
    ahead(name, index, next) {
      const joined = hashes.get(name) ?? (index === 0 ? begin(name) : undefined);
      // Whoever is at it asks for what comes next by itself.
      if (joined === undefined || joined.working !== undefined || joined.isFinishing) return;
      hashes.delete(name);
      hashes.set(name, joined);
      joined.working = workAhead(name, joined, next);
    },
    async finish(name, segments) {
      const known = hashes.get(name);
      if (known !== undefined) {
        known.isFinishing = true;
        await known.working;
      }
      const isGood = known !== undefined && !known.isForgotten && startsWith(segments, known);
      if (!isGood) forget(name);
      const joined = isGood ? known : begin(name);
      joined.isFinishing = true;
      try {
        for (const segment of segments.slice(joined.count)) await add(joined, segment);
        return (await thread.ask({ kind: 'end', id: joined.id })) as string;
      } finally {
        forget(name);
      }
    },
    close: () => thread.close(),
  };
}

function startsWith(segments: readonly Segment[], { count, beginning }: Joined): boolean {
  const same = createHash('sha256');
  for (const { sha256 } of segments.slice(0, count)) same.update(sha256);
  return same.digest('hex') === beginning.copy().digest('hex');
}
