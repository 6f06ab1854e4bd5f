import { useEffect, useState } from 'preact/hooks';
import type { Run } from '../../clients/typescript/types/runs.js';
import { ago, count } from '../parts/format.js';
import { allOf } from '../parts/load.js';
import { Failure } from '../parts/notice.js';
import { hrefTo } from '../parts/route.js';
import { gloaming } from '../server/server.js';
import { RunProgress, StatusBadge } from './run-line.js';
import { ENDPOINTS, ROW_NOUNS, isOver } from './run-state.js';

const RUNS_MAX_COUNT = 200;
const LOOK_AGAIN_MS = 2000;

/** Lists the runs of the organization. Exports, which only write files, have a tab of their own. */
export function RunsView() {
  const { runs, error } = useRuns();
  const [kind, setKind] = useState<'work' | 'exports'>('work');
  const [text, setText] = useState('');
  if (error !== undefined) return <Failure error={error} />;
  if (runs === undefined)
    return (
      <p class="loading" role="status">
        Loading…
      </p>
    );
  const isExport = ({ endpoint }: Run): boolean => endpoint === 'homology.export';
  const words = text.toLowerCase();
  const shown = runs.filter(
    (run) =>
      isExport(run) === (kind === 'exports') && `${run.label ?? ''} ${run.id}`.toLowerCase().includes(words),
  );
  return (
    <section class="page">
      <header class="page-head">
        <h1>Runs</h1>
        <div class="buttons">
          <div class="segments" role="group" aria-label="Kind">
            <button type="button" aria-pressed={kind === 'work'} onClick={() => setKind('work')}>
              Searches {count(runs.filter((run) => !isExport(run)).length)}
            </button>
            <button type="button" aria-pressed={kind === 'exports'} onClick={() => setKind('exports')}>
              Exports {count(runs.filter(isExport).length)}
            </button>
          </div>
          <input
            type="search"
            aria-label="Find a run"
            placeholder="Find by label or id"
            value={text}
            onInput={({ currentTarget: { value } }) => setText(value)}
          />
        </div>
      </header>
      {shown.length === 0 ? (
        <Nothing hasAny={runs.length > 0} ofExports={kind === 'exports' && text === ''} />
      ) : (
        <RunList runs={shown} />
      )}
    </section>
  );
}

interface NothingProps {
  readonly hasAny: boolean;
  /** True if the list is of exports. */
  readonly ofExports: boolean;
}

function Nothing({ hasAny, ofExports }: NothingProps) {
  if (ofExports) {
    return (
      <div class="empty">
        <h2>No exports yet</h2>
        <p class="muted">“Export” on the page of a completed run writes all rows to one file.</p>
      </div>
    );
  }
  return (
    <div class="empty">
      <h2>{hasAny ? 'None of these' : 'No runs yet'}</h2>
      <p class="muted">
        Paste several proteins into the <a href={hrefTo(['search'])}>search</a>: they become a run. The server
        resumes a run after a restart and stores its results for 30 days.
      </p>
    </div>
  );
}

function RunList({ runs }: { readonly runs: readonly Run[] }) {
  return (
    <ul class="run-list">
      {runs.map((run) => (
        <li key={run.id}>
          <a href={hrefTo(['runs', run.id])}>
            <span class="run-name">
              <b>{run.label ?? run.id}</b>
              <span class="small muted">
                {ENDPOINTS[run.endpoint] ?? run.endpoint}, {ago(run.created_at)}
              </span>
            </span>
            {isOver(run) ? (
              <span class="small muted number">
                {run.result === undefined ? '' : rowsOf(run.endpoint, run.result.row_count)}
              </span>
            ) : (
              <RunProgress run={run} />
            )}
            <StatusBadge status={run.status} />
          </a>
        </li>
      ))}
    </ul>
  );
}

function rowsOf(endpoint: string, rows: number): string {
  const [one, many] = ROW_NOUNS[endpoint] ?? ['row', 'rows'];
  return `${count(rows)} ${rows === 1 ? one : many}`;
}

/** Loads the newest runs, and again at an interval while one of them is in progress. */
function useRuns(): { readonly runs?: readonly Run[]; readonly error?: Error } {
  const [runs, setRuns] = useState<readonly Run[]>();
  const [error, setError] = useState<Error>();
  useEffect(() => {
    const closing = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = async (): Promise<void> => {
      const runs = await allOf(gloaming.runs({}, { signal: closing.signal }), RUNS_MAX_COUNT);
      setRuns(runs);
      if (!closing.signal.aborted && !runs.every(isOver))
        timer = setTimeout(() => void look().catch(fail), LOOK_AGAIN_MS);
    };
    const fail = (failure: Error): void => {
      if (closing.signal.aborted) return;
      // Retries while the server restarts.
      if (failure instanceof TypeError) timer = setTimeout(() => void look().catch(fail), LOOK_AGAIN_MS);
      else setError(failure);
    };
    void look().catch(fail);
    return () => {
      closing.abort();
      clearTimeout(timer);
    };
  }, []);
  return { ...(runs && { runs }), ...(error && { error }) };
}
