import { Refusal } from '../errors.js';
import { openBuildFolder, type BuildFolder } from './build-folder.js';
import { lockFolder } from '../processes.js';

/**
 * Runs a build in its folder, under a lock that excludes other processes.
 * Errors  Refusal `build_running`, `disk_full`; errors of the file system; those of `work`
 * @param identity  all inputs and options that the bytes of the release depend on
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
    `The disk of ${folder} is full. Free some space and run the same command again, which resumes the build.`,
  );
}
