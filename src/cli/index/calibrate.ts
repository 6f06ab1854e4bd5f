import type { Command } from 'commander';
import { calibrateRelease } from '../../calibrate/calibrate.js';
import { calibrationId, type CalibrationCard } from '../../calibration/card.js';
import type { ApplianceConfig } from '../../config.js';
import { Refusal } from '../../errors.js';
import { chooseBackend } from '../../kernels/choose.js';
import { releaseDirectory } from '../../release/catalog.js';
import { openRelease } from '../../release/open.js';
import { findEncoder } from '../../encoder/find.js';
import { encoderOptionsOf, loadEncoder } from '../../encoder/load.js';
import type { Encoder } from '../../encoder/encoder.js';
import type { CommandContext } from '../terminal/command.js';
import { selectReleases, withCatalog, type IndexCatalog, type LocatedRelease } from './catalog.js';
import { createProgress, formatDuration, type Progress } from '../terminal/progress.js';

interface Options {
  readonly seed: string;
  readonly sample?: string;
}

/** `gloaming index calibrate`. */
export function addCalibrateCommand(index: Command, context: CommandContext): void {
  index
    .command('calibrate')
    .description('measure how surprising scores are in a database: gives its answers E-values')
    .argument('<database>', 'slug or release id; of a database, its default release')
    .option('--seed <number>', 'seed of the sample; the same seed gives the same calibration', '1')
    .option('--sample <proteins>', 'proteins whose pairs are scored (default: 4000)')
    .action((selector: string, options: Options) =>
      withCatalog(context, (catalog) => calibrate(catalog, selector, options, context)),
    );
}

/** The release that a slug or an id names: of a database, its default one. */
export function selectOneRelease(catalog: IndexCatalog, selector: string): LocatedRelease {
  const found = selectReleases(catalog, selector);
  const database = catalog.table.database(selector);
  return found.find(({ id }) => id === database?.defaultReleaseId) ?? found[0];
}

async function calibrate(
  catalog: IndexCatalog,
  selector: string,
  options: Options,
  context: CommandContext,
): Promise<void> {
  const { config } = catalog;
  const { slug, id } = selectOneRelease(catalog, selector);
  const directory = releaseDirectory(config.indexesFolder, slug, id);
  const release = await openRelease(directory);
  const { id: encoderId, sha256 } = release.manifest.encoder;
  const found = await findEncoder(encoderId, config);
  const encoder = await loadEncoder(found, encoderOptionsOf(config));
  const progress = createProgress(context.stderr);
  try {
    if (encoder.digest !== sha256) {
      throw new Refusal(
        'encoder_changed',
        `${slug} was built with another version of the encoder ${encoderId}.`,
      );
    }
    const settings = { config, encoder, progress, seed: readCount('--seed', options.seed) };
    const sampleCount = options.sample === undefined ? undefined : readCount('--sample', options.sample);
    const { card, report } = await calibrateFolder(directory, { ...settings, sampleCount });
    await catalog.table.nameCalibration(id, slug, calibrationId(card));
    context.stdout.write(report);
  } finally {
    progress.end();
    await encoder.close();
  }
}

export interface CalibrateSettings {
  readonly config: ApplianceConfig;
  readonly encoder: Encoder;
  readonly progress: Progress;
  readonly seed?: number;
  readonly sampleCount?: number;
  readonly signal?: AbortSignal;
}

/**
 * Calibrates a release and says in a few lines what came of it.
 * Errors  Refusal `calibration_impossible`; Faults of kernels, encoder, disk
 */
export async function calibrateFolder(
  directory: string,
  settings: CalibrateSettings,
): Promise<{ readonly card: CalibrationCard; readonly report: string }> {
  const { config, encoder, progress, seed, sampleCount, signal } = settings;
  const startedMs = performance.now();
  const release = await openRelease(directory);
  const backend = await chooseBackend({
    device: config.device,
    retriesOnCpu: config.onDeviceError === 'retry_on_cpu',
  });
  const store = await backend.open(release.tokens);
  try {
    const card = await calibrateRelease({
      release,
      backend,
      store,
      encoder,
      seed,
      sampleCount,
      threads: config.threads,
      signal,
      onProgress: progress.update,
    });
    progress.end();
    return { card, report: describeCalibration(card, performance.now() - startedMs) };
  } finally {
    store.close();
  }
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

function readCount(option: string, text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1 && value < 2 ** 32) return value;
  throw new Refusal('invalid_option', `${option} expects a whole number from 1 on; it is ${text}.`);
}
