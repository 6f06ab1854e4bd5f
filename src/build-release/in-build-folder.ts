import { dirname } from 'node:path';
import { Refusal } from '../errors.js';
import { openBuildFolder, writeState, type BuildFolder, type BuildSources } from './build-folder.js';
import { lockFolder } from '../processes.js';
import { scanReleases } from '../release/catalog.js';
import { writing } from './writing.js';

/**
 * Runs a build in its folder, under a lock that excludes other processes.
 * Errors  Refusal `build_running`, `background_not_found` where a source is deleted; those of `writing`
 * @param identity  all inputs and options that the bytes of the release depend on
 * @param sources  ids of the releases that the build needs to its end
 */
export async function inBuildFolder<Result>(
  databaseFolder: string,
  identity: unknown,
  sources: readonly string[],
  work: (folder: BuildFolder) => Promise<Result>,
): Promise<Result> {
  return writing(databaseFolder, async () => {
    const folder = await openBuildFolder(databaseFolder, identity);
    const unlock = await lockFolder(folder.path);
    try {
      const noted: BuildSources = { release_ids: sources };
      await writeState(folder.sources, noted);
      // A removal that began before the note does not know of this build.
      await requireSources(dirname(databaseFolder), sources);
      return await work(folder);
    } finally {
      await unlock();
    }
  });
}

/**
 * Refuses a build whose source is deleted: its release would name a source that nothing has.
 * @param sources  ids of releases
 * Errors  Refusal `background_not_found`; errors of the file system
 */
export async function requireSources(indexesFolder: string, sources: readonly string[]): Promise<void> {
  if (sources.length === 0) return;
  const { releases } = await scanReleases(indexesFolder);
  const missing = sources.find((source) => !releases.some(({ id }) => id === source));
  if (missing === undefined) return;
  throw new Refusal(
    'background_not_found',
    `The release ${missing}, which this build reads, was deleted or damaged meanwhile: build that one again first.`,
  );
}
