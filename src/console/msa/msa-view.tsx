import { useMemo, useState } from 'preact/hooks';
import type { Msa, MsaRequest } from '../../clients/typescript/types/runs.js';
import { CodePanel } from '../parts/code-panel.js';
import { CopyButton } from '../parts/copy.js';
import { download } from '../parts/download.js';
import { bytes, count, counted } from '../parts/format.js';
import { useLoaded } from '../parts/load.js';
import { Await } from '../parts/notice.js';
import { hrefTo } from '../parts/route.js';
import { snippetsOf } from '../parts/snippets.js';
import { gloaming } from '../server/server.js';
import { readA3m, summarise } from './alignment.js';
import { DepthPlot } from './depth-plot.js';
import { MsaCanvas } from './msa-canvas.js';

interface MsaViewProps {
  readonly receiptId: string;
  readonly name: string;
}

type Settings = Omit<MsaRequest, 'receipt_id'>;

/** Shows the aligned hits of a search as rows below the query. */
export function MsaView({ receiptId, name }: MsaViewProps) {
  const [settings, setSettings] = useState<Settings>({ minimum_query_coverage_ratio: 0 });
  const request = { receipt_id: receiptId, ...settings };
  const loaded = useLoaded(
    (signal) => gloaming.msa(request, { signal }),
    [receiptId, JSON.stringify(settings)],
  );
  const call = `const { a3m } = await gloaming.msa(${JSON.stringify(request)});\nconsole.log(a3m);`;
  return (
    <section class="page msa">
      <header class="page-head">
        <div>
          <p class="eyebrow">
            <a href={hrefTo(['result', receiptId], { name })}>Result of {name}</a>
          </p>
          <h1>Alignment over {name}</h1>
        </div>
        <Choices settings={settings} onChange={setSettings} />
      </header>
      <Await loaded={loaded}>
        {({ msa, a3m }) => (
          <>
            <p class="lead">
              The query and {count(msa.row_count - 1)} of its {counted(msa.candidate_count, 'hit')}, over{' '}
              {counted(msa.query.length, 'residue')}. <span class="muted">{leftOut(msa)}</span>
            </p>
            <Drawn a3m={a3m} name={name} />
          </>
        )}
      </Await>
      <div class="under-head">
        <CodePanel
          snippets={snippetsOf({ method: 'POST', path: '/v1/sequences/msa/a3m', body: request, call })}
        />
        <CopyButton text={location.href} label="Copy permalink" />
      </div>
    </section>
  );
}

/** Counts the hits without a row, by reason, in one sentence. */
function leftOut(msa: Msa): string {
  const { maximum_expected_false_hits: maxE, minimum_normalized_score: minScore = 0 } = msa.parameters;
  const unlike =
    maxE === undefined
      ? `with less than ${minScore} of the query's own score`
      : `with an E-value above ${maxE}`;
  const reasons: readonly (readonly [number, string])[] = [
    [msa.filtered_count, `${unlike} or too little coverage`],
    [msa.duplicate_count, 'identical to another'],
    [msa.redundant_count ?? 0, 'nearly identical to another'],
    [msa.beyond_depth_count, `beyond ${count(msa.parameters.maximum_depth ?? 0)} rows`],
    [msa.unaligned_count, 'without an alignment'],
  ];
  const counts = reasons.flatMap(([hits, why]) => (hits === 0 ? [] : [`${count(hits)} ${why}`]));
  return counts.length === 0 ? '' : `Left out: ${counts.join(', ')}.`;
}

const COVERAGES = [0, 0.3, 0.5, 0.8];
/** An upper bound that passes every E-value: no database has as many proteins. */
const ANY_E_VALUE = 1e15;
/** Without a bound the server applies its default: an E-value, or a score if the database has no E-values. */
const E_VALUES: readonly (readonly [value: number | undefined, label: string])[] = [
  [undefined, '0.001 (default)'],
  [ANY_E_VALUE, 'any'],
  [10, '10'],
  [0.1, '0.1'],
  [1e-10, '1e-10'],
];

function Choices({
  settings,
  onChange,
}: {
  readonly settings: Settings;
  readonly onChange: (settings: Settings) => void;
}) {
  return (
    <div class="buttons">
      <label class="inline-field">
        Covers at least
        <select
          value={settings.minimum_query_coverage_ratio}
          onChange={({ currentTarget: { value } }) =>
            onChange({ ...settings, minimum_query_coverage_ratio: Number(value) })
          }
        >
          {COVERAGES.map((ratio) => (
            <option key={ratio} value={ratio}>
              {ratio === 0 ? 'anything' : `${100 * ratio} % of the query`}
            </option>
          ))}
        </select>
      </label>
      <label class="inline-field">
        E-value up to
        <select
          value={String(settings.maximum_expected_false_hits ?? '')}
          onChange={({ currentTarget: { value } }) => {
            const { maximum_expected_false_hits: _, ...rest } = settings;
            onChange(value === '' ? rest : { ...rest, maximum_expected_false_hits: Number(value) });
          }}
        >
          {E_VALUES.map(([value, label]) => (
            <option key={label} value={value === undefined ? '' : String(value)}>
              {label}
            </option>
          ))}
        </select>
      </label>
    </div>
  );
}

function Drawn({ a3m, name }: { readonly a3m: string; readonly name: string }) {
  const msa = useMemo(() => readA3m(a3m), [a3m]);
  const summary = useMemo(() => summarise(msa), [msa]);
  const file = `${name.replaceAll(/[^\w.-]+/g, '_')}.a3m`;
  return (
    <>
      <DepthPlot msa={msa} summary={summary} />
      <MsaCanvas msa={msa} summary={summary} />
      <details class="code-panel">
        <summary>The A3M itself, {bytes(a3m.length)}</summary>
        <div class="code-head">
          <span />
          <CopyButton text={a3m} />
        </div>
        <pre tabIndex={0}>
          {a3m.length > SHOWN_MAX_CHARACTERS ? `${a3m.slice(0, SHOWN_MAX_CHARACTERS)}\n…` : a3m}
        </pre>
      </details>
      <p class="buttons">
        <button type="button" class="button" onClick={() => download(file, a3m)}>
          Download A3M
        </button>
      </p>
    </>
  );
}

const SHOWN_MAX_CHARACTERS = 100_000;
