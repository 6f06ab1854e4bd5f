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
 * Migrates the control state to the latest version. If a migration has requested it, then replaces the file by a copy
 * without free pages, which may contain secrets in clear. Must be called before the control state is opened. A process
 * that has it open continues to read, and finds at its next write that the file was replaced. A kill at any moment
 * leaves one file or the other, and the next start repeats the work. The next start also repeats it if the disk has no
 * space for the copy. The old file's blocks are not erased.
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

/** Replaces the file within a transaction, which excludes other writers. No-op after a write since the copy. */
function putInPlace(root: ControlRoot, copiedCommit: number, folder: string): void {
  root.transactionSync(() => {
    if (commitNumber(root) !== copiedCommit) return ABORT;
    const file = join(folder, COPY_FOLDER, CONTROL_FILE);
    sync(file);
    // The copy counts its commits from the start, so it must not share the table of readers.
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
