import { useEffect, useMemo, useState } from 'preact/hooks';
import type { HomologyQueryResult, Run, BatchSearchRunSummary } from '../../clients/typescript/types/runs.js';
import { count, counted, eValue } from '../parts/format.js';
import { useLoaded } from '../parts/load.js';
import { Await, Failure } from '../parts/notice.js';
import { hrefTo } from '../parts/route.js';
import { surprise } from '../result/colour.js';
import { hitOf } from '../result/hits.js';
import { ResultView } from '../result/result-view.js';
import { isOver } from '../runs/run-state.js';
import { askedBy, resultOf } from '../server/results.js';
import { gloaming, type Visitor } from '../server/server.js';
import { toolsFor } from './result-page.js';

interface BatchResultsProps {
  readonly run: Run;
  readonly query: URLSearchParams;
  readonly visitor: Visitor;
}

/** Candidates that the page holds at most; the rest is for exports. */
const CANDIDATES_MAX_COUNT = 200_000;
const LISTED_MAX_COUNT = 500;
/** Rows that come within this time are drawn at once. */
const SLICE_MS = 250;

/** The queries of a batch as they are finished, and the result of the one that is chosen. */
export function BatchResults({ run, query, visitor }: BatchResultsProps) {
  const { rows, isFull, error } = useRows(run);
  const [text, setText] = useState('');
  const asked = query.get('query');
  const chosen = rows.find(({ query_id: id }) => id === asked) ?? rows[0];
  const words = text.toLowerCase();
  const found = rows.filter(({ query_id: id }) => id.toLowerCase().includes(words));
  if (error !== undefined) return <Failure error={error} />;
  if (chosen === undefined) return isOver(run) ? <p class="muted">No query was finished.</p> : null;
  return (
    <>
      {isFull && (
        <BeyondPage run={run} shownCount={rows.length} asked={chosen.query_id === asked ? null : asked} />
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
            {found.slice(0, LISTED_MAX_COUNT).map((row) => (
              <QueryLine key={row.query_index} row={row} run={run} isChosen={row === chosen} />
            ))}
          </ul>
          {found.length > LISTED_MAX_COUNT && (
            <p class="small muted">and {counted(found.length - LISTED_MAX_COUNT, 'more')}</p>
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
  /** A query that the address names, and that is not among those shown. */
  readonly asked: string | null;
}

/** Of more than a page holds: where the rest is. */
function BeyondPage({ run, shownCount, asked }: BeyondPageProps) {
  return (
    <div class="notice" role="status">
      <p>
        {asked !== null && `${asked} is not among them: `}This page shows the first{' '}
        {counted(shownCount, 'query').replace('querys', 'queries')} of {count(run.progress.total_count)}, with{' '}
        {count(CANDIDATES_MAX_COUNT)} hits. Export has all of them, as has the command line:{' '}
        <code>npx gloaming runs export {run.id} --format parquet</code>
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
      const { request } = await askedBy(row.receipt.id, signal);
      const summary = run.result?.summary as BatchSearchRunSummary | undefined;
      const database = summary?.database ?? (await releaseOf(request.database_release_id ?? '', signal));
      return resultOf(
        { ...row, database, warnings: [], ranking: undefined as never },
        { id: row.query_id, sequence: request.query.sequence },
        request,
      );
    },
    [row.query_index, run.status],
  );
  return (
    <Await loaded={loaded}>
      {(result) => <ResultView result={result} tools={toolsFor(result, visitor)} />}
    </Await>
  );
}

/** What is searched, before the run has said it itself. */
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
  throw new Error('The release that is searched is not there any more.');
}

/** Rows as they come, in slices, so that ten thousand of them draw the page a few times and not each. */
function useRows(run: Run): {
  readonly rows: readonly HomologyQueryResult[];
  /** More have come than the page holds. */
  readonly isFull: boolean;
  readonly error?: Error;
} {
  const [state, setState] = useState<ReturnType<typeof useRows>>({ rows: [], isFull: false });
  useEffect(() => {
    const gone = new AbortController();
    const rows: HomologyQueryResult[] = [];
    let timer: ReturnType<typeof setTimeout> | undefined;
    const tell = (): void => {
      timer = undefined;
      setState({ rows: [...rows], isFull: false });
    };
    const read = async (): Promise<void> => {
      let candidates = 0;
      for await (const row of gloaming.results(run.id, { signal: gone.signal })) {
        rows.push(row as HomologyQueryResult);
        candidates += rows[rows.length - 1].candidates.length;
        if (candidates > CANDIDATES_MAX_COUNT) break;
        timer ??= setTimeout(tell, rows.length === 1 ? 0 : SLICE_MS);
      }
      clearTimeout(timer);
      setState({ rows, isFull: candidates > CANDIDATES_MAX_COUNT });
    };
    // What is lost with a connection is read again when the run has changed its state.
    read().catch((error: Error) => {
      if (!gone.signal.aborted && !(error instanceof TypeError)) setState((known) => ({ ...known, error }));
    });
    return () => {
      clearTimeout(timer);
      gone.abort();
    };
  }, [run.id, isOver(run)]);
  return state;
}
