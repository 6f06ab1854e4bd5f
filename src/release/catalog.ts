import { readdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Refusal } from '../errors.js';
import { listNames } from './list-names.js';
import { readManifest } from './manifest.js';
import type { ReleaseManifest } from './release.js';

/** A release found on disk. */
export interface FoundRelease {
  readonly slug: string;
  readonly id: string;
  readonly directory: string;
  readonly manifest: ReleaseManifest;
}

export interface DamagedRelease {
  readonly slug: string;
  readonly id: string;
  readonly directory: string;
  readonly problem: string;
}

export interface ScannedReleases {
  readonly releases: readonly FoundRelease[];
  /** Folders that look like releases but have no readable manifest. */
  readonly damaged: readonly DamagedRelease[];
  /** Builds that were interrupted, with the folder of each. */
  readonly unfinished: readonly { readonly slug: string; readonly directory: string }[];
  /** Folders that an interrupted removal left. */
  readonly removed: readonly string[];
  /** Releases that are not to become the default by being found; they need not be there yet. */
  readonly besideDefault: readonly Pick<FoundRelease, 'slug' | 'id'>[];
}

/** Work folders of builds are named `.building-<key>`: no release, and hidden from a plain listing. */
export const BUILDING_PREFIX = '.building-';
/** A release takes this prefix before its files are deleted one by one. */
const REMOVED_PREFIX = '.removed-';
/**
 * Empty file named by the id of a release that must not become the default, for a catalog that has no row for it yet.
 */
const BESIDE_DEFAULT_PREFIX = '.beside-default-';

const SLUG = /^[a-z0-9][a-z0-9._-]{0,63}$/;
const RELEASE_ID = /^dbr_[0-9a-f]{64}$/;
/** Beside the databases lie the folders of encoders and backgrounds. */
const RESERVED_SLUGS: ReadonlySet<string> = new Set(['backgrounds', 'encoders']);

/** Errors  Refusal `invalid_slug` that says what a database may be called */
export function checkSlug(slug: string): string {
  // A slug that starts like an id would make selectors ambiguous.
  if (SLUG.test(slug) && !RESERVED_SLUGS.has(slug) && !/^(db|dbr)_/.test(slug)) return slug;
  throw new Refusal(
    'invalid_slug',
    `${JSON.stringify(slug)} cannot name a database: expected are 1 to 64 lower-case letters, digits, ".", "-" and ` +
      '"_", a letter or digit first; not "backgrounds" or "encoders", and not "db_…" or "dbr_…".',
  );
}

/**
 * Where a release lies. Only slug and id are kept in the catalog, so that the indexes folder can be moved.
 */
export function releaseDirectory(indexesFolder: string, slug: string, id: string): string {
  return join(indexesFolder, slug, id);
}

/** Where it is noted, before a release has its name, that it is not to become the default of its database. */
export function besideDefaultMark(indexesFolder: string, slug: string, id: string): string {
  return join(indexesFolder, slug, `${BESIDE_DEFAULT_PREFIX}${id}`);
}

/**
 * Lists every release below the indexes folder by slug and id. The folders are authoritative: publishing this list
 * restores a lost catalog (cli/index/catalog.ts). Only defaults and sharing of databases cannot be restored.
 * Errors  errors of the file system; a missing indexes folder counts as empty
 */
export async function scanReleases(indexesFolder: string): Promise<ScannedReleases> {
  const releases: FoundRelease[] = [];
  const damaged: DamagedRelease[] = [];
  const unfinished: ScannedReleases['unfinished'][number][] = [];
  const removed: string[] = [];
  const besideDefault: ScannedReleases['besideDefault'][number][] = [];
  for (const slug of (await listNames(indexesFolder)).folders) {
    if (!SLUG.test(slug) || RESERVED_SLUGS.has(slug)) continue;
    const { folders, files } = await listNames(join(indexesFolder, slug));
    for (const name of files) {
      const id = name.slice(BESIDE_DEFAULT_PREFIX.length);
      if (name.startsWith(BESIDE_DEFAULT_PREFIX) && RELEASE_ID.test(id)) besideDefault.push({ slug, id });
    }
    for (const name of folders) {
      const directory = join(indexesFolder, slug, name);
      if (name.startsWith(BUILDING_PREFIX)) unfinished.push({ slug, directory });
      if (name.startsWith(REMOVED_PREFIX)) removed.push(directory);
      if (!RELEASE_ID.test(name)) continue;
      try {
        releases.push({ slug, id: name, directory, manifest: await readManifest(directory) });
      } catch (cause) {
        damaged.push({ slug, id: name, directory, problem: (cause as Error).message });
      }
    }
  }
  return { releases, damaged, unfinished, removed, besideDefault };
}

/**
 * Name that a release takes while it is removed. A folder of this name is there until the removal is complete.
 */
export function removedDirectory(directory: string): string {
  return join(dirname(directory), `${REMOVED_PREFIX}${basename(directory)}`);
}

/**
 * Completes a removal after the release has taken its name of a removed one: deletes what was measured of it, then its
 * files. A killed removal is completed by the next call.
 * @param removed  as of `removedDirectory`
 * Errors  those of the file system
 */
export async function completeRemoval(removed: string): Promise<void> {
  const id = basename(removed).slice(REMOVED_PREFIX.length);
  if (RELEASE_ID.test(id)) await removeSidecars(join(dirname(removed), id));
  await rm(removed, { recursive: true, force: true });
}

/** Removes what was measured of a release: files and folders `<release id>.<kind>` beside it. */
async function removeSidecars(directory: string): Promise<void> {
  for (const name of await readdir(dirname(directory)).catch(() => [])) {
    if (!name.startsWith(`${basename(directory)}.`)) continue;
    await rm(join(dirname(directory), name), { recursive: true, force: true });
  }
}
