import { Refusal } from '../errors.js';
import { stratumOf, type Calibration } from '../significance/calibration.js';
import type { CalibrationCard } from '../significance/card.js';
import type { UnsupportedReason } from './candidate-significance.js';
import type { SearchEngine, SearchRequest, SignificanceRequirement } from './search-types.js';

/* Refusals of requests for E-values and probabilities that a search cannot give. */

const NO_CALIBRATION =
  'Significance is required, but this release has no qualified calibration. ' +
  'Ask with significance "if_available", or calibrate the release first.';

/**
 * Refuses a size of the database for E-values that the search does not compute.
 * Errors  Refusal `significance_unavailable`
 */
export function refuseVainDatabaseSize(
  { significance, databaseSize }: Pick<SearchRequest, 'significance' | 'databaseSize'>,
  isCalibrated: boolean,
): void {
  if (databaseSize === undefined || (isCalibrated && significance !== 'not_requested')) return;
  const reason = isCalibrated
    ? 'which significance "not_requested" leaves out. Leave out one of the two.'
    : 'which this release does not have. Calibrate the release first.';
  throw new Refusal('significance_unavailable', `A database size scales E-values, ${reason}`, {
    param: 'database_size',
  });
}

/**
 * Refuses probabilities that the release cannot have.
 * Errors  Refusal `significance_unavailable`
 */
export function refuseWithoutProbability(
  { significance, probability }: Pick<SearchRequest, 'significance' | 'probability'>,
  engine: Pick<SearchEngine, 'calibration' | 'probability' | 'release'>,
): void {
  if (probability !== 'required') return;
  if (
    engine.calibration !== undefined &&
    significance !== 'not_requested' &&
    engine.probability !== undefined
  )
    return;
  const { encoder, relatives: homologs } = engine.release.manifest;
  const kind = homologs === undefined ? '' : ' with homologs';
  const reason =
    engine.probability === undefined
      ? `encoder ${encoder.id} has no table of them for databases${kind}. Leave out the probabilities.`
      : engine.calibration === undefined
        ? 'they rest on E-values, which this release does not have. Calibrate the release first.'
        : 'they rest on E-values, which significance "not_requested" leaves out. Leave out one of the two.';
  throw new Refusal('significance_unavailable', `Probabilities of homology are not available: ${reason}`, {
    param: 'probability',
  });
}

/** Errors  Refusal `significance_unavailable` if significance is required and a query cannot have it */
export function refuseWithoutSignificance(
  requirement: SignificanceRequirement,
  queryLengths: readonly number[],
  calibration: Calibration | undefined,
): void {
  if (requirement !== 'required') return;
  if (calibration === undefined) throw unavailable('no_qualified_calibration', NO_CALIBRATION);
  for (const length of queryLengths) refuseUnsupported(length, calibration.card);
}

/** Returns why a query of this length has no E-values; undefined if it has. */
export function unsupportedQuery(
  length: number,
  { supported }: CalibrationCard,
): UnsupportedReason | undefined {
  if (length < supported.query_minimum_residues) return 'query_too_short';
  return length > supported.query_maximum_residues ? 'query_too_long' : undefined;
}

function refuseUnsupported(length: number, card: CalibrationCard): void {
  const reason = unsupportedQuery(length, card);
  if (reason !== undefined) {
    const { query_minimum_residues: minimum, query_maximum_residues: maximum } = card.supported;
    throw unavailable(
      reason,
      `Significance is required, but the query has ${length} residues and the calibration covers ${minimum} to ` +
        `${maximum}. Ask with significance "if_available".`,
    );
  }
  const stratum = stratumOf(length, card.stratum_edges);
  const bins = card.bins.filter((bin) => bin.query_stratum === stratum || bin.target_stratum === stratum);
  if (bins.some(({ status }) => status === 'qualified')) return;
  throw unavailable(
    bins[0].status,
    'Significance is required, but no bin of the calibration is qualified for a query of this length. ' +
      'Ask with significance "if_available".',
  );
}

function unavailable(reason: string, message: string): Refusal {
  return new Refusal('significance_unavailable', message, { param: 'significance', reason });
}
