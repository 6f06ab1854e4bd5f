import { dirname } from 'node:path';
import { writing } from '../build-release/writing.js';
import { findEncoder } from '../encoder/find.js';
import { Refusal } from '../errors.js';
import { calibrateByReference, isOfReference } from '../fit-significance/reference/calibrate.js';
import { calibrateRelease } from '../fit-significance/fit-significance.js';
import { policyKindOf } from '../recall/policy-card.js';
import { readPolicyCard } from '../recall/policy-sidecar.js';
import type { MeasureOptions } from '../fit-significance/options.js';
import type { FoundRelease } from '../release/catalog.js';
import type { Release } from '../release/release.js';
import type { SearchEngine } from '../search/search-types.js';
import { calibrationId, type CalibrationCard } from '../significance/card.js';
import { openReferenceNull, type ReferenceNull } from '../significance/reference-null.js';
import { readCalibrationCard } from '../significance/sidecar.js';
import type { IndexCatalog, LocatedRelease } from './catalog.js';
import { measuring, withEncoderOf, withMeasuringEngine, type Workplace } from './measure.js';
import type { PipelineEvents } from './events/notices.js';
import { qualifyIfPossible } from './qualify.js';
import { transferMeasured } from './transfer.js';

export { QUICK_SAMPLE_COUNT } from '../fit-significance/fit-significance.js';

export interface CalibrationSettings {
  /** 1..2³²−1; the same seed gives the same calibration to the bit. Default 1. */
  readonly seed?: number;
  /** Whether the null is fitted to pairs of the release, even if its encoder has a reference null. */
  readonly isOwnNull?: boolean;
  /** Proteins whose pairs an own null is fitted to. Default 4,000. */
  readonly sampleCount?: number;
  /** Whether the approximate policy is measured anew: its card holds beside one calibration only. */
  readonly qualifies: boolean;
}

/**
 * Calibrates a published release and qualifies its policy anew. Notices: `calibration_planned`, `calibrated`,
 * `reference_contradicted`, `qualified`.
 * Errors  Refusal `calibration_impossible`, `encoder_changed`; those of `measuring` and `writing`; Faults of kernels,
 *         encoder, disk; the signal's reason
 */
export async function calibrateDatabase(
  catalog: IndexCatalog,
  located: LocatedRelease,
  { qualifies, ...options }: CalibrationSettings,
  events: PipelineEvents,
): Promise<void> {
  const { config, table } = catalog;
  const work = async (workplace: Workplace): Promise<void> => {
    const earlier = await readPolicyCard(located.directory);
    const policy = earlier && policyKindOf(earlier);
    await calibrate(table, located, workplace, options, events);
    if (qualifies) await qualifyIfPossible(table, located, workplace, { policy }, events);
  };
  await writing(dirname(located.directory), () =>
    measuring(located, 'calibration', () => withEncoderOf(located, config, work)),
  );
}

/**
 * Gives a release that was just built a calibration, if it has none: that of an identically measured release, or one of
 * its own. A release that cannot be calibrated is served without E-values. Notices: `calibration_transferred`,
 * `calibrated`, `calibration_impossible`.
 * Errors  those of `measuring`; Faults of kernels, encoder, disk; the signal's reason
 */
export async function calibrateBuilt(
  { config, table }: Pick<IndexCatalog, 'config' | 'table'>,
  release: FoundRelease,
  workplace: Workplace,
  events: PipelineEvents,
): Promise<void> {
  if ((await readCalibrationCard(release.directory)) !== undefined) return;
  await measuring(release, 'calibration', async () => {
    const transferred = await transferMeasured({ config, table }, release, release.slug);
    if (transferred !== undefined) {
      events.onNotice?.({ kind: 'calibration_transferred', ...transferred });
      return;
    }
    try {
      const { signal, onProgress, onNotice } = events;
      await calibrate(table, release, workplace, {}, { signal, onProgress, onNotice: withoutPlan(onNotice) });
    } catch (cause) {
      if (!(cause instanceof Refusal) || cause.code !== 'calibration_impossible') throw cause;
      events.onNotice?.({ kind: 'calibration_impossible', message: cause.message });
    }
  });
}

/** Drops `calibration_planned`: the plan of a build's calibration is not announced. */
function withoutPlan(onNotice: PipelineEvents['onNotice']): PipelineEvents['onNotice'] {
  return (notice) => {
    if (notice.kind !== 'calibration_planned') onNotice?.(notice);
  };
}

/** Calibrates a release and names the card in the catalog. */
async function calibrate(
  table: IndexCatalog['table'],
  { id, slug, directory }: LocatedRelease,
  workplace: Workplace,
  options: Omit<CalibrationSettings, 'qualifies'>,
  events: PipelineEvents,
): Promise<void> {
  const startedMs = performance.now();
  const card = await withMeasuringEngine(directory, workplace, (engine) =>
    measure(engine, workplace, options, events),
  );
  await table.nameCalibration(id, slug, calibrationId(card));
  events.onNotice?.({ kind: 'calibrated', card, elapsedMs: performance.now() - startedMs });
}

/** Takes the reference null of the encoder, or fits a null to the release if it has none or contradicts it. */
async function measure(
  engine: SearchEngine,
  workplace: Workplace,
  { seed, sampleCount, isOwnNull = false }: Omit<CalibrationSettings, 'qualifies'>,
  { signal, onProgress, onNotice }: PipelineEvents,
): Promise<CalibrationCard> {
  const onPlan: MeasureOptions['onPlan'] = (phases) => onNotice?.({ kind: 'calibration_planned', phases });
  const options = { ...engine, seed, signal, onPlan, onProgress };
  const reference = isOwnNull ? undefined : await findReferenceNull(engine.release, workplace);
  if (reference !== undefined) {
    const outcome = await calibrateByReference(options, reference);
    if (outcome.kind === 'calibrated') return outcome.card;
    onNotice?.({ kind: 'reference_contradicted' });
  }
  return calibrateRelease({ ...options, sampleCount });
}

/** The reference null of the release's encoder, if it was fitted to tokens and scores of the same kind. */
async function findReferenceNull(
  release: Release,
  { config }: Workplace,
): Promise<ReferenceNull | undefined> {
  const { encoder, affine } = release.manifest;
  const directory = await findEncoder(encoder.id, config);
  const reference = await openReferenceNull(directory, affine.profile !== undefined);
  return reference && isOfReference(release, reference) ? reference : undefined;
}
