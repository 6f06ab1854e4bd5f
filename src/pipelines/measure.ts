import { dirname, join } from 'node:path';
import type { ApplianceConfig } from '../config.js';
import type { Encoder } from '../encoder/encoder.js';
import { findEncoder } from '../encoder/find.js';
import { encoderOptionsOf, loadEncoder } from '../encoder/load.js';
import { openMeasuringEngine } from '../engine/open-engine.js';
import { Refusal } from '../errors.js';
import { backendChoiceOf, chooseBackend } from '../kernels/choose.js';
import { holdLock } from '../processes.js';
import { MANIFEST_FILE } from '../release/format.js';
import { openRelease } from '../release/open.js';
import type { SearchEngine } from '../search/search-types.js';
import { shortId, type LocatedRelease } from './catalog.js';
import { exists } from '../files.js';

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

/** Commands that measure a release and write beside it, with what a refusal says of the release. */
const MEASUREMENTS = {
  calibration: 'is being calibrated',
  policy: 'is being searched to measure its approximate policy',
  neighbours: 'is being searched for the neighbours of its proteins',
  walks: 'is being searched to measure propagated hits',
} as const;

type Measurement = keyof typeof MEASUREMENTS;

/**
 * Runs a measurement of a release under a lock. The release cannot be removed meanwhile, and no other process runs the
 * same measurement of it.
 * Errors  Refusal `build_running` that names the other process; `release_not_found` where the release is deleted; those
 *         of the work and of the file system
 */
export async function measuring<Result>(
  located: LocatedRelease,
  measurement: Measurement,
  work: () => Promise<Result>,
): Promise<Result> {
  let unlock: (() => Promise<void>) | undefined;
  try {
    unlock = await lockMeasurement(located, measurement);
    const result = await work();
    await requireThere(located);
    return result;
  } catch (cause) {
    // An error of a file that is gone with its release says nothing of the cause.
    await requireThere(located);
    throw cause;
  } finally {
    await unlock?.();
  }
}

/**
 * Locks every measurement of a release until the returned function is called.
 * Errors  Refusal `build_running` while one of them runs; those of the file system
 */
export async function lockMeasurements(located: LocatedRelease): Promise<() => Promise<void>> {
  const unlocks: (() => Promise<void>)[] = [];
  const unlockAll = async (): Promise<void> => {
    for (const unlock of unlocks) await unlock();
  };
  // The catalog may name a release whose folder is lost.
  if (!(await exists(dirname(located.directory)))) return unlockAll;
  try {
    for (const measurement of Object.keys(MEASUREMENTS) as Measurement[])
      unlocks.push(await lockMeasurement(located, measurement));
  } catch (cause) {
    await unlockAll();
    throw cause;
  }
  return unlockAll;
}

function lockMeasurement(
  { slug, id, directory }: LocatedRelease,
  measurement: Measurement,
): Promise<() => Promise<void>> {
  const subject = `${slug} ${shortId(id)} ${MEASUREMENTS[measurement]}`;
  return holdLock(
    `${directory}.${measurement}.lock`,
    (pid) => new Refusal('build_running', `${subject} by process ${pid}; wait until it is done.`, { pid }),
  );
}

/** Errors  Refusal `release_not_found` */
async function requireThere({ slug, id, directory }: LocatedRelease): Promise<void> {
  if (await exists(join(directory, MANIFEST_FILE))) return;
  throw new Refusal(
    'release_not_found',
    `${slug} ${shortId(id)} was deleted meanwhile; nothing was measured.`,
  );
}
