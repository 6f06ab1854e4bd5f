import { readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import type { Command } from 'commander';
import { lockBuild } from '../../indexing/build-lock.js';
import { Refusal } from '../../errors.js';
import { REMOVED_PREFIX } from '../../release/catalog.js';
import { syncFolder } from '../../release/hashed-file.js';
import type { CommandContext } from '../terminal/command.js';
import { selectReleases, shortId, withCatalog, type IndexCatalog, type LocatedRelease } from './catalog.js';

interface Options {
  readonly yes?: boolean;
  readonly unfinished?: boolean;
}

export function addRemoveCommand(index: Command, context: CommandContext): void {
  index
    .command('remove')
    .description('delete a database with all its releases, or one release')
    .argument('<selector>', 'a database, or a release by its id or the start of it')
    .option('--unfinished', 'drop interrupted builds of the database, and nothing else')
    .option('-y, --yes', 'do not ask')
    .action((selector: string, options: Options) =>
      withCatalog(context, (catalog) =>
        options.unfinished === true
          ? removeUnfinished(catalog, selector, context)
          : removeReleases(catalog, selector, options, context),
      ),
    );
}

async function removeReleases(
  catalog: IndexCatalog,
  selector: string,
  options: Options,
  context: CommandContext,
): Promise<void> {
  const releases = selectReleases(catalog, selector);
  refuseBackgrounds(catalog, releases);
  const list = releases.map(({ slug, id }) => `${slug} ${shortId(id)}`).join(', ');
  if (options.yes !== true) await confirm(`Delete ${list}?`, context);
  for (const { slug, id, directory } of releases) {
    // From the rename on the release is gone, also if this process is killed before the catalog hears of it.
    const away = join(dirname(directory), `${REMOVED_PREFIX}${basename(directory)}`);
    if (await moveAway(directory, away)) await syncFolder(dirname(directory));
    await catalog.table.remove(id, slug);
    await rm(away, { recursive: true, force: true });
    await removeSidecars(directory);
  }
  context.stdout.write(`Deleted ${list}.\n`);
}

/** Errors  Refusal `background_in_use` where a release that stays finds its queries' relatives in one that goes */
function refuseBackgrounds({ scanned }: IndexCatalog, going: readonly LocatedRelease[]): void {
  const gone = new Set(going.map(({ directory }) => directory));
  const staying = scanned.releases.filter(({ directory }) => !gone.has(directory));
  for (const { slug, id } of going) {
    if (staying.some((other) => other.id === id)) continue;
    const user = staying.find(({ manifest }) => {
      const background = manifest.relatives?.background;
      return background?.method === 'search' && background.release_id === id;
    });
    if (user === undefined) continue;
    throw new Refusal(
      'background_in_use',
      `${slug} ${shortId(id)} is where queries of ${user.slug} ${shortId(user.id)} find relatives: remove that first.`,
    );
  }
}

/**
 * What was measured of a release lies beside it, in folders `<release id>.<kind>`, and means nothing
 * without it.
 */
async function removeSidecars(directory: string): Promise<void> {
  for (const name of await readdir(dirname(directory)).catch(() => [])) {
    if (!name.startsWith(`${basename(directory)}.`)) continue;
    await rm(join(dirname(directory), name), { recursive: true });
  }
}

/** False where the files are gone already. */
async function moveAway(directory: string, away: string): Promise<boolean> {
  try {
    await rename(directory, away);
    return true;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw cause;
  }
}

async function removeUnfinished(catalog: IndexCatalog, slug: string, context: CommandContext): Promise<void> {
  const builds = catalog.scanned.unfinished.filter((build) => build.slug === slug);
  if (builds.length === 0) throw new Refusal('build_not_found', `${slug} has no unfinished build.`);
  for (const { directory } of builds) {
    const unlock = await lockBuild(directory);
    await rm(directory, { recursive: true });
    await unlock();
  }
  context.stdout.write(
    `Dropped ${builds.length} unfinished build${builds.length === 1 ? '' : 's'} of ${slug}.\n`,
  );
}

async function confirm(question: string, { stdin, stderr }: CommandContext): Promise<void> {
  if (stderr.isTTY !== true) throw new Refusal('not_confirmed', `${question} Say so with --yes.`);
  const prompt = createInterface({ input: stdin, output: stderr });
  try {
    const answer = await prompt.question(`${question} [y/N] `);
    if (!/^y(es)?$/i.test(answer.trim())) throw new Refusal('not_confirmed', 'Nothing was deleted.');
  } finally {
    prompt.close();
  }
}
