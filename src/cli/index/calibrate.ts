import type { Command } from 'commander';
import { Refusal } from '../../errors.js';
import { calibrateDatabase, QUICK_SAMPLE_COUNT } from '../../pipelines/calibrate.js';
import { selectOneRelease, type IndexCatalog } from '../../pipelines/catalog.js';
import { readCount } from '../terminal/arguments.js';
import type { CommandContext } from '../terminal/command.js';
import { runPipeline } from '../terminal/pipeline.js';
import { withCatalog } from './catalog.js';
import { describeCalibration } from './evidence.js';
import { noticeText } from './notices.js';

interface Options {
  readonly seed: string;
  readonly sample?: string;
  /** False with --no-qualification. */
  readonly qualification: boolean;
  readonly quick?: boolean;
  readonly full?: boolean;
}

/** `gloaming index calibrate`. */
export function addCalibrateCommand(index: Command, context: CommandContext): void {
  index
    .command('calibrate')
    .description(
      'give the answers of a database E-values: by the null of its encoder, which takes seconds, or by one of its own',
    )
    .argument('<database>', 'slug or release id; of a database, its default release')
    .option('--seed <number>', 'seed of the sample; the same seed gives the same calibration', '1')
    .option('--full', 'fit a null to pairs of the database, even if its encoder has one: takes minutes')
    .option('--sample <proteins>', 'with --full: proteins whose pairs are scored (default: 4000)')
    .option('--no-qualification', 'do not measure the approximate policy: searches stay exhaustive')
    .option(
      '--quick',
      `with --full: a sample of ${QUICK_SAMPLE_COUNT}, a sixth of the work. ` +
        'The tail is checked down to one pair in 130,000 ' +
        'instead of 800,000, and some lengths may have no E-values',
    )
    .action((selector: string, options: Options) =>
      withCatalog(context, (catalog) => calibrate(catalog, selector, options, context)),
    );
}

async function calibrate(
  catalog: IndexCatalog,
  selector: string,
  options: Options,
  context: CommandContext,
): Promise<void> {
  const located = selectOneRelease(catalog, selector);
  const { dataFolder } = catalog.config;
  const calibrateOptions = {
    seed: readCount('--seed', options.seed),
    // A sample is only drawn for a null of its own.
    isOwnNull: options.full === true || options.quick === true || options.sample !== undefined,
    sampleCount: sampleCountOf(options),
    qualifies: options.qualification,
  };
  await runPipeline(
    context,
    { command: 'index calibrate', database: located.slug, dataFolder },
    (notice) =>
      notice.kind === 'calibrated'
        ? { stream: 'stdout', text: describeCalibration(notice) }
        : noticeText(notice),
    (events) => calibrateDatabase(catalog, located, calibrateOptions, events),
  );
}

function sampleCountOf({ sample, quick }: Options): number | undefined {
  if (quick !== true) return sample === undefined ? undefined : readCount('--sample', sample);
  if (sample === undefined) return QUICK_SAMPLE_COUNT;
  throw new Refusal('invalid_option', '--quick is a sample of its own: leave out --sample.');
}
