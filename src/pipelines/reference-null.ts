import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { buildRelease } from '../build-release/release.js';
import { filesInput } from '../build-release/sources/input-files.js';
import type { ApplianceConfig } from '../config.js';
import { findEncoder } from '../encoder/find.js';
import { encoderOptionsOf, loadEncoder } from '../encoder/load.js';
import { calibrateRelease } from '../fit-significance/fit-significance.js';
import { REFERENCE_CALIBRATION, writeReferenceNull } from '../fit-significance/reference/make.js';
import { openReferenceNull, referenceNullFolder, referenceNullId } from '../significance/reference-null.js';
import type { PipelineEvents } from './events/notices.js';
import { withMeasuringEngine } from './measure.js';

export interface ReferenceNullOptions {
  /** Id of an installed encoder. */
  readonly encoder: string;
  /** FASTA files of natural proteins: whole ones and domains. */
  readonly proteins: readonly string[];
  /** Proteins whose pairs are scored. 2..65,535 */
  readonly sampleCount: number;
  readonly seed?: number;
}

export interface MadeReferenceNull {
  /** `null_…` */
  readonly id: string;
  readonly folder: string;
  readonly pairCount: number;
}

/**
 * Fits the reference null of an encoder to pairs of natural proteins and writes it into the encoder's folder. Databases
 * that are calibrated afterwards take it. A repeated call resumes an interrupted one. Notices: `calibration_planned`.
 * Errors  Refusal `unknown_encoder`, `calibration_impossible`, and those of the input; Faults of encoder, kernels and
 *         disk; the signal's reason
 */
export async function makeReferenceNull(
  { encoder: encoderId, proteins, sampleCount, seed }: ReferenceNullOptions,
  config: ApplianceConfig,
  { signal, onProgress, onNotice }: PipelineEvents,
): Promise<MadeReferenceNull> {
  const directory = await findEncoder(encoderId, config);
  const work = join(config.dataFolder, 'reference-null');
  const encoder = await loadEncoder(directory, encoderOptionsOf(config));
  try {
    const input = await filesInput({ proteins });
    const options = { indexesFolder: work, slug: encoderId, input, encoder, signal, onProgress };
    const { release } = await buildRelease(options);
    const referenceNull = await withMeasuringEngine(
      release.directory,
      { config, encoder },
      async (engine) => {
        const card = await calibrateRelease({
          ...engine,
          ...REFERENCE_CALIBRATION,
          encoder,
          sampleCount,
          seed,
          signal,
          onPlan: (phases) => onNotice?.({ kind: 'calibration_planned', phases }),
          onProgress,
        });
        return writeReferenceNull(engine.release, card, directory);
      },
    );
    await rm(work, { recursive: true, force: true });
    return {
      id: referenceNullId(referenceNull),
      folder: referenceNullFolder(directory, false),
      pairCount: referenceNull.sample.pair_count,
    };
  } finally {
    await encoder.close();
  }
}

/**
 * Returns whether an encoder has a null for databases without homologs.
 * Errors  Refusal `unknown_encoder`; Fault if the null is damaged
 */
export async function hasReferenceNull(encoderId: string, config: ApplianceConfig): Promise<boolean> {
  return (await openReferenceNull(await findEncoder(encoderId, config), false)) !== undefined;
}
