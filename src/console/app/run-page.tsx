import { useState } from 'preact/hooks';
import type { HomologyCandidate } from '../../clients/typescript/types/homology.js';
import type { ExportRunSummary, Run, SearchRunSummary } from '../../clients/typescript/types/runs.js';
import { AnnotationResults } from '../domains/annotation-results.js';
import { CodePanel } from '../parts/code-panel.js';
import { CopyButton } from '../parts/copy.js';
import { bytes, counted, moment } from '../parts/format.js';
import { allOf, useLoaded } from '../parts/load.js';
import { Menu } from '../parts/menu.js';
import { Await, Failure } from '../parts/notice.js';
import { goTo, hrefTo } from '../parts/route.js';
import { snippetsOf } from '../parts/snippets.js';
import { ResultView } from '../result/result-view.js';
import { RunProgress, StatusBadge } from '../runs/run-line.js';
import { ENDPOINTS, isOver, useLiveRun } from '../runs/run-state.js';
import { requestOfReceipt, resultOf } from '../server/results.js';
import { gloaming, type Visitor } from '../server/server.js';
import { BatchResults } from './batch-results.js';
import { toolsFor } from './result-page.js';

interface RunPageProps {
  readonly runId: string;
  /** The parameter `query` selects one query of a batch. */
  readonly query: URLSearchParams;
  readonly visitor: Visitor;
}

/** Shows a run. While the run works, the page shows the rows that are finished. */
export function RunPage({ runId, query, visitor }: RunPageProps) {
  const { run, error, isWaiting, setRun } = useLiveRun(runId);
  const [failure, setFailure] = useState<Error>();
  if (error !== undefined) return <Failure error={error} />;
  if (run === undefined)
    return (
      <p class="loading" role="status">
        {isWaiting ? 'The server does not answer. Retrying…' : 'Loading…'}
      </p>
    );
  const cancel = (): void => void gloaming.cancel(run.id).then(setRun, setFailure);
  const call = `for await (const row of gloaming.results(${JSON.stringify(run.id)})) console.log(row);`;
  return (
    <section class="page run">
      <header class="page-head">
        <div>
          <p class="eyebrow">
            {ENDPOINTS[run.endpoint] ?? run.endpoint}, {moment(run.created_at)}
          </p>
          <h1>{run.label ?? run.id}</h1>
        </div>
        <div class="buttons">
          <StatusBadge status={run.status} />
          {!isOver(run) && (
            <button type="button" class="button" onClick={cancel}>
              Cancel
            </button>
          )}
          {run.status === 'completed' &&
            run.endpoint.startsWith('homology.') &&
            run.endpoint !== 'homology.export' &&
            run.endpoint !== 'homology.annotate' && <Exports run={run} onFailure={setFailure} />}
        </div>
      </header>
      {!isOver(run) && <RunProgress run={run} />}
      {isWaiting && (
        <p class="notice" role="status">
          The server does not answer. The run resumes when the server is back.
        </p>
      )}
      {failure !== undefined && <Failure error={failure} />}
      {run.error !== undefined && <p class="notice bad">{run.error.message}</p>}
      <RunContent run={run} query={query} visitor={visitor} />
      <div class="under-head">
        <CodePanel
          snippets={snippetsOf({
            method: 'GET',
            path: `/v1/runs/${run.id}/results`,
            call,
            command: `gloaming runs results ${run.id}`,
          })}
        />
        <CopyButton text={location.href} label="Copy permalink" />
      </div>
    </section>
  );
}

function RunContent({ run, query, visitor }: Omit<RunPageProps, 'runId'> & { readonly run: Run }) {
  switch (run.endpoint) {
    case 'homology.batch_search':
      return <BatchResults run={run} query={query} visitor={visitor} />;
    case 'homology.annotate':
      return <AnnotationResults run={run} />;
    case 'homology.search':
      return run.result === undefined ? null : <SingleResult run={run} visitor={visitor} />;
    case 'homology.export':
      return run.result === undefined ? null : (
        <ExportedFile summary={run.result.summary as ExportRunSummary} />
      );
    default:
      return run.result === undefined ? null : (
        <pre class="sequence">{JSON.stringify(run.result.summary, null, 2)}</pre>
      );
  }
}

/** Shows a retained search of one protein, whose rows are candidates. */
function SingleResult({ run, visitor }: { readonly run: Run; readonly visitor: Visitor }) {
  const loaded = useLoaded(
    async (signal) => {
      const summary = run.result?.summary as SearchRunSummary;
      const candidates = (await allOf(gloaming.results(run.id, { signal }))) as HomologyCandidate[];
      const { request } = await requestOfReceipt(summary.receipt.id, signal);
      const query = { id: run.label ?? 'query', sequence: request.query.sequence };
      const answer = { ...summary, candidates, is_result_limit_reached: false };
      return { result: resultOf(answer, query, request), request };
    },
    [run.id],
  );
  return (
    <Await loaded={loaded}>
      {({ result, request }) => <ResultView result={result} tools={toolsFor(result, visitor, request)} />}
    </Await>
  );
}

function ExportedFile({ summary }: { readonly summary: ExportRunSummary }) {
  const { file, record_count: records } = summary;
  return (
    <p>
      {counted(records, 'record')}, {bytes(file.size_bytes)}:{' '}
      <a href={new URL(file.url).pathname} download>
        {file.path}
      </a>
    </p>
  );
}

const FORMATS: Readonly<Record<string, string>> = {
  tsv: 'TSV (BLAST outfmt 6)',
  fasta: 'FASTA',
  a3m: 'A3M',
  parquet: 'Parquet',
  arrow: 'Arrow',
};

/** Starts runs that write all rows to a file on the server. */
function Exports({ run, onFailure }: { readonly run: Run; readonly onFailure: (error: Error) => void }) {
  const write = (format: string): void => {
    const input = { run_id: run.id, format: format as 'tsv' };
    gloaming
      .submit({ endpoint: 'homology.export', input, label: `${run.label ?? run.id} as ${format}` })
      .then(({ id }) => goTo(hrefTo(['runs', id])), onFailure);
  };
  return (
    <Menu label="Export">
      {Object.entries(FORMATS)
        .filter(([format]) => format !== 'a3m' || run.endpoint === 'homology.search')
        .map(([format, title]) => (
          <button key={format} type="button" class="menu-item" onClick={() => write(format)}>
            {title}
          </button>
        ))}
    </Menu>
  );
}
