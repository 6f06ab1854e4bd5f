import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readSync, rmSync, truncateSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** A real file system of a few mebibytes, mounted for the processes that are started through it only. */
export interface SmallDisk {
  /** Path for those processes. */
  readonly folder: string;
  /** Path for this process. */
  readonly seen: string;
  /** Fills the disk, except for a given number of bytes. */
  fill(): void;
  free(): void;
  spawn(argv: readonly string[], environment: NodeJS.ProcessEnv): ChildProcess;
  end(): void;
}

/** Whether this machine allows private mounts. */
export const CAN_MOUNT =
  spawnSync('unshare', ['-rm', 'sh', '-c', 'mount -t tmpfs none /mnt && which nsenter']).status === 0;

export async function mountSmallDisk(mebibytes: number): Promise<SmallDisk> {
  const folder = mkdtempSync(join(tmpdir(), 'gloaming-disk-'));
  const script = `mount -t tmpfs -o size=${mebibytes}m none ${folder} && echo mounted && exec sleep 3600`;
  const holder = spawn('unshare', ['-rm', 'sh', '-c', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(createInterface({ input: holder.stdout }), 'line');
  const seen = join(`/proc/${holder.pid}/root`, folder);
  const filler = join(seen, 'filler');
  return {
    folder,
    seen,
    fill() {
      const descriptor = openSync(filler, 'a');
      const block = Buffer.alloc(1 << 16);
      try {
        while (writeSync(descriptor, block) > 0);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      } finally {
        closeSync(descriptor);
      }
    },
    free: () => rmSync(filler, { force: true }),
    spawn: (argv, environment) =>
      spawn('nsenter', ['-t', String(holder.pid), '-U', '-m', '--preserve-credentials', ...argv], {
        env: environment,
        stdio: ['ignore', 'pipe', 'pipe'],
      }),
    end() {
      holder.kill('SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export const SERVER = fileURLToPath(new URL('../tools/served-appliance.mjs', import.meta.url));

/** Shrinks the reserve of a control state to these bytes, as if the disk had been full for long. */
export function cutReserve(file: string, leftBytes: number): void {
  const pages = Buffer.alloc(16);
  const descriptor = openSync(file, 'r+');
  let lastPage = 0n;
  for (const meta of [0, 4096]) {
    readSync(descriptor, pages, 0, 8, meta + 144);
    const mark = pages.readBigUInt64LE();
    if (mark > lastPage) lastPage = mark;
  }
  closeSync(descriptor);
  truncateSync(file, (Number(lastPage) + 1) * 4096 + leftBytes);
}
