import { closeSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ABORT, open } from 'lmdb';
import { COMPACTION_DUE_KEY, type ControlRoot } from './migrations.js';
import { CONTROL_FILE, CONTROL_FOLDER, LOCK_FILE, prepareDataFolder } from './prepare.js';
import { isStorageUnavailable } from './unavailable.js';
import { migrate, settingsOf } from './version.js';

const COPY_FOLDER = 'compacting';

/**
 * Brings the control state to the latest version and, where a migration has asked for it, puts a copy in its place that
 * holds its rows and no free pages, where secrets in clear may stand. To be called before it is opened. Whoever has it
 * open already reads on, and finds at the next write that another file stands there. A kill at any moment leaves one
 * file or the other, and the next start begins anew; so does one where the disk has no room for the copy. What the file
 * system does with the blocks of the old file is not ours.
 * Errors  those of openControlStore
 */
export async function compactIfDue(dataFolder: string): Promise<void> {
  prepareDataFolder(dataFolder);
  const folder = join(dataFolder, CONTROL_FOLDER);
  const copy = join(folder, COPY_FOLDER);
  const root = openRoot(folder);
  try {
    migrate(root, dataFolder);
    rmSync(copy, { recursive: true, force: true });
    if (settingsOf(root).get(COMPACTION_DUE_KEY) === undefined) return;
    const commit = commitNumber(root);
    await mkdir(copy, { mode: 0o700 });
    await root.backup(copy, true);
    await markDone(copy);
    putInPlace(root, commit, folder);
  } catch (error) {
    if (!isStorageUnavailable(error)) throw error;
  } finally {
    await root.close();
    rmSync(copy, { recursive: true, force: true });
  }
  prepareDataFolder(dataFolder);
}

function openRoot(path: string): ControlRoot {
  return open({ path, maxDbs: 64, encoding: 'json', overlappingSync: false });
}

async function markDone(copy: string): Promise<void> {
  const root = openRoot(copy);
  root.transactionSync(() => settingsOf(root).removeSync(COMPACTION_DUE_KEY));
  await root.close();
}

/** Replaces the file within a transaction, which excludes other writers. Does nothing after a write since the copy. */
function putInPlace(root: ControlRoot, copiedCommit: number, folder: string): void {
  root.transactionSync(() => {
    if (commitNumber(root) !== copiedCommit) return ABORT;
    const file = join(folder, COPY_FOLDER, CONTROL_FILE);
    sync(file);
    // Commits of the copy are counted anew: it must not share the table of readers.
    rmSync(join(folder, LOCK_FILE), { force: true });
    renameSync(file, join(folder, CONTROL_FILE));
    sync(folder);
    return ABORT;
  });
}

function commitNumber(root: ControlRoot): number {
  return (root.getStats() as { readonly lastTxnId: number }).lastTxnId;
}

function sync(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
