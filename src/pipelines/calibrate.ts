import { Refusal } from '../errors.js';
import { calibrateRelease } from '../fit-significance/fit-significance.js';
import { policyKindOf } from '../recall/policy-card.js';
import { readPolicyCard } from '../recall/policy-sidecar.js';
import type { FoundRelease } from '../release/catalog.js';
import { calibrationId } from '../significance/card.js';
import { readCalibrationCard } from '../significance/sidecar.js';
import type { IndexCatalog, LocatedRelease } from './catalog.js';
import { withEncoderOf, withMeasuringEngine, type Workplace } from './measure.js';
import type { PipelineEvents } from './events/notices.js';
import { qualifyIfPossible } from './qualify.js';
import { transferMeasured } from './transfer.js';

export { QUICK_SAMPLE_COUNT } from '../fit-significance/fit-significance.js';

export interface CalibrateOptions {
  /** 1..2³²−1; the same seed gives the same calibration to the bit. Default 1. */
  readonly seed?: number;
  /** Proteins whose pairs are scored. Default 4,000. */
  readonly sampleCount?: number;
  /** Whether the approximate policy is measured anew: its card holds beside one calibration only. */
  readonly qualifies: boolean;
}

/**
 * Calibrates a published release and qualifies its policy anew. Notices: `calibration_planned`, `calibrated`,
 * `qualified`.
 * Errors  Refusal `calibration_impossible`, `encoder_changed`; Faults of kernels, encoder, disk; the signal's reason
 */
export async function calibrateDatabase(
  catalog: IndexCatalog,
  located: LocatedRelease,
  { seed, sampleCount, qualifies }: CalibrateOptions,
  events: PipelineEvents,
): Promise<void> {
  const { config, table } = catalog;
  await withEncoderOf(located, config, async (workplace) => {
    const earlier = await readPolicyCard(located.directory);
    const policy = earlier && policyKindOf(earlier);
    await calibrate(table, located, workplace, { seed, sampleCount }, events);
    if (qualifies) await qualifyIfPossible(table, located, workplace, { policy }, events);
  });
}

/**
 * Gives a release that was just built a calibration, if it has none: that of an identically measured release, or one of
 * its own. A release that cannot be calibrated is served without E-values. Notices: `calibration_transferred`,
 * `calibrated`, `calibration_impossible`.
 * Errors  Faults of kernels, encoder, disk; the signal's reason
 */
export async function calibrateBuilt(
  { config, table }: Pick<IndexCatalog, 'config' | 'table'>,
  release: FoundRelease,
  workplace: Workplace,
  events: PipelineEvents,
): Promise<void> {
  if ((await readCalibrationCard(release.directory)) !== undefined) return;
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
  options: Pick<CalibrateOptions, 'seed' | 'sampleCount'>,
  { signal, onProgress, onNotice }: PipelineEvents,
): Promise<void> {
  const startedMs = performance.now();
  const card = await withMeasuringEngine(
    directory,
    workplace,
    ({ release, backend, store, encoder, threads }) =>
      calibrateRelease({
        ...options,
        release,
        backend,
        store,
        encoder,
        threads,
        signal,
        onPlan: (phases) => onNotice?.({ kind: 'calibration_planned', phases }),
        onProgress,
      }),
  );
  await table.nameCalibration(id, slug, calibrationId(card));
  onNotice?.({ kind: 'calibrated', card, elapsedMs: performance.now() - startedMs });
}
