import { Refusal } from '../errors.js';
import { openBuildFolder, type BuildFolder } from './build-folder.js';
import { lockFolder } from '../processes.js';

/**
 * Does the work of a build in its own folder, as the only process there.
 * @param identity  all that the release's bytes depend on
 * Errors  Refusal `build_running`, `disk_full`; those of the work
 */
export async function inBuildFolder<Result>(
  databaseFolder: string,
  identity: unknown,
  work: (folder: BuildFolder) => Promise<Result>,
): Promise<Result> {
  try {
    const folder = await openBuildFolder(databaseFolder, identity);
    const unlock = await lockFolder(folder.path);
    try {
      return await work(folder);
    } finally {
      await unlock();
    }
  } catch (cause) {
    throw explainFullDisk(cause, databaseFolder);
  }
}

function explainFullDisk(cause: unknown, folder: string): unknown {
  const code = (cause as NodeJS.ErrnoException).code;
  if (code !== 'ENOSPC' && code !== 'EDQUOT') return cause;
  return new Refusal(
    'disk_full',
    `The disk that holds ${folder} is full. What is done is kept: ` +
      'free some space and run the same command again.',
  );
}
