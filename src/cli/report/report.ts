import { createHash } from 'node:crypto';
import { consoleFileNames, readConsoleFile } from '../../http/console/built-files.js';
import type { Sort } from '../../contract/search/selection.js';
import type { HomologyCandidate, HomologyCandidateSet } from '../../clients/typescript/types/homology.js';
import { Fault } from '../../errors.js';

/** The result of one query, with the contract's names. */
export interface ReportResult {
  readonly query: {
    readonly id: string;
    readonly description?: string;
    readonly sequence: string;
    /** Residues that were searched alone, zero-based and half-open. */
    readonly range?: { readonly start: number; readonly end: number };
  };
  readonly database: HomologyCandidateSet['database'];
  readonly limit: number;
  readonly has_alignments: boolean;
  /** Proteins that E-values count; absent for the searched ones. */
  readonly database_size?: number;
  readonly is_result_limit_reached: boolean;
  readonly result_sha256: string;
  readonly candidates: readonly HomologyCandidate[];
  /** Targets that the neighbours of the candidates lead to; absent if the search did not ask for them. */
  readonly propagation?: HomologyCandidateSet['propagation'];
}

export interface ReportHead {
  readonly title: string;
  /** `Gloaming 0.1.0`. */
  readonly made_by: string;
  /** URL of a server's manual, to which the columns link. */
  readonly manual_url: string;
  /** Order in which the page shows the candidates first. Default `rank`, by distance. */
  readonly sort?: Sort;
}

/**
 * Writes one file that any browser opens without a server or network: the console's result view with all results.
 * src/console/report-data.ts reads the embedded JSON.
 * Errors  Fault when the console was not built
 */
export async function* reportHtml(
  head: ReportHead,
  results: AsyncIterable<ReportResult>,
): AsyncGenerator<string> {
  const names = consoleFileNames();
  const script = names && readConsoleFile(names.reportScript)?.toString('utf8');
  const style = names && readConsoleFile(names.style)?.toString('utf8');
  if (script === undefined || style === undefined) {
    throw new Fault('The parts of a report were not built here; "npm run build" does it.');
  }
  yield beginning(head.title, style, script);
  yield `<script type="application/json" id="report">{"format":"gloaming-report/1",`;
  yield `"title":${embedded(head.title)},"made_by":${embedded(head.made_by)},`;
  yield `"manual_url":${embedded(head.manual_url)},`;
  yield `"sort":${embedded(head.sort ?? 'rank')},"results":[`;
  let separator = '';
  for await (const result of results) {
    yield separator + embedded({ ...result, candidates: result.candidates.map(shownOf) });
    separator = ',\n';
  }
  yield `]}</script>\n<script type="module">${script}</script></body></html>\n`;
}

/** Content security policy and head: only the embedded scripts and styles run, and nothing is loaded. */
function beginning(title: string, style: string, script: string): string {
  const policy = [
    "default-src 'none'",
    `script-src '${digestOf(script)}'`,
    `style-src '${digestOf(style)}'`,
    'img-src data: blob:',
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    `<meta http-equiv="Content-Security-Policy" content="${policy}">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<meta name="color-scheme" content="light dark"><title>${inMarkup(title)}</title>`,
    `<style>${style}</style></head><body><div id="console"></div>`,
    '',
  ].join('\n');
}

function digestOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}

/** JSON that cannot end the script element, whatever a protein is called. */
function embedded(value: unknown): string {
  return JSON.stringify(value).replaceAll('<', String.raw`\u003c`);
}

function inMarkup(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}

/** The members of a candidate that the view shows, about a fifth of all. */
function shownOf(candidate: HomologyCandidate): unknown {
  const { rank, target, measurements, alignment, alignments, significance } = candidate;
  const { log_expected_false_hits, pair_tail_surprisal_bits, is_e_value_upper_bound, homology_probability } =
    significance.measurements;
  return {
    rank,
    target,
    measurements: {
      maxsim: { bidirectional: measurements.maxsim.bidirectional },
      affine: { raw_score: measurements.affine.raw_score },
    },
    ...(alignment !== undefined && { alignment }),
    ...(alignments !== undefined && { alignments }),
    significance: {
      status: significance.status,
      reason: significance.reason,
      measurements: {
        log_expected_false_hits,
        pair_tail_surprisal_bits,
        is_e_value_upper_bound,
        homology_probability,
      },
    },
  };
}
