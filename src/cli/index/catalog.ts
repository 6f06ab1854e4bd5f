import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { loadConfig, type ApplianceConfig } from '../../config.js';
import { Refusal } from '../../errors.js';
import {
  besideDefaultMark,
  releaseDirectory,
  scanReleases,
  type FoundRelease,
  type ScannedReleases,
} from '../../release/catalog.js';
import { MANIFEST_FILE } from '../../release/format.js';
import type { ReleaseManifest } from '../../release/release.js';
import { openControlStore } from '../../store/control-store.js';
import { requireSoundControlState } from '../../store/probe.js';
import { releaseEvents } from '../../store/tables/release-events.js';
import { ReleaseTable, type ReleaseRow } from '../../store/tables/releases.js';
import type { CommandContext } from '../terminal/command.js';

/** What the index commands work with. */
export interface IndexCatalog {
  readonly config: ApplianceConfig;
  readonly table: ReleaseTable<ReleaseManifest>;
  /** The folders, which are the truth; the table has every release that is listed here. */
  readonly scanned: ScannedReleases;
}

/** Opens the catalog, brings it up to the folders, and closes it after the work. */
export async function withCatalog<Result>(
  context: CommandContext,
  work: (catalog: IndexCatalog) => Promise<Result>,
): Promise<Result> {
  const config = loadConfig(context.environment);
  await requireSoundControlState(config.dataFolder);
  const store = openControlStore(config.dataFolder);
  try {
    const table = new ReleaseTable<ReleaseManifest>(store, releaseEvents(store));
    const scanned = await adoptReleases(config.indexesFolder, table);
    return await work({ config, table, scanned });
  } finally {
    await store.close();
  }
}

/** Publishes what has just been built; what its builder noted for others to publish it by is done with then. */
export async function publishBuilt(
  { config, table }: Pick<IndexCatalog, 'config' | 'table'>,
  built: Pick<FoundRelease, 'id' | 'slug' | 'manifest'>,
  { isDefault }: { readonly isDefault: boolean },
): Promise<ReleaseRow<ReleaseManifest>> {
  const { id, slug, manifest } = built;
  const row = { id, slug, manifest, publishedAt: new Date().toISOString() };
  await table.publish(row, { isDefault });
  await rm(besideDefaultMark(config.indexesFolder, slug, id), { force: true });
  return row;
}

/**
 * Publishes releases that lie in their folders but not in the catalog: copied from another machine, or
 * built just before a power cut, or because the catalog was lost. A database's newest becomes its default, unless
 * whoever built it noted that it should not.
 */
export async function adoptReleases(
  indexesFolder: string,
  table: ReleaseTable<ReleaseManifest>,
): Promise<ScannedReleases> {
  const scanned = await scanReleases(indexesFolder);
  for (const directory of scanned.removed) await rm(directory, { recursive: true, force: true });
  const unknown = scanned.releases.filter(({ id, slug }) => table.release(id, slug) === undefined);
  const rows = await Promise.all(unknown.map(rowOf));
  const isBeside = ({ slug, id }: Pick<FoundRelease, 'slug' | 'id'>): boolean =>
    scanned.besideDefault.some((mark) => mark.slug === slug && mark.id === id);
  for (const row of rows.sort((a, b) => (a.publishedAt < b.publishedAt ? -1 : 1))) {
    const known = table.database(row.slug);
    const standing = known === undefined ? undefined : table.release(known.defaultReleaseId, row.slug);
    // Only what was built later may take the place of the default release.
    const isOlder = standing !== undefined && standing.publishedAt > row.publishedAt;
    await table.publish(row, { isDefault: !isOlder && !isBeside(row) });
  }
  // One whose release is not there yet belongs to a build that goes on.
  for (const { slug, id } of scanned.besideDefault) {
    if (table.release(id, slug) === undefined) continue;
    await rm(besideDefaultMark(indexesFolder, slug, id), { force: true });
  }
  return scanned;
}

/** A release that is named on the command line; its files may be damaged or missing. */
export interface LocatedRelease {
  readonly slug: string;
  readonly id: string;
  readonly directory: string;
}

/** Every release of the folders, and those that only the catalog knows, because their files are gone. */
export function locateReleases({ config, table, scanned }: IndexCatalog): readonly LocatedRelease[] {
  const onDisk: readonly LocatedRelease[] = [...scanned.releases, ...scanned.damaged];
  const known = new Set(onDisk.map(({ directory }) => directory));
  const listed = table
    .databases()
    .flatMap(({ slug }) => table.releases(slug))
    .map(({ slug, id }) => ({ slug, id, directory: releaseDirectory(config.indexesFolder, slug, id) }));
  return [...onDisk, ...listed.filter(({ directory }) => !known.has(directory))];
}

/**
 * What a selector of the command line means: a slug (all of its releases), an id, or the start of one.
 * Errors  Refusal `database_not_found`
 */
export function selectReleases(catalog: IndexCatalog, selector: string): readonly LocatedRelease[] {
  const all = locateReleases(catalog);
  const found = all.filter(
    ({ slug, id }) => slug === selector || (selector.startsWith('dbr_') && id.startsWith(selector)),
  );
  if (found.length > 0) return found;
  const slugs = [...new Set(all.map(({ slug }) => slug))];
  throw new Refusal(
    'database_not_found',
    `There is no database or release ${JSON.stringify(selector)}; ` +
      (slugs.length === 0 ? 'none is built yet.' : `databases: ${slugs.join(', ')}.`),
  );
}

/** The release that a slug or an id names: of a database, its default one. */
export function selectOneRelease(catalog: IndexCatalog, selector: string): LocatedRelease {
  const found = selectReleases(catalog, selector);
  const database = catalog.table.database(selector);
  return found.find(({ id }) => id === database?.defaultReleaseId) ?? found[0];
}

/** Enough of an id to know it by and to type it. */
export function shortId(releaseId: string): string {
  return releaseId.slice(0, 'dbr_'.length + 12);
}

async function rowOf({ id, slug, directory, manifest }: FoundRelease): Promise<ReleaseRow<ReleaseManifest>> {
  const { mtime } = await stat(join(directory, MANIFEST_FILE));
  return { id, slug, manifest, publishedAt: mtime.toISOString() };
}
