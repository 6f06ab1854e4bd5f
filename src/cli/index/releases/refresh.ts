import { InvalidArgumentError, type Command } from 'commander';
import { REFRESH_DOWNLOAD_MAX_BYTES } from '../../../limits.js';
import { shortId, type IndexCatalog } from '../../../pipelines/catalog.js';
import { refresh, type RefreshOptions, type RefreshResult } from '../../../pipelines/refresh.js';
import type { CommandContext } from '../../terminal/command.js';
import { runPipeline } from '../../terminal/pipeline.js';
import { ratioOf } from '../../terminal/selection.js';
import { withCatalog } from '../catalog.js';
import { noticeText } from '../notices.js';

const MAX_LOSS = 0.1;

/** `gloaming refresh`: for people and timers. */
export function register(program: Command, context: CommandContext): void {
  program
    .command('refresh')
    .description(
      'build the next release of a database from what its source has now, and serve it when it is sound',
    )
    .argument('<database>', 'slug of a database')
    .requiredOption('--from <source>', 'http(s) address of a FASTA file, such a file, or a folder of them')
    .option(
      '--max-loss <ratio>',
      'proteins that the next release may have fewer: 0.1 or 10%',
      ratioOf,
      MAX_LOSS,
    )
    .option('--max-size <bytes>', 'longest download', bytesOf, REFRESH_DOWNLOAD_MAX_BYTES)
    .addHelpText('after', HELP)
    .action((slug: string, options: RefreshOptions) =>
      withCatalog(context, (catalog) => refreshDatabase(catalog, slug, options, context)),
    );
}

const HELP = `
The source is the whole database, not what is new in it: sequences that were encoded before are not encoded
again. The next release keeps what "index build --from" keeps. It is built, calibrated and verified beside the
one that is served, and only then takes its place; the one before stays, and "index default --release" goes
back to it.`;

async function refreshDatabase(
  catalog: IndexCatalog,
  slug: string,
  options: RefreshOptions,
  context: CommandContext,
): Promise<void> {
  const { dataFolder } = catalog.config;
  const result = await runPipeline(
    context,
    { command: 'index build', database: slug, dataFolder },
    noticeText,
    (events) => refresh(catalog, slug, options, events),
  );
  context.stdout.write(describeRefresh(slug, options, result));
}

function describeRefresh(slug: string, { from }: RefreshOptions, result: RefreshResult): string {
  switch (result.kind) {
    case 'source_unchanged':
      // The query of an address may hold a token.
      return `${from.replace(/[?#].*$/s, '')} has not changed since ${slug} was built from it.\n`;
    case 'up_to_date':
      return `${slug} is up to date.\n`;
    case 'served': {
      const [earlier, next] = [result.earlierId, result.id].map(shortId);
      return `\nThe default release of ${slug} is now ${next}; ${earlier} stays beside it.\n`;
    }
  }
}

function bytesOf(text: string): number {
  const bytes = Number(text);
  if (Number.isSafeInteger(bytes) && bytes > 0) return bytes;
  throw new InvalidArgumentError('Expected a number of bytes.');
}
