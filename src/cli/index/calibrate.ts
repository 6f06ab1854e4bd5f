import type { Command } from 'commander';
import { calibrateRelease, QUICK_SAMPLE_COUNT } from '../../fit-significance/fit-significance.js';
import type { CalibratePhase } from '../../fit-significance/options.js';
import { calibrationId, type CalibrationCard } from '../../significance/card.js';
import { policyKindOf } from '../../recall/policy-card.js';
import { readPolicyCard } from '../../recall/policy-sidecar.js';
import { Refusal } from '../../errors.js';
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
  readonly quick?: boolean;
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
    .option(
      '--quick',
      `a sample of ${QUICK_SAMPLE_COUNT}: a sixth of the work. The tail is checked down to one pair in 130,000 ` +
        'instead of 800,000, and some lengths may have no E-values',
    )
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
  await withEncoderOf(located, config, { ...context, command: 'index calibrate' }, async (settings) => {
    const seed = readCount('--seed', options.seed);
    const sampleCount = sampleCountOf(options);
    const onPlan = (phases: readonly CalibratePhase[]): void =>
      void context.stderr.write(describePhases(phases));
    // The policy that was chosen for the release is measured anew: its card goes with the old calibration.
    const known = await readPolicyCard(directory);
    const policy = known && policyKindOf(known);
    const { card, report } = await calibrateFolder(directory, { ...settings, seed, sampleCount, onPlan });
    await table.nameCalibration(id, slug, calibrationId(card));
    context.stdout.write(report);
    if (options.qualification) {
      context.stdout.write(await qualifyMeasured(table, located, { ...settings, policy }));
    }
  });
}

export interface CalibrateSettings extends MeasureSettings {
  readonly seed?: number;
  readonly sampleCount?: number;
  readonly onPlan?: (phases: readonly CalibratePhase[]) => void;
}

/**
 * Calibrates a release and says in a few lines what came of it.
 * Errors  Refusal `calibration_impossible`; Faults of kernels, encoder, disk
 */
export async function calibrateFolder(
  directory: string,
  settings: CalibrateSettings,
): Promise<{ readonly card: CalibrationCard; readonly report: string }> {
  const { progress, seed, sampleCount, signal, onPlan } = settings;
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
      onPlan,
      onProgress: progress.update,
    }),
  );
  progress.end();
  return { card, report: describeCalibration(card, performance.now() - startedMs) };
}

function sampleCountOf({ sample, quick }: Options): number | undefined {
  if (quick !== true) return sample === undefined ? undefined : readCount('--sample', sample);
  if (sample === undefined) return QUICK_SAMPLE_COUNT;
  throw new Refusal('invalid_option', '--quick is a sample of its own: leave out --sample.');
}

const PHASES: Readonly<Record<CalibratePhase['name'], string>> = {
  pairs: 'pairs of proteins are scored',
  controls: 'proteins whose striking pairs are scored again backwards',
  reversed: 'reversed proteins are scored, because the sample is small',
  decoys: 'reversed and shuffled proteins are counted',
  moments: 'proteins are described by their moments',
  panel: 'searches measure how close each protein is to everything',
};

/** All that is going to be done, and what each part takes of it. */
function describePhases(phases: readonly CalibratePhase[]): string {
  const total = phases.reduce((sum, { weight }) => sum + weight, 0);
  const rows = phases.map(({ name, count, weight }) => {
    const share = `${Math.round((100 * weight) / total)} %`.padStart(5);
    return `  ${share}  ${count.toLocaleString('en')} ${PHASES[name]}\n`;
  });
  const pairs = Math.round(total).toLocaleString('en');
  const said = `Calibrating takes about as long as ${pairs} pairs; interrupted, the same command goes on:`;
  return `${said}\n${rows.join('')}`;
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
