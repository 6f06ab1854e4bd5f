import type {
  Calibrated,
  CalibratePhase,
  Qualified,
  TransferredEvidence,
} from '../../pipelines/events/notices.js';
import { shortId } from '../../pipelines/catalog.js';
import {
  isQualifiedPolicy,
  lossesOf,
  policyKindOf,
  qualificationId,
  type PolicyCard,
  type RecallCard,
} from '../../recall/policy-card.js';
import { calibrationId, type CalibrationCard, type ReferenceUseCard } from '../../significance/card.js';
import { formatDuration, formatQuantity } from '../terminal/progress.js';

const PHASES: Readonly<Record<CalibratePhase['name'], string>> = {
  pairs: 'pairs of proteins are scored',
  controls: 'proteins whose local matches are scored again with a reversed query',
  reversed: 'reversed proteins are scored, because the sample is small',
  decoys: 'reversed and shuffled proteins are counted',
  moments: 'proteins are described by their moments',
  panel: 'searches measure the hubness of each protein',
  repeats: 'proteins are compared with themselves, because of repeats',
};

/** Lists the phases of a calibration with their shares of the work. */
export function describePhases(phases: readonly CalibratePhase[]): string {
  const total = phases.reduce((sum, { weight }) => sum + weight, 0);
  const rows = phases.map(({ name, count, weight }) => {
    const share = `${Math.round((100 * weight) / total)} %`.padStart(5);
    return `  ${share}  ${count.toLocaleString('en')} ${PHASES[name]}\n`;
  });
  const pairs = Math.round(total).toLocaleString('en');
  const head = `Calibrating takes about as long as ${pairs} pairs; interrupted, the same command goes on:`;
  return `${head}\n${rows.join('')}`;
}

/** Describes a new calibration in a few lines. */
export function describeCalibration({ card, elapsedMs }: Calibrated): string {
  if (card.reference !== undefined) return describeReferenceUse(card, card.reference, elapsedMs);
  const qualified = card.bins.filter(({ status }) => status === 'qualified').length;
  const { protein_count: proteins, pair_count: pairs, connected_pair_count: connected } = card.sample;
  const lines = [
    ['calibration', calibrationId(card)],
    ['sample', `${pairs.toLocaleString('en')} pairs of ${proteins.toLocaleString('en')} proteins`],
    ['left out', `${connected.toLocaleString('en')} pairs that homologs with small E-values connect`],
    ['qualified', `${qualified} of ${card.bins.length} length bins`],
    ['took', formatDuration(elapsedMs)],
  ];
  return lines.map(([name, value]) => `  ${name.padEnd(16)}  ${value}\n`).join('');
}

function describeReferenceUse(card: CalibrationCard, reference: ReferenceUseCard, elapsedMs: number): string {
  const lines = [
    ['calibration', calibrationId(card)],
    ...referenceLines(card, reference),
    ['took', formatDuration(elapsedMs)],
  ];
  return lines.map(([name, value]) => `  ${name.padEnd(16)}  ${value}\n`).join('');
}

/** Describes the reference null that a release uses, its level, and the test on held-out pairs. */
export function referenceLines(
  { sample }: CalibrationCard,
  { id, log_level: level, log_level_error: error, level: fitted, holdout }: ReferenceUseCard,
): readonly (readonly [string, string])[] {
  const pairs = fitted.pair_count.toLocaleString('en');
  const factor = Math.exp(error).toFixed(2);
  return [
    ['null', `${shortId(id)} of the encoder, from ${sample.pair_count.toLocaleString('en')} pairs`],
    [
      'level',
      `${Math.exp(level).toFixed(2)}, from ${pairs} pairs of the database, within a factor of ${factor}`,
    ],
    [
      'tested',
      holdout.status === 'confirmed'
        ? `${holdout.pair_count.toLocaleString('en')} pairs of other proteins confirm it`
        : `its proteins are too few for a test: E-values may differ by a factor of ${factor}`,
    ],
  ];
}

/** Says that a release took over the evidence of another. */
export function describeTransfer({ from, hasPolicy }: TransferredEvidence): string {
  const evidence = hasPolicy ? 'calibration and policy' : 'calibration';
  return `It keeps the ${evidence} of ${shortId(from)}, whose proteins and tokens are the same.\n`;
}

/** Describes a measured policy in a few lines, and whether searches use it. */
export function describePolicy({ card, stored, elapsedMs }: Qualified): string {
  const { recalls, policy, required_recall: required, compared_target_count: compared } = card;
  const instead =
    stored === card
      ? 'searches stay exhaustive'
      : `searches keep the ${policyKindOf(stored)} policy that they had`;
  const verdict = isQualifiedPolicy(card)
    ? 'qualified: searches use it unless they ask for exhaustive ones'
    : `not qualified: below ${required}${evidentBar(card)}, so that ${instead}`;
  const lines: readonly (readonly [string, string])[] = [
    ['policy', card.policy_id],
    ['card', qualificationId(card)],
    ['candidates', candidatesText(card)],
    ...(policy.pool_count === undefined ? [] : [['pool', `${policy.pool_count} proteins`] as const]),
    ...(compared === undefined ? [] : [['compared', comparedText(compared)] as const]),
    ['nearest 10', recallText(recalls.nearest_10)],
    ['nearest 100', recallText(recalls.nearest_100)],
    [
      `E <= ${card.evident_expected_false_hits}`,
      recalls.evident ? recallText(recalls.evident) : 'not calibrated',
    ],
    ['loses', lossesOf(recalls, card)],
    ...(card.codes === undefined ? [] : [['codebook', codebookText(card.codes)] as const]),
    ['verdict', verdict],
    ['took', formatDuration(elapsedMs)],
  ];
  return lines.map(([name, value]) => `  ${name.padEnd(16)}  ${value}\n`).join('');
}

/** Names the recall required of pairs with small E-values, where it differs from that of the nearest. */
function evidentBar({
  required_evident_recall: least,
  evident_expected_false_hits: largestE,
}: PolicyCard): string {
  return least === undefined ? '' : `, or ${least} of E <= ${largestE}`;
}

function candidatesText({ policy, codes: codebook }: PolicyCard): string {
  const { nearest_count: nearest, striking_count: local } = policy;
  return codebook === undefined
    ? `${nearest} nearest and ${local} best local matches`
    : `at most ${nearest}, in steps while they bring small E-values`;
}

function codebookText({ words: centroids, codes: centroidIds }: NonNullable<PolicyCard['codes']>): string {
  return formatQuantity(centroids.size_bytes + centroidIds.size_bytes, 'B');
}

function comparedText(count: number): string {
  return `${count.toLocaleString('en')} proteins in full with each query`;
}

function recallText({ mean, low, high, query_count: queries }: RecallCard): string {
  return `${mean.toFixed(4)} of them are rescored (${low.toFixed(4)} to ${high.toFixed(4)}; ${queries} queries)`;
}
