import type { Command } from 'commander';
import { readCalibrationCard } from '../../../significance/sidecar.js';
import { Refusal } from '../../../errors.js';
import { annotateRelease } from '../../../build-release/annotate.js';
import { annotatedInput } from '../../../build-release/sources/earlier-release.js';
import { openRelease } from '../../../release/open.js';
import type { CommandContext } from '../../terminal/command.js';
import { createProgress, formatDuration } from '../../terminal/progress.js';
import { publishBuilt, selectOneRelease, withCatalog, type IndexCatalog } from '../catalog.js';
import { transferMeasured } from './transferred.js';
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
      withCatalog(context, (catalog) => annotate(catalog, selector, options, context)),
    );
}

const HELP = `
A protein that has a row in the table gets what the row says in all of its columns; an empty cell takes a value
away. Proteins without a row, and attributes without a column, stay as they are.`;

async function annotate(
  catalog: IndexCatalog,
  selector: string,
  options: Options,
  { stdout, stderr }: CommandContext,
): Promise<void> {
  const { metadata, taxonomy, title, description } = options;
  if ([metadata, taxonomy, title, description].every((each) => each === undefined)) {
    throw new Refusal(
      'invalid_option',
      'Nothing to annotate with: expected is --metadata, --taxonomy, --title or --description.',
    );
  }
  const { slug, directory } = selectOneRelease(catalog, selector);
  const release = await openRelease(directory);
  const startedMs = performance.now();
  const progress = createProgress(stderr);
  const input = await annotatedInput(release, { metadata, ...readTaxonomyOption(taxonomy) });
  const made = await annotateRelease({
    indexesFolder: catalog.config.indexesFolder,
    slug,
    release,
    input,
    title,
    description,
    onProgress: progress.update,
  }).finally(() => progress.end());
  const { id, manifest } = made.release;
  // Published with its calibration beside it, so that no answer lacks its E-values meanwhile.
  const isCalibrated = (await readCalibrationCard(made.release.directory)) !== undefined;
  const row = await publishBuilt(catalog, { id, slug, manifest }, { isDefault: false });
  const transferred = isCalibrated ? '' : await transferMeasured(catalog, made.release, slug);
  if (options.default) await catalog.table.publish(row);
  const took = formatDuration(performance.now() - startedMs);
  const head = made.isKnown ? `${slug} has this release already` : `Annotated ${slug} in ${took}`;
  const notes = made.notes.map((note) => `  ${note}\n`).join('');
  stdout.write(`${head}: ${id}\n${notes}${transferred ?? ''}`);
}
