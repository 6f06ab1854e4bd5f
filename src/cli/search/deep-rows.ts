import type { ApplianceConfig } from '../../config.js';
import { Refusal } from '../../errors.js';
import { MSA_DEFAULT_EXPECTED_FALSE_HITS, MSA_DEFAULT_QUERY_COVERAGE } from '../../limits.js';
import type { SearchEngine } from '../../pipelines/search.js';
import { formatIn, type SearchFlags } from './options.js';
import type { SearchReport } from './report.js';

/** Rows of an alignment beside those of one search. */
export interface DeepRows {
  /** Number of searches, each with the profile of the hits before it. Range  1..MSA_MAX_ROUNDS */
  readonly rounds: number;
  /** Name of a homolog source; undefined for none. */
  readonly source: string | undefined;
  /** Largest E-value of a row. */
  readonly maxEValue: number;
  /** Smallest coverage of the query by a row of the homolog source. */
  readonly minCoverage: number;
}

/**
 * Bounds of the rows beside those of one search: rounds of search, and a homolog source.
 * Errors  Refusal `invalid_option` with another format, and for rounds without E-values
 */
export function deepRowsOf(flags: SearchFlags): DeepRows {
  const { rounds, homologRows, significance, maxEvalue, minQueryCoverage } = flags;
  const [option] = [
    ...(rounds === undefined ? [] : ['--rounds']),
    ...(homologRows === undefined ? [] : ['--homolog-rows']),
  ];
  if (option !== undefined && formatIn(flags) !== 'a3m') {
    throw new Refusal('invalid_option', `${option} adds rows to an alignment: it goes with --format a3m.`);
  }
  if (rounds !== undefined && rounds > 1 && significance === 'not_requested') {
    throw new Refusal(
      'invalid_option',
      '--rounds needs the E-values that --significance not_requested leaves out. Leave out one of the two.',
    );
  }
  if (rounds !== undefined && rounds > 1 && flags.queryRange !== undefined) {
    throw new Refusal(
      'invalid_option',
      '--rounds makes profiles of whole queries. Leave out --query-range, or search the residues as a query.',
    );
  }
  return {
    rounds: rounds ?? 1,
    source: homologRows,
    maxEValue: maxEvalue ?? MSA_DEFAULT_EXPECTED_FALSE_HITS,
    minCoverage: minQueryCoverage ?? MSA_DEFAULT_QUERY_COVERAGE,
  };
}

/** Errors  Refusal `significance_unavailable` if no E-value can decide which hits enter a profile */
export function refuseRoundsWithoutCalibration(
  { rounds }: Pick<DeepRows, 'rounds'>,
  { calibration }: SearchEngine,
): void {
  if (rounds === 1 || calibration !== undefined) return;
  throw new Refusal(
    'significance_unavailable',
    '--rounds takes hits into a profile by their E-values, and this release has no qualified calibration. ' +
      '"gloaming index calibrate" makes one.',
  );
}

/** Where homologs are searched, and how many hits of each round are looked at. */
interface SourceSearch extends Pick<ApplianceConfig, 'indexesFolder' | 'threads'> {
  readonly limit: number;
  readonly signal: AbortSignal;
}

/**
 * Adds to each report the homologs of its query in the homolog source; nothing if no source is named.
 * Errors  Refusal `background_not_found`, `tool_missing` before the first search; those of mmseqs; the signal's reason
 */
export async function addHomologRows(
  reports: AsyncIterable<SearchReport>,
  rows: DeepRows,
  { limit, signal, ...config }: SourceSearch,
): Promise<AsyncIterable<SearchReport>> {
  const { source } = rows;
  if (source === undefined) return reports;
  // A search without homolog rows does not load these modules.
  const { homologOf, openHomologRows } = await import('../../pipelines/homologs.js');
  const { presentHomolog } = await import('../../services/run-kinds/relatives.js');
  const listHomologs = await openHomologRows(config, source, rows);
  return (async function* () {
    for await (const report of reports) {
      const { sequence } = report.query;
      const { result, release } = report;
      const known = result.candidates.flatMap((candidate) => homologOf(candidate, release) ?? []);
      const homologs = await listHomologs({ sequence, homologs: known }, limit, { signal });
      yield { ...report, homologs: homologs.map((homolog) => presentHomolog(homolog, sequence)) };
    }
  })();
}
