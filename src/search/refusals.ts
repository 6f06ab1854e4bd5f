import { Refusal } from '../errors.js';
import { stratumOf, type Calibration } from '../significance/calibration.js';
import type { CalibrationCard } from '../significance/card.js';
import { concentration, momentForm, proteinMoments, type ProteinMoments } from '../significance/moments.js';
import type { UnsupportedReason } from './pairs/candidate-significance.js';
import type {
  EncodedQuery,
  ProteinQuery,
  QueryRange,
  SearchEngine,
  SearchRequest,
  SignificanceRequirement,
} from './search-types.js';

/* Refusals of requests for E-values, probabilities and stretches of queries that a search cannot give. */

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
 * Refuses a stretch that a query does not have.
 * Errors  Refusal `query_range_invalid` if it is empty or ends after the last residue of the query
 */
export function refuseRange(
  { id = 'the query', sequence, homologSet }: Pick<ProteinQuery, 'id' | 'sequence' | 'homologSet'>,
  { start, end }: QueryRange,
): void {
  if (homologSet !== undefined) {
    throw new Refusal('query_range_invalid', `${id} is a family, which is searched as a whole.`, {
      param: 'query_range',
    });
  }
  if (start < end && end <= sequence.length) return;
  const reason =
    start < end
      ? `The query range ends at residue ${end}, but ${id} has ${sequence.length} residues.`
      : `The query range starts at ${start} and ends at ${end}, so that it is empty.`;
  throw new Refusal('query_range_invalid', reason, { param: 'query_range' });
}

/** What probabilities of a release rest on. */
interface ProbabilitySource {
  readonly isCalibrated: boolean;
  /** Whether the encoder has a table of probabilities for such releases. */
  readonly hasTable: boolean;
  readonly manifest: Pick<SearchEngine['release']['manifest'], 'encoder' | 'relatives'>;
}

export function probabilitySourceOf({
  calibration,
  probability,
  release,
}: Pick<SearchEngine, 'calibration' | 'probability' | 'release'>): ProbabilitySource {
  return {
    isCalibrated: calibration !== undefined,
    hasTable: probability !== undefined,
    manifest: release.manifest,
  };
}

/**
 * Refuses probabilities that the release cannot have.
 * Errors  Refusal `significance_unavailable`
 */
export function refuseWithoutProbability(
  { significance, probability }: Pick<SearchRequest, 'significance' | 'probability'>,
  { isCalibrated, hasTable, manifest }: ProbabilitySource,
): void {
  if (probability !== 'required') return;
  if (isCalibrated && significance !== 'not_requested' && hasTable) return;
  const { encoder, relatives: homologs } = manifest;
  const kind = homologs === undefined ? '' : ' with homologs';
  const reason = !hasTable
    ? `encoder ${encoder.id} has no table of them for databases${kind}. Leave out the probabilities.`
    : !isCalibrated
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

/**
 * Refuses encoded queries whose composition has no E-values, if significance is required. Returns the queries, with
 * their moments if it had to compute them.
 * Errors  Refusal `significance_unavailable`
 */
export function refuseUnsupportedCompositions(
  requirement: SignificanceRequirement,
  queries: readonly EncodedQuery[],
  { calibration, release }: Pick<SearchEngine, 'calibration' | 'release'>,
): readonly EncodedQuery[] {
  if (requirement !== 'required' || calibration === undefined) return queries;
  const form = momentForm(release.manifest);
  return queries.map((query) => {
    const moments = proteinMoments(query.tokens, form);
    const reason = unsupportedMoments(moments, calibration.card);
    if (reason === undefined) return { ...query, moments };
    throw unavailable(
      reason,
      'Significance is required, but the composition of the query is too one-sided for the calibration. ' +
        'Ask with significance "if_available".',
    );
  });
}

/** Returns why a query of this length has no E-values; undefined if it has. */
export function unsupportedQuery(
  length: number,
  { supported }: CalibrationCard,
): UnsupportedReason | undefined {
  if (length < supported.query_minimum_residues) return 'query_too_short';
  return length > supported.query_maximum_residues ? 'query_too_long' : undefined;
}

/** Reason why a protein of this composition has no E-values; undefined if it can have them. */
export function unsupportedMoments(
  moments: ProteinMoments,
  { supported }: CalibrationCard,
): UnsupportedReason | undefined {
  const isConcentrated = concentration(moments) > supported.maximum_concentration;
  return isConcentrated ? 'query_composition_not_calibrated' : undefined;
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
