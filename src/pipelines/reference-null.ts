import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { BuildHomologs } from '../build-release/build-options.js';
import { buildRelease } from '../build-release/release.js';
import { filesInput } from '../build-release/sources/input-files.js';
import type { ApplianceConfig } from '../config.js';
import type { Encoder } from '../encoder/encoder.js';
import { findEncoder } from '../encoder/find.js';
import { encoderOptionsOf, loadEncoder } from '../encoder/load.js';
import { thinnedHomologs } from '../find-homologs/thinned.js';
import { calibrateRelease } from '../fit-significance/fit-significance.js';
import { REFERENCE_CALIBRATION, writeReferenceNull } from '../fit-significance/reference/make.js';
import { openReferenceNull, referenceNullFolder, referenceNullId } from '../significance/reference-null.js';
import { openCatalog } from './catalog.js';
import type { PipelineEvents } from './events/notices.js';
import { openBuildHomologs } from './homologs.js';
import { withMeasuringEngine } from './measure.js';

export interface ReferenceNullOptions {
  /** Id of an installed encoder. */
  readonly encoder: string;
  /** FASTA files of natural proteins: whole ones and domains. */
  readonly proteins: readonly string[];
  /** Proteins whose pairs are scored. 2..65,535 */
  readonly sampleCount: number;
  readonly seed?: number;
  /**
   * Name of a database or homolog source that gives the proteins homologs: the null is then that of databases with
   * homologs. Absent for databases without.
   */
  readonly homologs?: string;
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
  { encoder: encoderId, proteins, sampleCount, seed, homologs }: ReferenceNullOptions,
  config: ApplianceConfig,
  events: PipelineEvents,
): Promise<MadeReferenceNull> {
  const { signal, onProgress, onNotice } = events;
  const directory = await findEncoder(encoderId, config);
  const work = join(config.dataFolder, 'reference-null');
  const encoder = await loadEncoder(directory, encoderOptionsOf(config));
  try {
    const input = await filesInput({ proteins });
    const options = { indexesFolder: work, slug: encoderId, input, encoder, signal, onProgress };
    const { release } = await withThinnedHomologs(
      { homologs, encoder },
      config,
      (buildHomologs) => buildRelease({ ...options, buildHomologs }),
      events,
    );
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
      folder: referenceNullFolder(directory, homologs !== undefined),
      pairCount: referenceNull.sample.pair_count,
    };
  } finally {
    await encoder.close();
  }
}

/**
 * Opens the homolog source for a sample of the null, and closes it after the work.
 * Errors  those of openCatalog, openBuildHomologs and the work
 */
async function withThinnedHomologs<Result>(
  { homologs, encoder }: { readonly homologs?: string; readonly encoder: Encoder },
  config: ApplianceConfig,
  work: (buildHomologs: BuildHomologs | undefined) => Promise<Result>,
  events: PipelineEvents,
): Promise<Result> {
  if (homologs === undefined) return work(undefined);
  return openCatalog(config, async (catalog) => {
    const opened = await openBuildHomologs({ homologs }, undefined, encoder, catalog, events);
    if (opened === undefined) return work(undefined);
    const { buildHomologs } = opened;
    const finder = thinnedHomologs(buildHomologs.finder, buildHomologs.rules);
    return work({ ...buildHomologs, finder }).finally(() => opened.close());
  });
}

/**
 * Returns whether an encoder has a null for databases without homologs.
 * Errors  Refusal `unknown_encoder`; Fault if the null is damaged
 */
export async function hasReferenceNull(encoderId: string, config: ApplianceConfig): Promise<boolean> {
  return (await openReferenceNull(await findEncoder(encoderId, config), false)) !== undefined;
}
