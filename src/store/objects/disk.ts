import { unlinkSync } from 'node:fs';
import { mkdir, open, readdir, rename, rm, statfs } from 'node:fs/promises';

/** File system functions that objects use, with the types of Node. A simulation passes one that fills up. */
export interface Disk {
  readonly mkdir: typeof mkdir;
  readonly open: typeof open;
  readonly readdir: (path: string) => Promise<string[]>;
  readonly rename: typeof rename;
  readonly rm: typeof rm;
  readonly statfs: (path: string) => Promise<{ readonly bavail: number; readonly bsize: number }>;
  /** Only inside a transaction, which is synchronous. */
  readonly unlinkSync: typeof unlinkSync;
}

export const realDisk: Disk = Object.freeze<Disk>({ mkdir, open, readdir, rename, rm, statfs, unlinkSync });
