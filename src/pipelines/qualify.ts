import { dirname } from 'node:path';
import { writing } from '../build-release/writing.js';
import { Refusal } from '../errors.js';
import { qualifyRelease } from '../measure-recall/qualify.js';
import { policyKindOf, qualificationId, type PolicyKind } from '../recall/policy-card.js';
import { readPolicyCard } from '../recall/policy-sidecar.js';
import type { IndexCatalog, LocatedRelease } from './catalog.js';
import { measuring, withEncoderOf, withMeasuringEngine, type Workplace } from './measure.js';
import type { PipelineEvents } from './events/notices.js';

export interface QualifyOptions {
  /** Default `sampled`. */
  readonly policy?: PolicyKind;
  /** 1..2³²−1; the same seed gives the same card. Default 1. */
  readonly seed?: number;
  /** Proteins of the database that are searched with. Default 200. */
  readonly queryCount?: number;
}

/**
 * Measures the approximate policy of a published release and names its card in the catalog. Notice: `qualified`.
 * Errors  Refusal `qualification_impossible`, `encoder_changed`; those of `measuring` and `writing`; Faults of kernels,
 *         encoder, disk; the signal's reason
 */
export async function qualifyDatabase(
  { config, table }: IndexCatalog,
  located: LocatedRelease,
  options: QualifyOptions,
  events: PipelineEvents,
): Promise<void> {
  const work = (workplace: Workplace): Promise<void> => qualify(table, located, workplace, options, events);
  await writing(dirname(located.directory), () =>
    measuring(located, 'policy', () => withEncoderOf(located, config, work)),
  );
}

/**
 * Measures the approximate policy of a release that was just built, unless its card is of this policy already. Notice:
 * `qualified`.
 * Errors  those of `measuring` and qualifyIfPossible
 */
export async function qualifyBuilt(
  table: IndexCatalog['table'],
  release: LocatedRelease,
  workplace: Workplace,
  policy: PolicyKind,
  events: PipelineEvents,
): Promise<void> {
  const card = await readPolicyCard(release.directory);
  if (card !== undefined && policyKindOf(card) === policy) return;
  await measuring(release, 'policy', () => qualifyIfPossible(table, release, workplace, { policy }, events));
}

/**
 * Measures the approximate policy of a release after a build or a calibration. A release that is too small for a policy
 * stays without one. Notice: `qualified`.
 * Errors  Faults of kernels, encoder, disk; the signal's reason
 */
export async function qualifyIfPossible(...parameters: Parameters<typeof qualify>): Promise<void> {
  try {
    await qualify(...parameters);
  } catch (cause) {
    if (!(cause instanceof Refusal) || cause.code !== 'qualification_impossible') throw cause;
  }
}

async function qualify(
  table: IndexCatalog['table'],
  { id, slug, directory }: LocatedRelease,
  workplace: Workplace,
  options: QualifyOptions,
  { signal, onProgress, onNotice }: PipelineEvents,
): Promise<void> {
  const startedMs = performance.now();
  const { card, stored } = await withMeasuringEngine(directory, workplace, (engine) =>
    qualifyRelease({ ...options, engine, signal, onProgress }),
  );
  await table.nameQualification(id, slug, qualificationId(stored));
  onNotice?.({ kind: 'qualified', card, stored, elapsedMs: performance.now() - startedMs });
}
