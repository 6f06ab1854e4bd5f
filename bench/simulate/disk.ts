import * as fs from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import type { ControlRoot } from '../../src/store/migrations.js';
import type { Disk } from '../../src/store/objects/disk.js';
import { bound, Mirror } from './mirror.js';
import type { Life, Timeline } from './world.js';

/** Where the next kill waits: at a commit, before it or before it is heard of. */
export type KillPoint = 'before commit' | 'after commit';

/** Takes back the transaction that a full disk refuses. */
const FULL = new Error('The simulated disk is full.');

/**
 * The one disk of the simulated machine, below a folder in memory. It outlives the server, it fills up, and it decides
 * when commits and file operations end. A kill loses no byte that was written: power does not fail here.
 */
export class SimulatedDisk {
  readonly #timeline: Timeline;
  /** What the control store holds. */
  readonly mirror = new Mirror();
  isFull = false;
  /** Told at the next commit. */
  killAt: { readonly point: KillPoint; readonly kill: () => Promise<void> } | undefined;
  commitCount = 0;
  /** Told after each commit. */
  onCommit: () => void = () => undefined;

  constructor(timeline: Timeline) {
    this.#timeline = timeline;
  }

  /** The file system as a server sees it during its life. */
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

  /** LMDB whose commits happen one after the other, at times of the timeline, each heard of a moment later. */
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

/** As much of a file handle as objects use. */
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

/** As Node tells it. */
function noSpace(syscall: string): Error {
  const message = `ENOSPC: no space left on device, ${syscall}`;
  return Object.assign(new Error(message), { code: 'ENOSPC', errno: -28, syscall });
}

/** As lmdb tells it: the cause is a promise of its own, which rejects a turn later whether anybody listens or not. */
function commitFailure(): Error {
  const cause = Object.assign(new Error('No space left on device'), { code: 28 });
  const commitError = new Promise<never>((_resolve, reject) => void setImmediate(reject, cause));
  return Object.assign(new Error('Commit failed (see commitError for details)'), { commitError });
}
