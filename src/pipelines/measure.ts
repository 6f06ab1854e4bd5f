import type { ApplianceConfig } from '../config.js';
import type { Encoder } from '../encoder/encoder.js';
import { findEncoder } from '../encoder/find.js';
import { encoderOptionsOf, loadEncoder } from '../encoder/load.js';
import { openMeasuringEngine } from '../engine/open-engine.js';
import { Refusal } from '../errors.js';
import { backendChoiceOf, chooseBackend } from '../kernels/choose.js';
import { openRelease } from '../release/open.js';
import type { SearchEngine } from '../search/search-types.js';
import type { LocatedRelease } from './catalog.js';

/** Open values that a measurement of a release shares with the rest of its pipeline. */
export interface Workplace {
  readonly config: ApplianceConfig;
  readonly encoder: Encoder;
}

/**
 * Loads the encoder of a release, and closes it after the work.
 * Errors  Refusal `encoder_changed` where the release was built with another version; Faults of the encoder
 */
export async function withEncoderOf<Result>(
  { slug, directory }: LocatedRelease,
  config: ApplianceConfig,
  work: (workplace: Workplace) => Promise<Result>,
): Promise<Result> {
  const { manifest } = await openRelease(directory);
  const encoder = await loadEncoder(await findEncoder(manifest.encoder.id, config), encoderOptionsOf(config));
  try {
    if (encoder.digest !== manifest.encoder.sha256) {
      throw new Refusal(
        'encoder_changed',
        `${slug} was built with another version of the encoder ${manifest.encoder.id}.`,
      );
    }
    return await work({ config, encoder });
  } finally {
    await encoder.close();
  }
}

/**
 * Opens a release for measuring, and closes it after the work.
 * Errors  those of openRelease, openMeasuringEngine and the work
 */
export async function withMeasuringEngine<Result>(
  directory: string,
  { config, encoder }: Workplace,
  work: (engine: SearchEngine) => Promise<Result>,
): Promise<Result> {
  const release = await openRelease(directory);
  const backend = await chooseBackend(backendChoiceOf(config));
  const engine = await openMeasuringEngine({ release, encoder, backend, threads: config.threads });
  try {
    return await work(engine);
  } finally {
    engine.store.close();
  }
}
