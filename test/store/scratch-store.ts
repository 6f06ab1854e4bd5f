import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach } from 'vitest';
import { openControlStore, type ControlStore } from '#src/store/control-store.js';

export interface ScratchStore {
  store: ControlStore;
}

/** An empty control store for each test of the file. */
export function useScratchStore(): ScratchStore {
  const scratch = {} as ScratchStore;
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'gloaming-table-'));
    scratch.store = openControlStore(folder);
  });
  afterEach(async () => {
    await scratch.store.close();
    rmSync(folder, { recursive: true });
  });
  return scratch;
}
