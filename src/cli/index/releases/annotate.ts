import type { Command } from 'commander';
import { Refusal } from '../../../errors.js';
import { annotate, type Annotated } from '../../../pipelines/annotate.js';
import { selectOneRelease, type IndexCatalog } from '../../../pipelines/catalog.js';
import type { CommandContext } from '../../terminal/command.js';
import { createProgress, formatDuration } from '../../terminal/progress.js';
import { withCatalog } from '../catalog.js';
import { describeTransfer } from '../evidence.js';
import { readTaxonomyOption } from '../taxonomy-option.js';

interface Options {
  readonly metadata?: string;
  readonly taxonomy?: string;
  readonly title?: string;
  readonly description?: string;
  /** False with --no-default. */
  readonly default: boolean;
}

/** `gloaming index annotate`. */
export function addAnnotateCommand(index: Command, context: CommandContext): void {
  index
    .command('annotate')
    .description(
      'make a release of the same proteins with other attributes; nothing is encoded or calibrated',
    )
    .argument('<database>', 'slug or release id; of a database, its default release')
    .option('--metadata <table.tsv>', 'attributes by protein id, as of index build')
    .option('--taxonomy <nodes.dmp,names.dmp>', 'NCBI taxonomy dumps, in place of the taxonomy that it has')
    .option('--title <text>', 'title for people')
    .option('--description <text>', 'what it holds and where it comes from')
    .option('--no-default', 'leave the default release of the database as it is')
    .addHelpText('after', HELP)
    .action((selector: string, options: Options) =>
      withCatalog(context, (catalog) => annotateDatabase(catalog, selector, options, context)),
    );
}

const HELP = `
A protein that has a row in the table gets what the row says in all of its columns; an empty cell takes a value
away. Proteins without a row, and attributes without a column, stay as they are.`;

async function annotateDatabase(
  catalog: IndexCatalog,
  selector: string,
  { metadata, taxonomy, title, description, default: isDefault }: Options,
  { stdout, stderr }: CommandContext,
): Promise<void> {
  if ([metadata, taxonomy, title, description].every((each) => each === undefined)) {
    throw new Refusal(
      'invalid_option',
      'Nothing to annotate with: expected is --metadata, --taxonomy, --title or --description.',
    );
  }
  const located = selectOneRelease(catalog, selector);
  const options = { metadata, title, description, isDefault, ...readTaxonomyOption(taxonomy) };
  const progress = createProgress(stderr);
  const annotated = await annotate(catalog, located, options, { onProgress: progress.update }).finally(() =>
    progress.end(),
  );
  stdout.write(describeAnnotated(located.slug, annotated));
}

function describeAnnotated(
  slug: string,
  { report, transferred, lacksNeighbours, elapsedMs }: Annotated,
): string {
  const { isKnown, notes, release } = report;
  const head = isKnown
    ? `${slug} has this release already`
    : `Annotated ${slug} in ${formatDuration(elapsedMs)}`;
  const noteLines = notes.map((note) => `  ${note}\n`).join('');
  const kept = transferred === undefined ? '' : describeTransfer(transferred);
  const lost = lacksNeighbours
    ? `It has no neighbours, so that --propagation is refused: "gloaming index neighbours ${slug}" finds them again.\n`
    : '';
  return `${head}: ${release.id}\n${noteLines}${kept}${lost}`;
}
