import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach } from 'vitest';
import { openControlStore, type ControlStore } from '#src/store/control-store.js';
import type { ControlRoot } from '#src/store/migrations.js';

export interface ScratchStore {
  store: ControlStore;
  folder: string;
  /** Whether transactions are rolled back after their work, as on a disk that accepts no commit. */
  isRefusing: boolean;
}

/** An empty control store for each test of the file. */
export function useScratchStore(): ScratchStore {
  const scratch = {} as ScratchStore;
  const through = (root: ControlRoot): ControlRoot => {
    const transact = root.childTransaction.bind(root) as <Result>(work: () => Result) => Promise<Result>;
    const refusing = <Result>(work: () => Result): Promise<Result> =>
      transact(() => {
        const result = work();
        if (scratch.isRefusing) throw new Error('The commit was refused.');
        return result;
      });
    return Object.assign(root, { childTransaction: refusing });
  };
  beforeEach(() => {
    scratch.folder = mkdtempSync(join(tmpdir(), 'gloaming-table-'));
    scratch.isRefusing = false;
    scratch.store = openControlStore(scratch.folder, { through });
  });
  afterEach(async () => {
    await scratch.store.close();
    rmSync(scratch.folder, { recursive: true });
  });
  return scratch;
}
