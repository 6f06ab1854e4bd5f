import type { Command } from 'commander';
import { calibrateRelease } from '../../calibrate/calibrate.js';
import { calibrationId, type CalibrationCard } from '../../calibration/card.js';
import type { CommandContext } from '../terminal/command.js';
import { formatDuration } from '../terminal/progress.js';
import { selectOneRelease, withCatalog, type IndexCatalog, type LocatedRelease } from './catalog.js';
import { readCount, withEncoderOf, withEngine, type MeasureSettings } from './engine.js';
import { qualifyMeasured } from './qualify.js';

interface Options {
  readonly seed: string;
  readonly sample?: string;
  /** False with --no-qualification. */
  readonly qualification: boolean;
}

/** `gloaming index calibrate`. */
export function addCalibrateCommand(index: Command, context: CommandContext): void {
  index
    .command('calibrate')
    .description('measure how surprising scores are in a database: gives its answers E-values')
    .argument('<database>', 'slug or release id; of a database, its default release')
    .option('--seed <number>', 'seed of the sample; the same seed gives the same calibration', '1')
    .option('--sample <proteins>', 'proteins whose pairs are scored (default: 4000)')
    .option('--no-qualification', 'do not measure the approximate policy: searches stay exhaustive')
    .action((selector: string, options: Options) =>
      withCatalog(context, (catalog) =>
        calibrate(catalog, selectOneRelease(catalog, selector), options, context),
      ),
    );
}

async function calibrate(
  { config, table }: IndexCatalog,
  located: LocatedRelease,
  options: Options,
  context: CommandContext,
): Promise<void> {
  const { slug, id, directory } = located;
  await withEncoderOf(located, config, context.stderr, async (settings) => {
    const seed = readCount('--seed', options.seed);
    const sampleCount = options.sample === undefined ? undefined : readCount('--sample', options.sample);
    const { card, report } = await calibrateFolder(directory, { ...settings, seed, sampleCount });
    await table.nameCalibration(id, slug, calibrationId(card));
    context.stdout.write(report);
    if (options.qualification) context.stdout.write(await qualifyMeasured(table, located, settings));
  });
}

export interface CalibrateSettings extends MeasureSettings {
  readonly seed?: number;
  readonly sampleCount?: number;
}

/**
 * Calibrates a release and says in a few lines what came of it.
 * Errors  Refusal `calibration_impossible`; Faults of kernels, encoder, disk
 */
export async function calibrateFolder(
  directory: string,
  settings: CalibrateSettings,
): Promise<{ readonly card: CalibrationCard; readonly report: string }> {
  const { progress, seed, sampleCount, signal } = settings;
  const startedMs = performance.now();
  const card = await withEngine(directory, settings, ({ release, backend, store, encoder, threads }) =>
    calibrateRelease({
      release,
      backend,
      store,
      encoder,
      seed,
      sampleCount,
      threads,
      signal,
      onProgress: progress.update,
    }),
  );
  progress.end();
  return { card, report: describeCalibration(card, performance.now() - startedMs) };
}

function describeCalibration(card: CalibrationCard, elapsedMs: number): string {
  const qualified = card.bins.filter(({ status }) => status === 'qualified').length;
  const { protein_count: proteins, pair_count: pairs, connected_pair_count: connected } = card.sample;
  const lines = [
    ['calibration', calibrationId(card)],
    ['sample', `${pairs.toLocaleString('en')} pairs of ${proteins.toLocaleString('en')} proteins`],
    ['left out', `${connected.toLocaleString('en')} pairs that evident relatives connect`],
    ['qualified', `${qualified} of ${card.bins.length} length bins`],
    ['took', formatDuration(elapsedMs)],
  ];
  return lines.map(([name, value]) => `  ${name.padEnd(16)}  ${value}\n`).join('');
}
