import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  statSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { Refusal } from '../errors.js';
import { problemOfFile } from './file-form.js';

/** Folder of the control state below the data folder. */
export const CONTROL_FOLDER = 'control';
/** LMDB's data file in that folder. */
export const CONTROL_FILE = 'data.mdb';
export const LOCK_FILE = 'lock.mdb';

/** Folders that exist beside a control state once it has been used. */
const COMPANIONS = ['objects', 'predictions', 'sql'];
const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;
const OTHERS = 0o077;
/** Size of LMDB's table of readers. Without allocated blocks, a full disk would not allow a new reader. */
const LOCK_FILE_BYTES = 3 * 4096;
/** Free space that LMDB needs to create its file. With less, it crashes instead of failing. */
const NEW_STATE_BYTES = 128 * 1024;

/**
 * Makes the folders of the control state, readable by their owner only, and checks its file before LMDB maps it.
 * Errors  Refusal `data_folder_not_writable`; `data_folder_damaged` if the file is shorter than its pages, is no LMDB
 *         file, or is missing beside bytes that it refers to
 */
export function prepareDataFolder(dataFolder: string): void {
  const control = join(dataFolder, CONTROL_FOLDER);
  const file = join(control, CONTROL_FILE);
  const lock = join(control, LOCK_FILE);
  try {
    mkdirSync(control, { recursive: true, mode: FOLDER_MODE });
    for (const path of [dataFolder, control, file]) if (existsSync(path)) accessSync(path, constants.W_OK);
    for (const [path, mode] of wronglyShared(dataFolder)) chmodSync(path, mode);
    if (!existsSync(lock))
      writeFileSync(lock, Buffer.alloc(LOCK_FILE_BYTES), { flag: 'wx', mode: FILE_MODE });
  } catch (error) {
    if (error instanceof Refusal) throw error;
    const { code } = error as NodeJS.ErrnoException;
    // Another process may make it at the same time.
    if (code !== 'EEXIST') throw notWritable(dataFolder, String(code));
  }
  if (isControlStateEmpty(dataFolder) && freeBytes(control) < NEW_STATE_BYTES) {
    throw notWritable(dataFolder, 'ENOSPC');
  }
  requireControlState(dataFolder);
}

function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

/** Errors  Refusal `data_folder_damaged` */
export function requireControlState(dataFolder: string): void {
  const problem = problemOfControlFile(dataFolder);
  if (problem !== undefined) throw damaged(dataFolder, problem);
}

/** Returns what is wrong with LMDB's file before it is mapped. A file that does not exist yet is valid. */
export function problemOfControlFile(dataFolder: string): string | undefined {
  if (!isControlStateEmpty(dataFolder)) return problemOfFile(join(dataFolder, CONTROL_FOLDER, CONTROL_FILE));
  const companion = COMPANIONS.find((name) => existsSync(join(dataFolder, name)));
  return companion && `it is empty or missing, and ${join(dataFolder, companion)} exists`;
}

/** Errors  Refusal `data_folder_not_writable` if the folder is closed to this user */
export function isControlStateEmpty(dataFolder: string): boolean {
  const file = join(dataFolder, CONTROL_FOLDER, CONTROL_FILE);
  return read(dataFolder, () => (statSync(file, { throwIfNoEntry: false })?.size ?? 0) === 0);
}

/** Files and folders that other users may read, each with the mode that it should have. */
export function wronglyShared(dataFolder: string): readonly (readonly [path: string, mode: number])[] {
  const control = join(dataFolder, CONTROL_FOLDER);
  const paths = [
    dataFolder,
    ...childrenOf(dataFolder).filter((path) =>
      [control, ...COMPANIONS.map((name) => join(dataFolder, name))].includes(path),
    ),
    ...childrenOf(control),
  ];
  return paths.flatMap((path) => {
    const stats = statSync(path, { throwIfNoEntry: false });
    if (stats === undefined || (stats.mode & OTHERS) === 0) return [];
    return [[path, stats.isDirectory() ? FOLDER_MODE : FILE_MODE] as const];
  });
}

export function damaged(dataFolder: string, why: string): Refusal {
  return new Refusal(
    'data_folder_damaged',
    `${join(dataFolder, CONTROL_FOLDER, CONTROL_FILE)} is damaged: ${why}. Move the data folder away and ` +
      'restore a backup in its place with "gloaming restore"; "gloaming fsck" lists other damage.',
  );
}

/** Reads below a folder. Errors  Refusal `data_folder_not_writable` if the folder is closed to this user */
function read<Result>(folder: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EACCES') throw error;
    throw new Refusal(
      'data_folder_not_writable',
      `${folder} belongs to another user: run the command as that user, or name folders of your own by ` +
        'GLOAMING_DATA and GLOAMING_INDEXES.',
    );
  }
}

function notWritable(dataFolder: string, code: string): Refusal {
  return new Refusal(
    'data_folder_not_writable',
    `${dataFolder} cannot be written (${code}): give this user the right to, make room, or name ` +
      'another folder by GLOAMING_DATA.',
  );
}

function childrenOf(folder: string): readonly string[] {
  if (!existsSync(folder)) return [];
  return read(folder, () => readdirSync(folder).map((name) => join(folder, name)));
}
