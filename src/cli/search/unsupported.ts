import type { Candidate } from '../../pipelines/search.js';
import type { CommandContext } from '../terminal/command.js';
import { formatCount } from '../terminal/numbers.js';
import { warningLine } from '../terminal/warning.js';
import type { FormatName } from './options.js';
import type { SearchReport } from './report.js';

/** Sentences about queries that are written on standard error; the others are counted. */
const QUERIES_SAID = 5;

/** Why a candidate has no E-value, and the lengths that the calibration covers. */
interface Reason {
  readonly reason: string;
  readonly supported: {
    readonly query_minimum_residues: number;
    readonly query_maximum_residues: number;
    readonly target_minimum_residues: number;
    readonly target_maximum_residues: number;
  };
}

/**
 * Adds to each report why candidates of a calibrated release have no E-values. The table shows it. For other formats,
 * which programs read, lines on standard error do so at the end. It comes before the cut-offs, which leave out
 * candidates without E-values.
 */
export async function* reportUnsupported(
  reports: AsyncIterable<SearchReport>,
  format: FormatName,
  { stderr }: Pick<CommandContext, 'stderr'>,
): AsyncGenerator<SearchReport> {
  const ofQueries: string[] = [];
  let ofTargets: { readonly count: number; readonly reason: Reason } | undefined;
  for await (const report of reports) {
    const reasons = report.result.candidates.flatMap((candidate) => reasonOf(candidate) ?? []);
    const [reason] = reasons;
    if (reason === undefined) {
      yield report;
      continue;
    }
    const sentence = querySentence(report, reason);
    if (sentence !== undefined) ofQueries.push(sentence);
    else ofTargets = { count: (ofTargets?.count ?? 0) + reasons.length, reason };
    yield { ...report, unsupported: sentence ?? targetSentence(reasons.length, reason) };
  }
  if (format === 'table') return;
  const more = ofQueries.length - QUERIES_SAID;
  const lines = [
    ...ofQueries.slice(0, QUERIES_SAID),
    ...(more > 0 ? [`${formatCount(more)} more queries have none for such reasons.`] : []),
    ...(ofTargets === undefined ? [] : [targetSentence(ofTargets.count, ofTargets.reason)]),
  ];
  for (const message of lines) stderr.write(warningLine({ code: 'without_e_values', message }));
}

/** Undefined for a candidate with an E-value, and for one that has none because no part of it is aligned. */
function reasonOf({ significance }: Candidate): Reason | undefined {
  if (significance.kind !== 'unsupported' || significance.reason === 'no_affine_score') return undefined;
  return { reason: significance.reason, supported: significance.calibration.card.supported };
}

/** Says why no candidate of a query has an E-value; undefined if the query is not the cause. */
function querySentence(
  { query: { id }, result: { queryLength } }: SearchReport,
  { reason, supported }: Reason,
): string | undefined {
  if (reason === 'query_composition_not_calibrated')
    return `No E-values for ${id}: its composition is too one-sided for the calibration.`;
  if (reason !== 'query_too_short' && reason !== 'query_too_long') return undefined;
  const { query_minimum_residues: least, query_maximum_residues: most } = supported;
  const range = `${formatCount(least)} to ${formatCount(most)} residues`;
  const remedy = reason === 'query_too_long' ? ' --query-range searches a part of it.' : '';
  return `No E-values for ${id}: it has ${formatCount(queryLength)}, and they exist for ${range}.${remedy}`;
}

function targetSentence(count: number, { supported }: Reason): string {
  const { target_minimum_residues: least, target_maximum_residues: most } = supported;
  const candidates = count === 1 ? '1 candidate has' : `${formatCount(count)} candidates have`;
  const range = `${formatCount(least)} to ${formatCount(most)} residues`;
  return `${candidates} no E-value: the calibration covers targets of ${range}.`;
}
