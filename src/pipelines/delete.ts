import { readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { readBuildSources } from '../build-release/build-folder.js';
import { writing } from '../build-release/writing.js';
import { REMOVED_PREFIX, releaseDirectory, type FoundRelease } from '../release/catalog.js';
import { syncFolder } from '../durable.js';
import type { IndexCatalog, LocatedRelease } from './catalog.js';

/** Deletes releases with their evidence. Errors  those of the control store and of `writing` */
export async function deleteReleases(
  { table }: Pick<IndexCatalog, 'table'>,
  releases: readonly LocatedRelease[],
): Promise<void> {
  for (const release of releases)
    await writing(dirname(release.directory), () => deleteRelease(table, release));
}

async function deleteRelease(
  table: IndexCatalog['table'],
  { slug, id, directory }: LocatedRelease,
): Promise<void> {
  // After the rename the release is gone, even if this process is killed before it updates the catalog.
  const away = join(dirname(directory), `${REMOVED_PREFIX}${basename(directory)}`);
  if (await moveAway(directory, away)) await syncFolder(dirname(directory));
  await table.remove(id, slug);
  await rm(away, { recursive: true, force: true });
  await removeSidecars(directory);
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

/** Removes the evidence of a release: folders `<release id>.<kind>` beside it. */
async function removeSidecars(directory: string): Promise<void> {
  for (const name of await readdir(dirname(directory)).catch(() => [])) {
    if (!name.startsWith(`${basename(directory)}.`)) continue;
    await rm(join(dirname(directory), name), { recursive: true });
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
