import type { Command } from 'commander';
import { Refusal } from '../../errors.js';
import type { CommandContext } from '../terminal/command.js';
import { selectReleases } from '../../pipelines/catalog.js';
import { withCatalog } from './catalog.js';

interface Options {
  readonly organization: readonly string[];
  readonly everyone?: boolean;
}

export function addGrantCommand(index: Command, context: CommandContext): void {
  index
    .command('grant')
    .description('make a database private to some organizations, or share it with all again')
    .argument('<slug>', 'the database, with all its releases')
    .option('--organization <name>', 'may see and search it; repeat for more', collect, [])
    .option('--everyone', 'share it with every organization, as a new database is')
    .action((slug: string, options: Options) =>
      withCatalog(context, async (catalog) => {
        const organizations = readAudience(options);
        selectReleases(catalog, slug);
        if (!(await catalog.table.share(slug, organizations))) {
          throw new Refusal('database_not_found', `${slug} is a release; name a database.`);
        }
        context.stdout.write(
          organizations === undefined
            ? `Every organization may search ${slug}.\n`
            : `Only ${organizations.join(', ')} may search ${slug}.\n`,
        );
      }),
    );
}

function collect(name: string, before: readonly string[]): readonly string[] {
  return [...before, name];
}

function readAudience({ organization, everyone }: Options): readonly string[] | undefined {
  if (organization.length > 0 === (everyone === true)) {
    throw new Refusal('invalid_option', 'Name organizations with --organization, or share with --everyone.');
  }
  return everyone === true ? undefined : [...new Set(organization)].sort();
}
