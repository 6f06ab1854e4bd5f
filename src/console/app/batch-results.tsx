import { useMemo, useState } from 'preact/hooks';
import type { HomologyQueryResult, Run, BatchSearchRunSummary } from '../../clients/typescript/types/runs.js';
import { count, counted, eValue } from '../parts/format.js';
import { useLoaded } from '../parts/load.js';
import { Await, Failure } from '../parts/notice.js';
import { hrefTo } from '../parts/route.js';
import { surprise } from '../result/colour.js';
import { hitOf } from '../result/hits.js';
import { ResultView } from '../result/result-view.js';
import { isOver } from '../runs/run-state.js';
import { useStreamedRows } from '../runs/streamed-rows.js';
import { requestOfReceipt, resultOf } from '../server/results.js';
import { gloaming, type Visitor } from '../server/server.js';
import { toolsFor } from './result-page.js';

interface BatchResultsProps {
  readonly run: Run;
  readonly query: URLSearchParams;
  readonly visitor: Visitor;
}

/** Largest number of candidates that the page holds. An export returns all of them. */
const CANDIDATES_MAX_COUNT = 200_000;
const LISTED_MAX_COUNT = 500;

/** Lists the finished queries of a batch and shows the result of the selected query. */
export function BatchResults({ run, query, visitor }: BatchResultsProps) {
  const { rows, isFull, error } = useStreamedRows<HomologyQueryResult>(
    run,
    ({ candidates }) => candidates.length,
    CANDIDATES_MAX_COUNT,
  );
  const [text, setText] = useState('');
  const queryParameter = query.get('query');
  const chosen = rows.find(({ query_id: id }) => id === queryParameter) ?? rows[0];
  const words = text.toLowerCase();
  const matching = rows.filter(({ query_id: id }) => id.toLowerCase().includes(words));
  if (error !== undefined) return <Failure error={error} />;
  if (chosen === undefined) return isOver(run) ? <p class="muted">No query was finished.</p> : null;
  return (
    <>
      {isFull && (
        <BeyondPage
          run={run}
          shownCount={rows.length}
          queryParameter={chosen.query_id === queryParameter ? null : queryParameter}
        />
      )}
      <div class="batch">
        <nav class="queries" aria-label="Queries">
          <input
            type="search"
            aria-label="Find a query"
            placeholder={`Find in ${counted(rows.length, 'query').replace('querys', 'queries')}`}
            value={text}
            onInput={({ currentTarget: { value } }) => setText(value)}
          />
          <ul>
            {matching.slice(0, LISTED_MAX_COUNT).map((row) => (
              <QueryLine key={row.query_index} row={row} run={run} isChosen={row === chosen} />
            ))}
          </ul>
          {matching.length > LISTED_MAX_COUNT && (
            <p class="small muted">and {counted(matching.length - LISTED_MAX_COUNT, 'more')}</p>
          )}
        </nav>
        <OneResult key={chosen.query_index} row={chosen} run={run} visitor={visitor} />
      </div>
    </>
  );
}

interface BeyondPageProps {
  readonly run: Run;
  readonly shownCount: number;
  /** Query id from the address that is not among the listed queries; null if the address names none. */
  readonly queryParameter: string | null;
}

/** Notice that the batch has more candidates than the page holds, with the command that exports all of them. */
function BeyondPage({ run, shownCount, queryParameter }: BeyondPageProps) {
  return (
    <div class="notice" role="status">
      <p>
        {queryParameter !== null && `${queryParameter} is not listed. `}This page shows the first{' '}
        {counted(shownCount, 'query').replace('querys', 'queries')} of {count(run.progress.total_count)}, with{' '}
        {count(CANDIDATES_MAX_COUNT)} hits. To get all of them, choose Export, or run{' '}
        <code>gloaming runs export {run.id} --format parquet</code>
      </p>
    </div>
  );
}

interface QueryLineProps {
  readonly row: HomologyQueryResult;
  readonly run: Run;
  readonly isChosen: boolean;
}

function QueryLine({ row, run, isChosen }: QueryLineProps) {
  const best = useMemo(() => row.candidates.map(hitOf).filter(({ logE }) => logE !== undefined), [row]);
  const logE = best.length === 0 ? undefined : Math.min(...best.map((hit) => hit.logE as number));
  return (
    <li>
      <a
        href={hrefTo(['runs', run.id], { query: row.query_id })}
        aria-current={isChosen ? 'true' : undefined}
      >
        <span class="clip">{row.query_id}</span>
        <span class="small muted evalue">
          <i class={`dot s${surprise(logE === undefined ? {} : { logE })}`} aria-hidden="true" />
          {logE === undefined ? '–' : eValue(logE)}
        </span>
      </a>
    </li>
  );
}

function OneResult({ row, run, visitor }: Omit<QueryLineProps, 'isChosen'> & { readonly visitor: Visitor }) {
  const loaded = useLoaded(
    async (signal) => {
      const { request } = await requestOfReceipt(row.receipt.id, signal);
      const summary = run.result?.summary as BatchSearchRunSummary | undefined;
      const database = summary?.database ?? (await releaseOf(request.database_release_id ?? '', signal));
      const result = resultOf(
        { ...row, database, warnings: [], ranking: undefined as never },
        { id: row.query_id, sequence: request.query.sequence },
        request,
      );
      return { result, request };
    },
    [row.query_index, run.status],
  );
  return (
    <Await loaded={loaded}>
      {({ result, request }) => <ResultView result={result} tools={toolsFor(result, visitor, request)} />}
    </Await>
  );
}

/** Returns the release of a run whose summary does not exist yet. Errors  throws if the release no longer exists */
async function releaseOf(releaseId: string, signal: AbortSignal): Promise<BatchSearchRunSummary['database']> {
  for await (const { slug } of gloaming.databases({ signal })) {
    for await (const release of gloaming.releases(slug, { signal })) {
      if (release.id !== releaseId) continue;
      return {
        id: release.database_id,
        slug,
        release_id: releaseId,
        corpus_snapshot_id: release.corpus_snapshot_id,
        searched_target_count: release.target_count,
        searched_residue_count: release.residue_count,
      };
    }
  }
  throw new Error('The release of this run no longer exists.');
}
