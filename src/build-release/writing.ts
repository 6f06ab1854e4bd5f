import { access, constants } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Refusal } from '../errors.js';

/**
 * Runs work that writes below a folder. The folder need not exist yet.
 * Errors  Refusal `disk_full`; Refusal `indexes_not_writable` for a folder that is read-only or of another user; other
 *         errors of `work` and of the file system
 */
export async function writing<Result>(folder: string, work: () => Promise<Result>): Promise<Result> {
  try {
    // A recursive mkdir on a read-only file system fails with ENOENT, which says nothing of the cause.
    await requireWritable(folder);
    return await work();
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'ENOSPC' || code === 'EDQUOT') {
      throw new Refusal(
        'disk_full',
        `The disk of ${folder} is full. Free some space and run the same command again: finished parts of a build, a ` +
          'calibration or neighbours are kept.',
      );
    }
    throw code === 'EROFS' ? notWritable(folder, code) : cause;
  }
}

/** Checks the folder, or the nearest one above it that exists. */
async function requireWritable(folder: string): Promise<void> {
  try {
    await access(folder, constants.W_OK);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT' && dirname(folder) !== folder) return requireWritable(dirname(folder));
    throw code === 'EROFS' || code === 'EACCES' ? notWritable(folder, code) : cause;
  }
}

function notWritable(folder: string, code: string): Refusal {
  return new Refusal(
    'indexes_not_writable',
    `${folder} cannot be written (${code}): mount it writable, run the command as its owner, or name another folder ` +
      'by GLOAMING_INDEXES.',
  );
}
