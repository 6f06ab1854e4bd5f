import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { ApplianceConfig } from '../config.js';
import { Refusal } from '../errors.js';
import {
  besideDefaultMark,
  completeRemoval,
  releaseDirectory,
  scanReleases,
  type FoundRelease,
  type ScannedReleases,
} from '../release/catalog.js';
import { MANIFEST_FILE } from '../release/format.js';
import type { ReleaseManifest } from '../release/release.js';
import { openControlStore } from '../store/control-store.js';
import { requireSoundControlState } from '../store/probe.js';
import { releaseEvents } from '../store/tables/release-events.js';
import { ReleaseTable, type ReleaseRow } from '../store/tables/releases.js';
import { RunTable } from '../store/tables/runs.js';

/** The releases of an appliance: its table in the control store, and the folders that the table is built from. */
export interface IndexCatalog {
  readonly config: ApplianceConfig;
  readonly table: ReleaseTable<ReleaseManifest>;
  /** Runs of the server, which may be running beside this command. */
  readonly runs: Pick<RunTable, 'unfinished'>;
  /** Scan of the folders. Every release that it lists is in the table. */
  readonly scanned: ScannedReleases;
}

/**
 * Opens the catalog, publishes releases that only the folders have, and closes it after the work.
 * Errors  Fault where the control store is damaged; those of adoptReleases and of the work
 */
export async function openCatalog<Result>(
  config: ApplianceConfig,
  work: (catalog: IndexCatalog) => Promise<Result>,
): Promise<Result> {
  await requireSoundControlState(config.dataFolder);
  const store = openControlStore(config.dataFolder);
  try {
    const table = new ReleaseTable<ReleaseManifest>(store, releaseEvents(store));
    const scanned = await adoptReleases(config.indexesFolder, table);
    return await work({ config, table, runs: new RunTable(store), scanned });
  } finally {
    await store.close();
  }
}

/**
 * Publishes a release that this process has built, and removes the mark that would keep it beside the default.
 * Errors  those of the control store and the file system
 */
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
 * Publishes releases that lie in their folders and not in the catalog. They were copied from another machine, or built
 * just before a power cut, or the catalog was lost. The newest release of a database becomes its default, unless a mark
 * keeps it beside the default.
 * Errors  those of the control store and the file system
 */
export async function adoptReleases(
  indexesFolder: string,
  table: ReleaseTable<ReleaseManifest>,
): Promise<ScannedReleases> {
  const scanned = await scanReleases(indexesFolder);
  for (const directory of scanned.removed) await completeRemoval(directory);
  const unlisted = scanned.releases.filter(({ id, slug }) => table.release(id, slug) === undefined);
  const rows = await Promise.all(unlisted.map(rowOf));
  const isBeside = ({ slug, id }: Pick<FoundRelease, 'slug' | 'id'>): boolean =>
    scanned.besideDefault.some((mark) => mark.slug === slug && mark.id === id);
  for (const row of rows.sort((a, b) => (a.publishedAt < b.publishedAt ? -1 : 1))) {
    const database = table.database(row.slug);
    const standing = database === undefined ? undefined : table.release(database.defaultReleaseId, row.slug);
    // An older release never replaces the default.
    const isOlder = standing !== undefined && standing.publishedAt > row.publishedAt;
    await table.publish(row, { isDefault: !isOlder && !isBeside(row) });
  }
  // A mark without its release belongs to a build that is not finished.
  for (const { slug, id } of scanned.besideDefault) {
    if (table.release(id, slug) === undefined) continue;
    await rm(besideDefaultMark(indexesFolder, slug, id), { force: true });
  }
  return scanned;
}

/** A release by name; its files may be damaged or missing. */
export interface LocatedRelease {
  readonly slug: string;
  readonly id: string;
  readonly directory: string;
}

/** Lists every release of the folders, and those of the table whose files are missing. */
export function locateReleases({ config, table, scanned }: IndexCatalog): readonly LocatedRelease[] {
  const onDisk: readonly LocatedRelease[] = [...scanned.releases, ...scanned.damaged];
  const directories = new Set(onDisk.map(({ directory }) => directory));
  const listed = table
    .allReleases()
    .map(({ slug, id }) => ({ slug, id, directory: releaseDirectory(config.indexesFolder, slug, id) }));
  return [...onDisk, ...listed.filter(({ directory }) => !directories.has(directory))];
}

/**
 * Resolves a selector: a slug (all releases of the database), a release id, or the start of one. Several databases may
 * have the release of an id.
 * Errors  Refusal `database_not_found`; `release_ambiguous` for a start that several ids have
 */
export function selectReleases(catalog: IndexCatalog, selector: string): readonly LocatedRelease[] {
  const all = locateReleases(catalog);
  const matching = all.filter(
    ({ slug, id }) => slug === selector || (selector.startsWith('dbr_') && id.startsWith(selector)),
  );
  if (matching.length === 0) {
    throw databaseNotFound(
      selector,
      all.map(({ slug }) => slug),
    );
  }
  // No slug starts like an id.
  const isStart = selector.startsWith('dbr_') && new Set(matching.map(({ id }) => id)).size > 1;
  if (isStart) throw ambiguousStart(selector, matching);
  return matching;
}

/**
 * Returns the release of a database that an id, or the start of one, names.
 * @param releases  of the database
 * Errors  Refusal `release_not_found` unless exactly one release starts so
 */
export function selectReleaseOf(
  slug: string,
  releases: readonly LocatedRelease[],
  start: string,
): LocatedRelease {
  const matching = releases.filter(({ id }) => id.startsWith(start));
  if (matching.length === 1) return matching[0];
  throw new Refusal(
    'release_not_found',
    `${matching.length} releases of ${slug} start with ${start}; one is expected.`,
  );
}

/** Releases that a message lists; more are counted. */
const LISTED_RELEASES = 10;

function ambiguousStart(selector: string, matching: readonly LocatedRelease[]): Refusal {
  const listed = matching.slice(0, LISTED_RELEASES).map(({ slug, id }) => `${slug} ${shortId(id)}`);
  const others = matching.length - listed.length;
  return new Refusal(
    'release_ambiguous',
    `${matching.length} releases start with ${selector}; name one of them by more of its id: ` +
      `${listed.join(', ')}${others === 0 ? '' : ` and ${others} others`}.`,
  );
}

/**
 * Refusal of a name that nothing has.
 * @param slugs  of all databases; repeats count once
 * @param wanted  what the command takes; default: databases and releases
 */
export function databaseNotFound(
  name: string,
  slugs: readonly string[],
  wanted: 'database' | 'database or release' = 'database or release',
): Refusal {
  return new Refusal(
    'database_not_found',
    `No ${wanted} is called ${JSON.stringify(name)}. ${existingDatabases(slugs)}`,
  );
}

/** Says which databases there are. */
export function existingDatabases(slugs: readonly string[]): string {
  if (slugs.length === 0) return 'There is none yet: build one with "gloaming index build".';
  return `There are: ${[...new Set(slugs)].join(', ')}.`;
}

/**
 * Resolves a selector to one release: of a database, its default release.
 * Errors  Refusal `database_not_found`, `release_ambiguous`
 */
export function selectOneRelease(catalog: IndexCatalog, selector: string): LocatedRelease {
  const matching = selectReleases(catalog, selector);
  const database = catalog.table.database(selector);
  return matching.find(({ id }) => id === database?.defaultReleaseId) ?? matching[0];
}

/** Shortens a release id to the prefix that commands print and accept. */
export function shortId(releaseId: string): string {
  return releaseId.slice(0, 'dbr_'.length + 12);
}

async function rowOf({ id, slug, directory, manifest }: FoundRelease): Promise<ReleaseRow<ReleaseManifest>> {
  const { mtime } = await stat(join(directory, MANIFEST_FILE));
  return { id, slug, manifest, publishedAt: mtime.toISOString() };
}
