import { openMeasuringEngine } from '../../engine/open-engine.js';
import type { ApplianceConfig } from '../../config.js';
import type { Encoder } from '../../encoder/encoder.js';
import { findEncoder } from '../../encoder/find.js';
import { encoderOptionsOf, loadEncoder } from '../../encoder/load.js';
import { Refusal } from '../../errors.js';
import { backendWishOf, chooseBackend } from '../../kernels/choose.js';
import { openRelease } from '../../release/open.js';
import type { SearchEngine } from '../../search/search-types.js';
import { createJobProgress } from '../terminal/job.js';
import type { Progress, ProgressStream } from '../terminal/progress.js';
import type { LocatedRelease } from './catalog.js';

/** What measuring a release takes. */
export interface MeasureSettings {
  readonly config: ApplianceConfig;
  readonly encoder: Encoder;
  readonly progress: Progress;
  readonly signal?: AbortSignal;
}

/**
 * Loads the encoder of a release, shows progress, and closes both after the work.
 * Errors  Refusal `encoder_changed` where the release was built with another version; Faults of the encoder
 */
export async function withEncoderOf(
  { slug, directory }: LocatedRelease,
  config: ApplianceConfig,
  { command, stderr }: { readonly command: string; readonly stderr: ProgressStream },
  work: (settings: MeasureSettings) => Promise<void>,
): Promise<void> {
  const { manifest } = await openRelease(directory);
  const found = await findEncoder(manifest.encoder.id, config);
  const encoder = await loadEncoder(found, encoderOptionsOf(config));
  const progress = createJobProgress(stderr, config.dataFolder, { command, database: slug });
  try {
    if (encoder.digest !== manifest.encoder.sha256) {
      throw new Refusal(
        'encoder_changed',
        `${slug} was built with another version of the encoder ${manifest.encoder.id}.`,
      );
    }
    await work({ config, encoder, progress });
  } finally {
    progress.close();
    await encoder.close();
  }
}

/** Opens a release for measuring, and closes it after the work. */
export async function withEngine<Result>(
  directory: string,
  { config, encoder }: MeasureSettings,
  work: (engine: SearchEngine) => Promise<Result>,
): Promise<Result> {
  const release = await openRelease(directory);
  const backend = await chooseBackend(backendWishOf(config));
  const engine = await openMeasuringEngine({ release, encoder, backend, threads: config.threads });
  try {
    return await work(engine);
  } finally {
    engine.store.close();
  }
}

/** Errors  Refusal `invalid_option` where an option is no positive whole number */
export function readCount(option: string, text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1 && value < 2 ** 32) return value;
  throw new Refusal('invalid_option', `${option} expects a whole number from 1 on; it is ${text}.`);
}
