import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Command } from 'commander';
import type { CommandContext } from '../../terminal/command.js';
import { formatQuantity } from '../../terminal/progress.js';
import { formatTable } from '../../terminal/table.js';
import { readCount } from '../../terminal/arguments.js';
import {
  databaseNotFound,
  shortId,
  type IndexCatalog,
  type LocatedRelease,
} from '../../../pipelines/catalog.js';
import { withCatalog } from '../catalog.js';
import {
  deleteReleases,
  homologSourceUser,
  runsOfReleases,
  sourcesOfBuilds,
} from '../../../pipelines/delete.js';

interface Options {
  readonly keep: string;
  readonly yes?: boolean;
}

/** `gloaming index prune`. */
export function addPruneCommand(index: Command, context: CommandContext): void {
  index
    .command('prune')
    .description('list old releases that can be deleted and the space that frees; with --yes, delete them')
    .argument('[database]', 'slug (default: all databases)')
    .option(
      '--keep <count>',
      'newest releases before the default, and after it, that stay in each database',
      '1',
    )
    .option('-y, --yes', 'delete what is listed')
    .action((slug: string | undefined, options: Options) =>
      withCatalog(context, (catalog) => prune(catalog, slug, options, context)),
    );
}

async function prune(
  catalog: IndexCatalog,
  slug: string | undefined,
  { keep, yes }: Options,
  { stdout }: CommandContext,
): Promise<void> {
  const [builds, runs] = [await sourcesOfBuilds(catalog), runsOfReleases(catalog)];
  const keptCount = keep === '0' ? 0 : readCount('--keep', keep);
  const old = oldReleases(catalog, slug, keptCount, new Set(builds.keys()));
  const going = oldReleases(catalog, slug, keptCount, new Set([...builds.keys(), ...runs.keys()]));
  for (const { slug: name, id } of old) {
    const [run] = runs.get(id) ?? [];
    if (run !== undefined)
      stdout.write(`${name} ${shortId(id)} stays: the unfinished run ${run} searches it.\n`);
  }
  if (going.length === 0) {
    stdout.write(
      'Nothing to prune: every release is a default, is among the newest, or is needed by one that stays ' +
        'or by a run.\n',
    );
    return;
  }
  const sizes = await freedBytes(going);
  const rows = going.map(({ slug: name, id, publishedAt }, at) => [
    name,
    shortId(id),
    publishedAt.slice(0, 16).replace('T', ' '),
    formatQuantity(sizes.each[at], 'B'),
  ]);
  stdout.write(formatTable(['database', 'release', 'published (UTC)', 'frees'], rows, new Set([3])));
  const total = formatQuantity(sizes.all, 'B');
  if (yes !== true) {
    stdout.write(`\nDeleting them frees ${total}. Nothing was deleted; --yes does it.\n`);
    return;
  }
  await deleteReleases(catalog, going);
  stdout.write(`\nDeleted them; ${total} are free.\n`);
}

interface OldRelease extends LocatedRelease {
  readonly publishedAt: string;
}

/**
 * Lists releases that can go: neither a default, nor among the newest before or after it, nor the homolog source of one
 * that stays, nor needed by unfinished work. Releases after the default are those that `refresh` refused, or that
 * were taken out of service. They must not take the place of the release before the default, to which a lab goes back.
 * @param needed  ids of the releases that unfinished builds and runs need
 */
function oldReleases(
  catalog: IndexCatalog,
  slug: string | undefined,
  keptCount: number,
  needed: ReadonlySet<string>,
): readonly OldRelease[] {
  const { table, scanned } = catalog;
  const all = table.databases();
  const databases = all.filter((database) => slug === undefined || database.slug === slug);
  if (slug !== undefined && databases.length === 0) {
    const slugs = all.map((each) => each.slug);
    throw databaseNotFound(slug, slugs, 'database');
  }
  const onDisk = new Map(scanned.releases.map((release) => [`${release.slug} ${release.id}`, release]));
  let going = databases.flatMap((database) => {
    const newestFirst = table.releases(database.slug);
    const place = newestFirst.findIndex(({ id }) => id === database.defaultReleaseId);
    const [after, before] = [newestFirst.slice(0, place), newestFirst.slice(place + 1)];
    return [...after.slice(keptCount), ...before.slice(keptCount)].flatMap(({ id, publishedAt }) => {
      const onThisDisk = onDisk.get(`${database.slug} ${id}`);
      return onThisDisk === undefined || needed.has(id) ? [] : [{ ...onThisDisk, publishedAt }];
    });
  });
  // A release that stays may need another as its homolog source, which may need a third.
  for (let before = -1; before !== going.length;) {
    before = going.length;
    going = going.filter((release) => homologSourceUser(catalog, release, going) === undefined);
  }
  return going;
}

/**
 * Sums the bytes that deleting releases frees. A file with a hard link in another release frees nothing.
 * Errors  those of the file system
 */
async function freedBytes(
  going: readonly LocatedRelease[],
): Promise<{ readonly each: readonly number[]; readonly all: number }> {
  const seen = new Map<string, { bytes: number; names: number; links: number }>();
  const each: number[] = [];
  for (const { directory } of going) {
    let alone = 0;
    for (const file of await filesOf(directory)) {
      const { dev, ino, nlink, size } = await stat(file);
      const inode = seen.get(`${dev} ${ino}`) ?? { bytes: size, names: 0, links: nlink };
      seen.set(`${dev} ${ino}`, { ...inode, names: inode.names + 1 });
      if (nlink === 1) alone += size;
    }
    each.push(alone);
  }
  const all = [...seen.values()].reduce(
    (sum, { bytes, names, links }) => sum + (names === links ? bytes : 0),
    0,
  );
  return { each, all };
}

/** Lists the files of a release and of its evidence. Errors  those of the file system */
async function filesOf(directory: string): Promise<readonly string[]> {
  const parent = dirname(directory);
  const names = (await readdir(parent)).filter(
    (name) => name === basename(directory) || name.startsWith(`${basename(directory)}.`),
  );
  const listed = await Promise.all(
    names.map((name) => readdir(join(parent, name), { recursive: true, withFileTypes: true })),
  );
  return listed.flat().flatMap((entry) => (entry.isFile() ? [join(entry.parentPath, entry.name)] : []));
}
