import * as fs from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import type { ControlRoot } from '../../src/store/migrations.js';
import type { Disk } from '../../src/store/objects/disk.js';
import { bound, Mirror } from './mirror.js';
import type { Life, Timeline } from './world.js';

/** When a pending kill happens: before a commit, or after the commit and before its acknowledgement. */
export type KillPoint = 'before commit' | 'after commit';

/** Rolls back a transaction on a full disk. */
const FULL = new Error('The simulated disk is full.');

/**
 * The disk of the simulated machine, below a folder in memory. The disk outlives the server, fills up, and decides when
 * commits and file operations end. A kill loses no written byte, because power failures are not simulated.
 */
export class SimulatedDisk {
  readonly #timeline: Timeline;
  /** Content of the control store. */
  readonly mirror = new Mirror();
  isFull = false;
  /** The kill that happens at the next commit. */
  killAt: { readonly point: KillPoint; readonly kill: () => Promise<void> } | undefined;
  commitCount = 0;
  /** Called after each commit. */
  onCommit: () => void = () => undefined;

  constructor(timeline: Timeline) {
    this.#timeline = timeline;
  }

  /** File system of one life of the server. */
  filesOf(life: Life): Disk {
    const later = <Result>(label: string, produce: () => Result): Promise<Result> =>
      life.later(this.#timeline.between(0.01, 2), label, produce);
    const write = <Result>(label: string, produce: () => Result): Promise<Result> =>
      later(label, () => {
        if (this.isFull) throw noSpace(label);
        return produce();
      });
    return {
      mkdir: ((path: string, options: fs.MakeDirectoryOptions) =>
        write('mkdir', () => fs.mkdirSync(path, options))) as Disk['mkdir'],
      open: ((path: string, flags: string, mode?: number) =>
        (flags === 'r' ? later : write)('open', () =>
          handleOf(fs.openSync(path, flags, mode), later, write),
        )) as Disk['open'],
      readdir: (path) => later('readdir', () => fs.readdirSync(path).sort()),
      rename: ((from: string, to: string) =>
        later('rename', () => fs.renameSync(from, to))) as Disk['rename'],
      rm: ((path: string, options: fs.RmOptions) =>
        later('rm', () => fs.rmSync(path, options))) as Disk['rm'],
      statfs: () => later('statfs', () => ({ bavail: this.isFull ? 0 : 1 << 20, bsize: 4_096 })),
      unlinkSync: fs.unlinkSync,
    };
  }

  /** LMDB with sequential commits at times of the timeline. Each acknowledgement follows a moment after its commit. */
  commitsOf(life: Life, root: ControlRoot): ControlRoot {
    let freeAtMs = 0;
    const commit = <Result>(work: () => Result): Promise<Result> => {
      freeAtMs = Math.max(freeAtMs, this.#timeline.nowMs) + this.#timeline.between(0.05, 4);
      const waitMs = freeAtMs - this.#timeline.nowMs;
      return new Promise((resolve, reject) => {
        this.#timeline.after(waitMs, 'commit', async () => {
          if (!life.isAlive || (await this.#isKilled('before commit'))) return;
          const outcome = this.#commit(root, work);
          if ('result' in outcome) this.onCommit();
          if (await this.#isKilled('after commit')) return;
          this.#timeline.after(this.#timeline.between(0.01, 1), 'committed', () => {
            if (!life.isAlive) return;
            if ('error' in outcome) reject(outcome.error === FULL ? commitFailure() : outcome.error);
            else resolve(outcome.result);
          });
        });
      });
    };
    return bound(this.mirror.watch(root), (name) => (name === 'childTransaction' ? commit : undefined));
  }

  #commit<Result>(root: ControlRoot, work: () => Result): { result: Result } | { error: unknown } {
    const isFull = this.isFull;
    try {
      const result = root.transactionSync(() => {
        const value = work();
        if (isFull) throw FULL;
        return value;
      });
      this.commitCount += 1;
      return { result };
    } catch (error) {
      return { error };
    }
  }

  async #isKilled(point: KillPoint): Promise<boolean> {
    if (this.killAt?.point !== point) return false;
    const { kill } = this.killAt;
    this.killAt = undefined;
    this.#timeline.note(`killed ${point}`);
    await kill();
    return true;
  }
}

type Later = <Result>(label: string, produce: () => Result) => Promise<Result>;

/** The part of a file handle that objects use. */
function handleOf(file: number, later: Later, write: Later): FileHandle {
  const handle = {
    write: (bytes: Buffer, offset: number, length: number) =>
      write('write', () => ({ bytesWritten: fs.writeSync(file, bytes, offset, length) })),
    read: (buffer: Buffer, offset: number, length: number, position: number) =>
      later('read', () => ({ bytesRead: fs.readSync(file, buffer, offset, length, position) })),
    sync: () => later('sync', () => undefined),
    close: () => later('close', () => fs.closeSync(file)),
  };
  return handle as unknown as FileHandle;
}

/** The error that Node throws on a full disk. */
function noSpace(syscall: string): Error {
  const message = `ENOSPC: no space left on device, ${syscall}`;
  return Object.assign(new Error(message), { code: 'ENOSPC', errno: -28, syscall });
}

/** The error that lmdb throws. Its cause is a separate promise that rejects a turn later, even without a listener. */
function commitFailure(): Error {
  const cause = Object.assign(new Error('No space left on device'), { code: 28 });
  const commitError = new Promise<never>((_resolve, reject) => void setImmediate(reject, cause));
  return Object.assign(new Error('Commit failed (see commitError for details)'), { commitError });
}
