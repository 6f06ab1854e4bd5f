import { rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { readBuildSources } from '../build-release/build-folder.js';
import { writing } from '../build-release/writing.js';
import {
  completeRemoval,
  releaseDirectory,
  removedDirectory,
  type FoundRelease,
} from '../release/catalog.js';
import { Refusal } from '../errors.js';
import { syncFolder } from '../files.js';
import type { Traces } from '../services/reply.js';
import { shortId, type IndexCatalog, type LocatedRelease } from './catalog.js';
import { lockMeasurements } from './measure.js';

/**
 * Deletes releases with their evidence.
 * Errors  Refusal before anything is deleted: `release_in_use` of refuseUnfinishedRuns, `build_running` while one of
 *         them is measured; those of the control store and of `writing`
 */
export async function deleteReleases(
  { table, runs }: Pick<IndexCatalog, 'table' | 'runs'>,
  releases: readonly LocatedRelease[],
): Promise<void> {
  const unlocks: (() => Promise<void>)[] = [];
  try {
    for (const release of releases)
      unlocks.push(await writing(dirname(release.directory), () => lockMeasurements(release)));
    refuseUnfinishedRuns({ runs }, releases);
    for (const release of releases)
      await writing(dirname(release.directory), () => deleteRelease(table, release));
  } finally {
    for (const unlock of unlocks) await unlock();
  }
}

async function deleteRelease(
  table: IndexCatalog['table'],
  { slug, id, directory }: LocatedRelease,
): Promise<void> {
  // After the rename the release is gone, even if this process is killed before it updates the catalog.
  const removed = removedDirectory(directory);
  if (await moveAway(directory, removed)) await syncFolder(dirname(directory));
  await table.remove(id, slug);
  await completeRemoval(removed);
}

/**
 * Returns a release that stays and whose homolog source is this one. The catalog knows the source of a release whose
 * files are damaged or not mounted, too.
 * @param going  all releases that are deleted together
 */
export function homologSourceUser(
  { config, table, scanned }: IndexCatalog,
  { id }: LocatedRelease,
  going: readonly LocatedRelease[],
): Pick<FoundRelease, 'slug' | 'id'> | undefined {
  const deleted = new Set(going.map(({ directory }) => directory));
  const stays = (directory: string): boolean => !deleted.has(directory);
  if (scanned.releases.some((other) => other.id === id && stays(other.directory))) return undefined;
  return table.allReleases().find((row) => {
    const source = row.manifest.relatives?.background;
    const isUser = source?.method === 'search' && source.release_id === id;
    return isUser && stays(releaseDirectory(config.indexesFolder, row.slug, row.id));
  });
}

/**
 * Returns the releases that running and interrupted builds need to their end: of each id, the database that is built.
 * Errors  errors of the file system
 */
export async function sourcesOfBuilds({
  scanned,
}: Pick<IndexCatalog, 'scanned'>): Promise<ReadonlyMap<string, string>> {
  const users = new Map<string, string>();
  for (const { slug, directory } of scanned.unfinished) {
    for (const id of await readBuildSources(directory)) users.set(id, slug);
  }
  return users;
}

/** Ids of the queued and running runs of the server by the release that they search. */
export function runsOfReleases({ runs }: Pick<IndexCatalog, 'runs'>): ReadonlyMap<string, readonly string[]> {
  const users = new Map<string, readonly string[]>();
  for (const { id, traces } of runs.unfinished()) {
    for (const { version } of (traces as Traces | undefined)?.databaseSnapshots ?? [])
      users.set(version, [...(users.get(version) ?? []), id]);
  }
  return users;
}

/** Errors  Refusal `release_in_use` that names a queued or running run of one of the releases */
export function refuseUnfinishedRuns(
  catalog: Pick<IndexCatalog, 'runs'>,
  releases: readonly LocatedRelease[],
): void {
  const users = runsOfReleases(catalog);
  for (const { slug, id } of releases) {
    const [first, ...others] = users.get(id) ?? [];
    if (first === undefined) continue;
    const more = others.length === 0 ? '' : ` and ${others.length} more`;
    throw new Refusal(
      'release_in_use',
      `${slug} ${shortId(id)} is searched by the unfinished run ${first}${more}: wait until the end, or cancel with ` +
        `"gloaming runs cancel ${first}".`,
    );
  }
}

/** Returns false where the files are already gone. */
async function moveAway(directory: string, away: string): Promise<boolean> {
  try {
    await rename(directory, away);
    return true;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw cause;
  }
}
