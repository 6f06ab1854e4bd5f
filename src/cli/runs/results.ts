import type { HomologyCandidate } from '../../contract/search/candidate-set.js';
import type { HomologyQueryResult } from '../../contract/runs/run-kinds.js';
import type { RunsClient } from './client.js';

export const RESULT_FORMATS = ['json', 'tsv'] as const;
export type ResultFormat = (typeof RESULT_FORMATS)[number];

interface ResultPage {
  readonly data: readonly unknown[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

/** Rows of a run in order, waiting for those that are still to come. */
export async function* resultRows(runId: string, client: RunsClient): AsyncGenerator<unknown> {
  for (let cursor = ''; ;) {
    const page = (await client.call('GET', `/v1/runs/${runId}/results?limit=1000${cursor}`)) as ResultPage;
    yield* page.data;
    if (!page.has_more) return;
    cursor = `&cursor=${page.next_cursor}`;
    // Nothing new yet: the end or a while later, whichever comes first.
    if (page.data.length === 0) {
      await client.call('GET', `/v1/runs/${runId}`, { headers: { Prefer: 'wait=5' } });
    }
  }
}

/** One JSON object a line; or one candidate a line, in columns. */
export async function* formatRows(
  rows: AsyncIterable<unknown>,
  format: ResultFormat,
): AsyncGenerator<string> {
  if (format === 'tsv') yield `${COLUMNS.map(([name]) => name).join('\t')}\n`;
  for await (const row of rows) {
    if (format === 'json') yield `${JSON.stringify(row)}\n`;
    else for (const [query, candidate] of candidatesOf(row)) yield lineOf(query, candidate);
  }
}

type Column = readonly [name: string, cell: (query: string, candidate: HomologyCandidate) => unknown];

const COLUMNS: readonly Column[] = [
  ['query', (query) => query],
  ['rank', (_, { rank }) => rank],
  ['target', (_, { target }) => target.id],
  ['distance', (_, { measurements }) => measurements.maxsim.bidirectional],
  ['affine_score', (_, { measurements }) => measurements.affine.raw_score],
  ['normalized_score', (_, { measurements }) => measurements.affine.normalized_score],
  ['identity', (_, { alignment }) => alignment?.sequence_identity_ratio],
  ['query_coverage', (_, { alignment }) => alignment?.query_coverage_ratio],
  ['target_coverage', (_, { alignment }) => alignment?.target_coverage_ratio],
  ['e_value', (_, { significance }) => significance.measurements.expected_false_hits],
];

/** Rows of a batch hold the candidates of a query; rows of a search are its candidates. */
function candidatesOf(row: unknown): readonly (readonly [string, HomologyCandidate])[] {
  const batch = row as Partial<HomologyQueryResult>;
  if (batch.candidates === undefined) return [['', row as HomologyCandidate]];
  return batch.candidates.map((candidate) => [batch.query_id ?? '', candidate]);
}

function lineOf(query: string, candidate: HomologyCandidate): string {
  return `${COLUMNS.map(([, cell]) => String(cell(query, candidate) ?? '')).join('\t')}\n`;
}
