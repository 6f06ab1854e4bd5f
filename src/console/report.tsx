import { render } from 'preact';
import { useState } from 'preact/hooks';
import { counted } from './parts/format.js';
import type { ResultSet } from './result/hits.js';
import { ResultView } from './result/result-view.js';
import { readReport, type Report } from './report-data.js';
import { surprise } from './result/colour.js';

/** Shows the results of a file without a server: a list of the queries beside the selected one. */
function ReportView({ report }: { readonly report: Report }) {
  const { results, title, madeBy, manualUrl, sort } = report;
  const [at, setAt] = useState(0);
  const [text, setText] = useState('');
  const chosen = results[at];
  const words = text.toLowerCase();
  const matching = results
    .map((result, index) => ({ result, index }))
    .filter(({ result: { query } }) =>
      `${query.id} ${query.description ?? ''}`.toLowerCase().includes(words),
    );
  return (
    <>
      <header class="top">
        <span class="mark">Gloaming</span>
        <p class="small muted">
          {title}, {madeBy}
        </p>
      </header>
      <main>
        <div class={results.length > 1 ? 'batch' : ''}>
          {results.length > 1 && (
            <nav class="queries" aria-label="Queries">
              <input
                type="search"
                aria-label="Find a query"
                placeholder={`Find in ${results.length.toLocaleString('en')} queries`}
                value={text}
                onInput={({ currentTarget: { value } }) => setText(value)}
              />
              <ul>
                {matching.map(({ result, index }) => (
                  <QueryLine
                    key={index}
                    result={result}
                    isChosen={index === at}
                    onChoose={() => setAt(index)}
                  />
                ))}
              </ul>
            </nav>
          )}
          {chosen === undefined ? (
            <p class="muted">The report has no queries.</p>
          ) : (
            <ResultView
              key={at}
              result={chosen}
              tools={manualUrl === undefined ? {} : { manualHref: manualUrl }}
              sort={sort}
            />
          )}
        </div>
      </main>
    </>
  );
}

interface QueryLineProps {
  readonly result: ResultSet;
  readonly isChosen: boolean;
  readonly onChoose: () => void;
}

function QueryLine({ result, isChosen, onChoose }: QueryLineProps) {
  const logs = result.hits.flatMap(({ logE }) => (logE === undefined ? [] : [logE]));
  const best = logs.length === 0 ? {} : { logE: Math.min(...logs) };
  return (
    <li>
      <button type="button" aria-current={isChosen ? 'true' : undefined} onClick={onChoose}>
        <span class="clip">{result.query.id}</span>
        <span class="small muted evalue">
          <i class={`dot s${surprise(best)}`} aria-hidden="true" />
          {counted(result.hits.length, 'hit')}
        </span>
      </button>
    </li>
  );
}

const data = document.getElementById('report')?.textContent ?? '';
render(<ReportView report={readReport(data)} />, document.getElementById('console') as HTMLElement);
