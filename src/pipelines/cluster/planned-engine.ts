import type { ApplianceConfig } from '../../config.js';
import { findEncoderVersion } from '../../encoder/encoder-store.js';
import { encoderOptionsOf, loadEncoder } from '../../encoder/load.js';
import { openHomologSources } from '../../engine/homolog-sources.js';
import { openWithoutTokens, type EngineWithoutTokens } from '../../engine/open-engine.js';
import { probabilitiesOf } from '../../engine/probabilities.js';
import { Refusal } from '../../errors.js';
import { backendChoiceOf, chooseBackend } from '../../kernels/choose.js';
import { openRelease } from '../../release/open.js';
import { exists } from '../../files.js';

/** A release with the evidence that planned work rests on. */
export interface PlannedRelease {
  readonly release: { readonly directory: string; readonly id: string };
  /** Null where the release has none. */
  readonly calibrationId: string | null;
  readonly qualificationId: string | null;
}

export interface PlannedEngine {
  readonly engine: EngineWithoutTokens;
  readonly close: () => Promise<void>;
}

/**
 * Opens the release of planned work from its files, without its tokens. No catalog is read: a task may run on another
 * machine.
 * Errors  Refusal `release_not_found` where the release was deleted; `calibration_changed` where the evidence differs
 *         from the plan; Faults of encoder, kernels and disk
 */
export async function openPlannedEngine(
  { release: { directory, id }, ...planned }: PlannedRelease,
  config: ApplianceConfig,
): Promise<PlannedEngine> {
  if (!(await exists(directory))) throw refuseDeleted(id, directory);
  const release = await openRelease(directory);
  const { id: encoderId, sha256 } = release.manifest.encoder;
  const encoder = await loadEncoder(
    await findEncoderVersion(encoderId, sha256, config),
    encoderOptionsOf(config),
  );
  const homologSources = openHomologSources(encoder, config);
  const close = async (): Promise<void> => {
    await homologSources.close();
    await encoder.close();
  };
  try {
    const backend = await chooseBackend(backendChoiceOf(config));
    const { threads } = config;
    const engine = await openWithoutTokens({ release, encoder, backend, threads, homologSources });
    const { calibration, qualification } = engine;
    const probability = await probabilitiesOf(release.manifest, config);
    const isAsPlanned =
      (calibration?.id ?? null) === planned.calibrationId &&
      (qualification?.id ?? null) === planned.qualificationId;
    if (isAsPlanned) return { engine: { ...engine, probability }, close };
    throw new Refusal(
      'calibration_changed',
      `Release ${id} was calibrated or qualified again since this work was planned.`,
    );
  } catch (cause) {
    await close();
    throw cause;
  }
}

function refuseDeleted(id: string, directory: string): Refusal {
  return new Refusal(
    'release_not_found',
    `Release ${id} was deleted since this work was planned, or this machine does not see ${directory}. ` +
      'Build the release again, or delete the folder of this work and begin it anew with another release.',
  );
}
