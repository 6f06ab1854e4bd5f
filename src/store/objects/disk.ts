import { unlinkSync } from 'node:fs';
import { mkdir, open, readdir, rename, rm, statfs } from 'node:fs/promises';

/** What objects ask of the file system, as Node gives it; a simulation has one that fills up. */
export interface Disk {
  readonly mkdir: typeof mkdir;
  readonly open: typeof open;
  readonly readdir: (path: string) => Promise<string[]>;
  readonly rename: typeof rename;
  readonly rm: typeof rm;
  readonly statfs: (path: string) => Promise<{ readonly bavail: number; readonly bsize: number }>;
  /** Only inside a transaction, which waits for nothing. */
  readonly unlinkSync: typeof unlinkSync;
}

export const realDisk: Disk = Object.freeze<Disk>({ mkdir, open, readdir, rename, rm, statfs, unlinkSync });
