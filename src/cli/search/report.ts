import type { Release, TargetSpace } from '../../release/release.js';
import type {
  Candidate,
  NamedQuery,
  SearchEngine,
  SearchRequest,
  SearchResult,
} from '../../pipelines/search.js';
import type { ProteinRelative as ProteinHomolog } from '../../contract/runs/run-relatives.js';
import type { PresentedPropagation } from '../../contract/search/propagation.js';
import type { Sort } from '../../contract/search/selection.js';
import type { SearchedDatabase } from '../../services/search/present-search.js';

/** Everything about one finished query. Every format is written from this value only. */
export interface SearchReport {
  readonly query: NamedQuery;
  /** Its candidates are those that are shown, in the order `sort`. */
  readonly result: SearchResult;
  readonly sort: Sort;
  /** Nearest candidates from which those that are shown were chosen by E-value; absent if all are shown. */
  readonly chosenFromCount?: number;
  /** Number of candidates that the cut-offs excluded. */
  readonly leftOutCount: number;
  /** Whether any candidate, shown or excluded, has an E-value. Default: whether a shown one has. */
  readonly hasEValues?: boolean;
  /** Why candidates have no E-values though the release has a calibration; absent if all aligned ones have some. */
  readonly unsupported?: string;
  /** Present if the search was propagated. Its hits are those that are shown. */
  readonly propagation?: PresentedPropagation;
  /** Homologs of a homolog source, which are rows of an alignment beside the candidates. */
  readonly homologs?: readonly ProteinHomolog[];
  readonly request: Pick<
    SearchRequest,
    'evidence' | 'guarantee' | 'significance' | 'limit' | 'databaseSize' | 'probability' | 'queryRange'
  >;
  readonly release: Release;
  readonly engine: SearchEngine;
  readonly database: SearchedDatabase;
  readonly targetSpace: TargetSpace;
  /** `0.1.0+<commit>`. */
  readonly serverVersion: string;
}

/** Text or bytes of the response, in pieces, as the queries finish. */
export type SearchOutput = AsyncIterable<string | Uint8Array>;
export type SearchFormat = (reports: AsyncIterable<SearchReport>, layout: Layout) => SearchOutput;

export interface Layout {
  /** Line width. Unit  characters */
  readonly columns: number;
  readonly hasAlignments: boolean;
  /** Whether tables have a column of conditional E-values. Default: false. */
  readonly hasFurther?: boolean;
  /** Whether tables have a column of probabilities. Default: false. */
  readonly hasProbability?: boolean;
  readonly style: Style;
  /** Whether a person reads the output as it is written. */
  readonly isTerminal: boolean;
  /** URL of the server's manual, with a slash at the end. */
  readonly manual: string;
}

export interface Style {
  bold(text: string): string;
  dim(text: string): string;
}

export const PLAIN_STYLE: Style = { bold: (text) => text, dim: (text) => text };
export const ANSI_STYLE: Style = {
  bold: (text) => `\u001b[1m${text}\u001b[0m`,
  dim: (text) => `\u001b[2m${text}\u001b[0m`,
};

export function targetId({ release }: SearchReport, { targetIndex }: Candidate): string {
  return release.targets.id(targetIndex);
}

/** An attribute as text; empty if the target or the whole release lacks it. */
export function attributeText({ release }: SearchReport, { targetIndex }: Candidate, field: string): string {
  const value = release.targets.attribute(targetIndex, field);
  return value === undefined ? '' : typeof value === 'object' ? value.join('; ') : String(value);
}

/** The alignment, if there is one. A pair without any positive score has none. */
export function alignmentOf({ alignment }: Candidate): Candidate['alignment'] {
  return alignment === undefined || alignment.cigar === '' ? undefined : alignment;
}
