import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Refusal } from '../../errors.js';
import { syncFolder } from '../../files.js';
import { hashFile } from '../../release/hashed-file.js';
import { CONTROL_FOLDER } from '../../store/prepare.js';
import { SECRET_KEY_FILE } from '../../store/secret-key.js';
import { copyFile, pathIn } from './bytes.js';
import { readManifest, type BackupFile } from './manifest.js';

interface RestoreOptions {
  readonly folders: { readonly dataFolder: string; readonly indexesFolder: string };
  readonly source: string;
  readonly onBytes?: (bytes: number, totalBytes: number) => void;
}

interface RestoreReport {
  /** When the backup was made. */
  readonly createdAt: string;
  readonly fileCount: number;
  readonly sizeBytes: number;
  /** Number of files of the indexes folder that existed already with the same bytes. */
  readonly knownCount: number;
}

/** Staging folder below each target folder until all files are restored. */
export const RESTORING_FOLDER = '.restoring';

/**
 * Restores a backup to the place of a lost appliance. Every byte is copied and checked against its digest before a file
 * is moved to its place. The control state is moved last and makes the other files effective. The same call resumes an
 * interrupted restore.
 * Errors  Refusal `backup_not_found`, `backup_damaged`; `data_folder_not_empty`; `restore_conflict` if the indexes
 *         folder holds other bytes under a name of the backup; then nothing has changed
 */
export async function restore({
  folders,
  source,
  onBytes = () => undefined,
}: RestoreOptions): Promise<RestoreReport> {
  const manifest = await readManifest(source);
  await requireEmpty(folders.dataFolder);
  const places = { data: folders.dataFolder, indexes: folders.indexesFolder };
  const missing: BackupFile[] = [];
  for (const file of manifest.files) if (!(await isInPlace(file, folders.indexesFolder))) missing.push(file);
  const totalBytes = missing.reduce((sum, { size_bytes }) => sum + size_bytes, 0);
  for (const file of missing) await stage(source, file, places, (bytes) => onBytes(bytes, totalBytes));
  await switchFolder(folders.indexesFolder);
  await switchFolder(folders.dataFolder);
  const sizeBytes = manifest.files.reduce((sum, { size_bytes }) => sum + size_bytes, 0);
  const fileCount = manifest.files.length;
  return { createdAt: manifest.created_at, fileCount, sizeBytes, knownCount: fileCount - missing.length };
}

async function requireEmpty(dataFolder: string): Promise<void> {
  const entries = await readdir(dataFolder).catch((): string[] => []);
  const isBegun = entries.includes(RESTORING_FOLDER);
  // The control state comes last, so no process uses the files of an interrupted restore. The appliance's key, which
  // no backup holds, may exist before.
  const others = entries.filter(
    (name) => name !== RESTORING_FOLDER && name !== SECRET_KEY_FILE && !(isBegun && name !== CONTROL_FOLDER),
  );
  if (others.length === 0) return;
  throw new Refusal(
    'data_folder_not_empty',
    `${dataFolder} is not empty (${others.slice(0, 3).join(', ')}). Move it away, or name another by GLOAMING_DATA.`,
  );
}

/** Whether the indexes folder has the file already. Errors  Refusal `restore_conflict`; those of the file system */
async function isInPlace(
  { path, size_bytes: sizeBytes, sha256 }: BackupFile,
  indexesFolder: string,
): Promise<boolean> {
  if (!path.startsWith('indexes/')) return false;
  const place = join(indexesFolder, path.slice('indexes/'.length));
  const stats = await stat(place).catch(() => undefined);
  if (stats === undefined) return false;
  if (stats.size === sizeBytes && (await hashFile(place)).sha256 === sha256) return true;
  throw new Refusal(
    'restore_conflict',
    `${place} has other bytes than in the backup. Move it away, or name another folder by GLOAMING_INDEXES.`,
  );
}

async function stage(
  source: string,
  { path, size_bytes: sizeBytes, sha256 }: BackupFile,
  places: Readonly<Record<'data' | 'indexes', string>>,
  onBytes: (bytes: number) => void,
): Promise<void> {
  const [kind, ...rest] = path.split('/');
  const folder = places[kind as 'data' | 'indexes'];
  const target = join(folder, RESTORING_FOLDER, ...rest);
  await mkdir(dirname(target), { recursive: true, ...(kind === 'data' && { mode: 0o700 }) });
  const outcome = await copyFile(pathIn(source, sha256), target, { sha256, sizeBytes }, onBytes);
  if (outcome === 'copied') return;
  throw new Refusal(
    'backup_damaged',
    `The backup is damaged: the bytes of ${path} (${sha256}) are ${outcome}. Nothing was put in place.`,
  );
}

/** Moves staged files to their places, the control state last, which makes the others effective. */
async function switchFolder(folder: string): Promise<void> {
  const staged = join(folder, RESTORING_FOLDER);
  const names = await readdir(staged).catch(() => []);
  const inOrder = [
    ...names.filter((name) => name !== CONTROL_FOLDER),
    ...names.filter((name) => name === CONTROL_FOLDER),
  ];
  for (const name of inOrder) {
    await moveInto(join(staged, name), join(folder, name));
    await syncFolder(folder);
  }
  await rm(staged, { recursive: true, force: true });
}

/** Moves an absent folder as a whole, by one rename. Adds missing files to an existing folder. */
async function moveInto(staged: string, place: string): Promise<void> {
  const present = await stat(place).catch(() => undefined);
  if (!present?.isDirectory()) return rename(staged, place);
  for (const name of await readdir(staged)) await moveInto(join(staged, name), join(place, name));
  await syncFolder(place);
}
