import { mkdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { lockFolder } from '../../processes.js';
import type { EncoderFolders } from '../../encoder/find.js';
import { Refusal } from '../../errors.js';
import { hashFile } from '../../release/hashed-file.js';
import { checkedRows } from '../../store/check/rows.js';
import { CONTROL_FOLDER } from '../../store/prepare.js';
import { OBJECTS_FOLDER } from '../../store/objects/objects.js';
import { openSnapshot, type Snapshot } from '../../store/snapshot.js';
import { BackupBytes, INCOMING_FOLDER } from './bytes.js';
import { listIndexFiles, unlistedIndexFiles, type SourceFile } from './indexes.js';
import { writeManifest, type BackupFile } from './manifest.js';

interface BackupReport {
  readonly fileCount: number;
  readonly sizeBytes: number;
  readonly copiedCount: number;
  readonly copiedBytes: number;
  /** Number of removed files, which only earlier backups needed. */
  readonly removedCount: number;
}

interface BackupOptions {
  readonly folders: EncoderFolders & { readonly dataFolder: string };
  readonly target: string;
  readonly now: Date;
  /** Also reads and verifies files that earlier backups copied. */
  readonly isVerifying?: boolean;
  readonly onBytes?: (bytes: number) => void;
}

/** Bound on retries after bytes were deleted between the copy of the control state and their own copy. */
const ATTEMPTS = 8;
const DATABASE_FILE = 'data.mdb';

/**
 * Copies everything that an appliance cannot recreate: control state, stored bytes, releases, calibrations, encoders. A
 * server may be running: the control state is copied as a snapshot, and then all bytes that it refers to. If some were
 * deleted meanwhile, the control state is copied again. Existing content of the target is not copied again. An
 * interrupted backup can be resumed, and the earlier backup stays valid until the last rename.
 * Errors  Refusal `data_folder_empty`; `build_running` where another backup writes into the target;
 *         `backup_source_damaged` naming what cannot be backed up, such as a release of the catalog that has lost its
 *         files, its calibration or its encoder. The earlier backup stays
 */
export async function backup(options: BackupOptions): Promise<BackupReport> {
  const { folders, target, now, isVerifying = false } = options;
  const snapshot = await openSnapshot(folders.dataFolder);
  try {
    await mkdir(join(target, INCOMING_FOLDER), { recursive: true, mode: 0o700 });
    const unlock = await lockFolder(target, 'Another backup is being written there');
    try {
      const bytes = new BackupBytes(target, isVerifying);
      const copy = new Copier(bytes, options.onBytes);
      // Copies most of the bytes before the snapshot, so that few can be deleted between snapshot and copy.
      for (const file of objectsOf(snapshot, folders.dataFolder)) await copy.take(file);
      const files = await copyMoment(snapshot, copy, options);
      await bytes.sync();
      await writeManifest(target, { created_at: now.toISOString(), files });
      const removedCount = await bytes.keepOnly(new Set(files.map(({ sha256 }) => sha256)));
      const sizeBytes = files.reduce((sum, { size_bytes }) => sum + size_bytes, 0);
      return { fileCount: files.length, sizeBytes, ...copy.total, removedCount };
    } finally {
      await unlock();
    }
  } finally {
    await snapshot.close();
  }
}

/** Copies the control state of one moment with everything that it refers to. */
async function copyMoment(
  live: Snapshot,
  copy: Copier,
  { folders, target }: BackupOptions,
): Promise<readonly BackupFile[]> {
  let missing: readonly string[] = [];
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const moment = join(target, INCOMING_FOLDER, 'moment');
    const control = join(moment, CONTROL_FOLDER);
    await rm(moment, { recursive: true, force: true });
    await live.copyTo(control);
    const snapshot = await openSnapshot(moment);
    try {
      const indexes = await listIndexFiles(folders);
      const sources = [...objectsOf(snapshot, folders.dataFolder), ...indexes.files];
      const files: (BackupFile | undefined)[] = [];
      for (const source of sources) files.push(await copy.take(source));
      missing = [
        ...unlistedIndexFiles(snapshot, indexes.files),
        ...indexes.damaged,
        ...sources.filter((_, index) => files[index] === undefined).map(({ path }) => path),
      ];
      if (missing.length > 0) continue;
      const path = `data/${CONTROL_FOLDER}/${DATABASE_FILE}`;
      const state = await copy.take({ path, source: join(control, DATABASE_FILE) });
      return [...files, state].map((file) => file as BackupFile);
    } finally {
      await snapshot.close();
    }
  }
  throw new Refusal(
    'backup_source_damaged',
    `${missing.length} files are missing or changed, so that no complete backup can be made: ` +
      `${missing.slice(0, 5).join(', ')}${missing.length > 5 ? ' …' : ''}. "gloaming fsck" says what repairs them.`,
  );
}

function objectsOf(snapshot: Snapshot, dataFolder: string): readonly SourceFile[] {
  const rows = checkedRows(snapshot).of<{ sizeBytes: number }>('objects');
  return [...rows].map(([sha256, { sizeBytes }]) => {
    const place = join(OBJECTS_FOLDER, sha256.slice(0, 2), sha256);
    return { path: `data/${place}`, source: join(dataFolder, place), bytes: { sha256, sizeBytes } };
  });
}

/** Copies files into the backup and counts the copied bytes. */
class Copier {
  readonly #bytes: BackupBytes;
  readonly #onBytes: (bytes: number) => void;
  #copiedCount = 0;
  #copiedBytes = 0;

  constructor(bytes: BackupBytes, onBytes: (bytes: number) => void = () => undefined) {
    this.#bytes = bytes;
    this.#onBytes = onBytes;
  }

  get total(): Pick<BackupReport, 'copiedCount' | 'copiedBytes'> {
    return { copiedCount: this.#copiedCount, copiedBytes: this.#copiedBytes };
  }

  /** undefined if the source is missing or its bytes do not have the expected digest. */
  async take({ path, source, bytes: contents }: SourceFile): Promise<BackupFile | undefined> {
    const named = contents ?? (await nameOf(source));
    if (named === undefined) return undefined;
    const outcome = await this.#bytes.put(source, named, this.#onBytes);
    if (outcome === 'missing' || outcome === 'changed') return undefined;
    if (outcome === 'copied') {
      this.#copiedCount += 1;
      this.#copiedBytes += named.sizeBytes;
    }
    return { path, size_bytes: named.sizeBytes, sha256: named.sha256 };
  }
}

async function nameOf(source: string): Promise<SourceFile['bytes']> {
  if ((await stat(source).catch(() => undefined)) === undefined) return undefined;
  return hashFile(source);
}
