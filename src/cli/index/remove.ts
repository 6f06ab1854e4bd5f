import { rm } from 'node:fs/promises';
import { createInterface } from 'node:readline/promises';
import type { Command } from 'commander';
import { lockFolder } from '../../processes.js';
import { Refusal } from '../../errors.js';
import type { CommandContext } from '../terminal/command.js';
import {
  selectReleaseOf,
  selectReleases,
  shortId,
  type IndexCatalog,
  type LocatedRelease,
} from '../../pipelines/catalog.js';
import { scanReleases } from '../../release/catalog.js';
import { withCatalog } from './catalog.js';
import {
  deleteReleases,
  homologSourceUser,
  refuseUnfinishedRuns,
  sourcesOfBuilds,
} from '../../pipelines/delete.js';

interface Options {
  /** Id of a release of the database, or the start of one. */
  readonly release?: string;
  readonly yes?: boolean;
  readonly unfinished?: boolean;
}

export function addRemoveCommand(index: Command, context: CommandContext): void {
  index
    .command('remove')
    .description('delete a database with all its releases, or one release')
    .argument('<selector>', 'a database, or a release by its id or the start of it')
    .option('--release <id>', 'delete only this release of the database, by its id or the start of it')
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
  const releases = goingReleases(catalog, selector, options.release);
  await refuseSources(catalog, releases);
  refuseUnfinishedRuns(catalog, releases);
  const list = releases.map(({ slug, id }) => `${slug} ${shortId(id)}`).join(', ');
  if (options.yes !== true) {
    await confirm(`Delete ${list}?`, context);
    // Builds may have begun or ended before the answer.
    await refuseSources({ ...catalog, scanned: await scanReleases(catalog.config.indexesFolder) }, releases);
  }
  await deleteReleases(catalog, releases);
  context.stdout.write(`Deleted ${list}.\n`);
}

/**
 * Resolves what is to be deleted.
 * Errors  Refusal `release_ambiguous` for an id that several databases have; those of selectReleases, selectReleaseOf
 */
function goingReleases(
  catalog: IndexCatalog,
  selector: string,
  release: string | undefined,
): readonly LocatedRelease[] {
  const releases = selectReleases(catalog, selector);
  if (release !== undefined) return [selectReleaseOf(selector, releases, release)];
  const slugs = [...new Set(releases.map(({ slug }) => slug))];
  if (slugs.length === 1) return releases;
  throw new Refusal(
    'release_ambiguous',
    `${slugs.length} databases have the release ${selector}: ${slugs.join(', ')}. Name the database, ` +
      `as in "gloaming index remove ${slugs[0]} --release ${shortId(releases[0].id)}".`,
  );
}

/** Errors  Refusal `background_in_use` where a release that stays, or an unfinished build, needs a deleted one */
async function refuseSources(catalog: IndexCatalog, going: readonly LocatedRelease[]): Promise<void> {
  const builds = await sourcesOfBuilds(catalog);
  for (const release of going) {
    const { slug, id } = release;
    const built = builds.get(id);
    if (built !== undefined) {
      throw new Refusal(
        'background_in_use',
        `${slug} ${shortId(id)} is needed by an unfinished build of ${built}: wait until it is done, or drop it with ` +
          `"gloaming index remove ${built} --unfinished".`,
      );
    }
    const user = homologSourceUser(catalog, release, going);
    if (user === undefined) continue;
    throw new Refusal(
      'background_in_use',
      `${slug} ${shortId(id)} is where queries of ${user.slug} ${shortId(user.id)} find relatives: remove that first.`,
    );
  }
}

async function removeUnfinished(catalog: IndexCatalog, slug: string, context: CommandContext): Promise<void> {
  const builds = catalog.scanned.unfinished.filter((build) => build.slug === slug);
  if (builds.length === 0) throw new Refusal('build_not_found', `${slug} has no unfinished build.`);
  for (const { directory } of builds) {
    const unlock = await lockFolder(directory);
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
