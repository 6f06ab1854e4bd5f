import type { Command } from 'commander';
import { Refusal } from '../../errors.js';
import type { CommandContext } from '../terminal/command.js';
import { selectReleaseOf, selectReleases, shortId, type IndexCatalog } from '../../pipelines/catalog.js';
import { withCatalog } from './catalog.js';

export function addDefaultCommand(index: Command, context: CommandContext): void {
  index
    .command('default')
    .description('show or set the database that is searched where a request names none')
    .argument('[slug]', 'the database')
    .option('--release <id>', 'make this the default release of the database instead')
    .action((slug: string | undefined, options: { release?: string }) =>
      withCatalog(context, async (catalog) => {
        context.stdout.write(await setDefault(catalog, slug, options.release));
      }),
    );
}

async function setDefault(
  catalog: IndexCatalog,
  slug: string | undefined,
  release?: string,
): Promise<string> {
  const { table } = catalog;
  if (slug === undefined) return `${table.defaultDatabase()?.slug ?? 'No default database is set.'}\n`;
  const releases = selectReleases(catalog, slug);
  if (release !== undefined) {
    const { id } = selectReleaseOf(slug, releases, release);
    const row = table.release(id, slug);
    if (row !== undefined) await table.publish(row);
    return `The default release of ${slug} is now ${shortId(id)}.\n`;
  }
  if (!(await table.setDefaultDatabase(slug))) {
    throw new Refusal('database_not_found', `${slug} is a release; name a database.`);
  }
  return `Requests that name no database now search ${slug}.\n`;
}
