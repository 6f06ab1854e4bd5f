import type { Client } from '../../contract/document/client.js';
import type { HomologyCandidate } from '../../contract/search/candidate-set.js';
import type { HomologyQueryResult } from '../../contract/runs/run-kinds.js';

export const RESULT_FORMATS = ['json', 'tsv'] as const;
export type ResultFormat = (typeof RESULT_FORMATS)[number];

/** Rows of a run in order, waiting for those that are still to come. */
export async function* resultRows(runId: string, client: Client): AsyncGenerator<unknown> {
  const params = { run_id: runId };
  for (let cursor: string | undefined; ;) {
    const query = { limit: 1_000, cursor };
    const { body: page } = await client.call('runs.results.list', { params, query });
    yield* page.data;
    if (!page.has_more) return;
    cursor = page.next_cursor ?? undefined;
    // Nothing new yet: the end or a while later, whichever comes first.
    if (page.data.length === 0) await client.call('runs.get', { params, headers: { Prefer: 'wait=5' } });
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
