import type { Release, TargetSpace } from '../../release/release.js';
import type {
  Candidate,
  NamedQuery,
  SearchEngine,
  SearchRequest,
  SearchResult,
} from '../../pipelines/search.js';
import type { Sort } from '../../contract/search/selection.js';
import type { SearchedDatabase } from '../../services/search/present-search.js';

/** All that is known of one finished query: every format is written from this value and nothing else. */
export interface SearchReport {
  readonly query: NamedQuery;
  /** Its candidates are those that are shown, in the order `sort`. */
  readonly result: SearchResult;
  readonly sort: Sort;
  /** Candidates of the search that the cut-offs left out. */
  readonly leftOutCount: number;
  readonly request: Pick<SearchRequest, 'evidence' | 'guarantee' | 'significance' | 'limit'>;
  readonly release: Release;
  readonly engine: SearchEngine;
  readonly database: SearchedDatabase;
  readonly targetSpace: TargetSpace;
  /** `0.1.0+<commit>`. */
  readonly serverVersion: string;
}

/** Text or bytes of the answer, in pieces, as the queries are finished. */
export type SearchOutput = AsyncIterable<string | Uint8Array>;
export type SearchFormat = (reports: AsyncIterable<SearchReport>, layout: Layout) => SearchOutput;

export interface Layout {
  /** Characters of a line. */
  readonly columns: number;
  readonly hasAlignments: boolean;
  readonly style: Style;
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

/** An attribute as text; empty where the target or the whole release lacks it. */
export function attributeText({ release }: SearchReport, { targetIndex }: Candidate, field: string): string {
  const value = release.targets.attribute(targetIndex, field);
  return value === undefined ? '' : typeof value === 'object' ? value.join('; ') : String(value);
}

/** The alignment, where there is one: a pair without any positive score has none. */
export function alignmentOf({ alignment }: Candidate): Candidate['alignment'] {
  return alignment === undefined || alignment.cigar === '' ? undefined : alignment;
}
