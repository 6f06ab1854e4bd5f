import type { ComponentChildren } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { counted, seconds } from '../parts/format.js';
import { NARROW, useMedia } from '../parts/media.js';
import { CoverageChart } from './charts/coverage-chart.js';
import { ScoreChart } from './charts/score-chart.js';
import { TaxonomyChart } from './charts/taxonomy-chart.js';
import { columnsOf, FIRST_COLUMNS, sorted, type Column, type Order } from './columns.js';
import { chosen, facetsOf, isAll, NO_CHOICE, toggled, type Choice } from './facets.js';
import { FacetPanel } from './facet-panel.js';
import { HitDetail } from './hit-detail.js';
import { HitTable } from './hit-table.js';
import { fieldsOf, type Hit, type ResultSet } from './hits.js';
import { ResultActions } from './result-actions.js';
import { lineageField, taxonTree } from './taxonomy.js';
import type { ResultTools } from './tools.js';

interface ResultViewProps {
  readonly result: ResultSet;
  readonly tools: ResultTools;
  /** "As code" and whatever else belongs to where it was asked. */
  readonly children?: ComponentChildren;
}

const NARROW_COLUMNS = ['target', 'evalue', 'identity'];

/** What was found for one query: charts, facets and the table, all of the same hits. */
export function ResultView({ result, tools, children }: ResultViewProps) {
  const { hits } = result;
  const isNarrow = useMedia(NARROW);
  const [choice, setChoice] = useState<Choice>(NO_CHOICE);
  const [order, setOrder] = useState<Order>({ column: 'rank', isDescending: false });
  const [shownIds, setShownIds] = useState<readonly string[]>(() => firstColumns(result));
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [openId, setOpenId] = useState<string>();

  const fields = useMemo(() => fieldsOf(hits), [hits]);
  const columns = useMemo(() => columnsOf(fields), [fields]);
  const taxa = lineageField(hits);
  const facetFields = fields.filter((field) => field !== 'name' && field !== taxa);
  const facets = useMemo(() => facetsOf(hits, choice, facetFields), [hits, choice, fields]);
  const shown = useMemo(() => {
    const by = columns.find(({ id }) => id === order.column) ?? columns[0];
    return sorted(chosen(hits, choice), by, order.isDescending);
  }, [hits, choice, order, columns]);
  const ids = isNarrow ? NARROW_COLUMNS : shownIds;
  const visible = columns
    .filter(({ id }) => ids.includes(id))
    .map((column) => (isNarrow && column.id === 'target' ? { ...column, width: 'minmax(0, 1fr)' } : column));

  const orderBy = ({ id, isDescending = false }: Column): void =>
    setOrder((known) => ({
      column: id,
      isDescending: known.column === id ? !known.isDescending : isDescending,
    }));
  const select = (list: readonly string[], isSelected: boolean): void =>
    setSelected(
      (known) => new Set(isSelected ? [...known, ...list] : [...known].filter((id) => !list.includes(id))),
    );
  const open = (id: string): void => {
    setOpenId(id);
    document.querySelector('.hit-table')?.scrollIntoView({ block: 'start' });
  };
  const lengths = hits.map(({ length }) => length);
  const facetPanel = (
    <FacetPanel
      facets={facets}
      choice={choice}
      onChoice={setChoice}
      lengths={[Math.min(...lengths), Math.max(...lengths)]}
    />
  );
  return (
    <article class="result">
      <ResultHead result={result} />
      {children}
      {hits.length > 0 && (
        <>
          <Charts result={result} shown={shown} choice={choice} onChoice={setChoice} onOpen={open} />
          <div class="result-body">
            <aside aria-label="Filter the hits">
              {isNarrow ? (
                <details class="facet-drawer">
                  <summary class="button">Filter</summary>
                  {facetPanel}
                </details>
              ) : (
                facetPanel
              )}
            </aside>
            <section aria-label="Hits">
              <ResultActions
                result={result}
                tools={tools}
                shown={shown}
                selected={selected}
                columns={columns}
                shownIds={shownIds}
                onColumns={setShownIds}
                onClear={isAll(choice) ? undefined : () => setChoice(NO_CHOICE)}
              />
              <HitTable
                result={result}
                hits={shown}
                columns={visible}
                order={order}
                onOrder={orderBy}
                selected={selected}
                onSelect={select}
                openId={openId}
                onOpen={setOpenId}
                renderOpen={(hit: Hit) => <HitDetail result={result} hit={hit} tools={tools} />}
              />
            </section>
          </div>
        </>
      )}
    </article>
  );
}

interface ChartsProps {
  readonly result: ResultSet;
  readonly shown: readonly Hit[];
  readonly choice: Choice;
  readonly onChoice: (choice: Choice) => void;
  readonly onOpen: (id: string) => void;
}

/** Scores, stretches of the query and taxa of the hits; each of them filters or opens. */
function Charts({ result, shown, choice, onChoice, onOpen }: ChartsProps) {
  const { hits, query } = result;
  const isNarrow = useMedia(NARROW);
  const taxa = lineageField(hits);
  const more = (
    <>
      <CoverageChart hits={shown} queryLength={query.sequence.length} onOpen={onOpen} />
      {taxa !== undefined && (
        <TaxonomyChart
          tree={taxonTree(chosen(hits, choice, taxa), taxa)}
          chosen={choice.values[taxa] ?? []}
          onChoose={(taxon) => onChoice(toggled(choice, taxa, taxon))}
        />
      )}
    </>
  );
  return (
    <div class="charts">
      <ScoreChart
        hits={chosen(hits, { ...choice, maxLog10E: undefined })}
        maxLog10E={choice.maxLog10E}
        onMax={(maxLog10E) => onChoice({ ...choice, maxLog10E })}
      />
      {isNarrow ? (
        <details class="chart-drawer">
          <summary class="button">More charts</summary>
          {more}
        </details>
      ) : (
        more
      )}
    </div>
  );
}

/** Columns that would be empty are left out. */
function firstColumns({ hits, settings }: ResultSet): readonly string[] {
  const has = {
    evalue: hits.some(({ logE }) => logE !== undefined),
    bits: hits.some(({ bits }) => bits !== undefined),
    organism: hits.some(({ organism }) => organism !== ''),
    qcov: settings.hasAlignments,
    identity: settings.hasAlignments,
  } as Readonly<Record<string, boolean | undefined>>;
  return FIRST_COLUMNS.filter((id) => has[id] !== false);
}

/** What was found, in one sentence. Without E-values nobody can say what is related. */
function findings(hits: ResultSet['hits'], isLimitReached: boolean): string {
  if (hits.length === 0) return 'Nothing was found: no protein of the database passes the filter.';
  const nearest = `${counted(hits.length, 'nearest protein')}${isLimitReached ? ' asked for' : ''}`;
  const logs = hits.flatMap(({ logE }) => logE ?? []);
  if (logs.length === 0) return `The ${nearest}; this database has no E-values to say which are related.`;
  const sure = logs.filter((log) => log <= Math.log(0.001)).length;
  return `${counted(sure, 'protein')} ${sure === 1 ? 'is' : 'are'} surely related (E up to 0.001), of the ${nearest}.`;
}

function ResultHead({ result }: { readonly result: ResultSet }) {
  const { query, hits, database, isLimitReached, searchMs, isCacheHit, warnings } = result;
  const time =
    isCacheHit === true
      ? ', the result was known'
      : searchMs === undefined
        ? ''
        : ` in ${seconds(searchMs / 1000)}`;
  return (
    <header class="result-head">
      <p class="eyebrow">
        {counted(query.sequence.length, 'residue')} against {database.slug}
      </p>
      <h1>
        {query.description === undefined || query.description === ''
          ? query.id
          : `${query.id} ${query.description}`}
      </h1>
      <p class="lead">
        {findings(hits, isLimitReached)}{' '}
        <span class="muted">
          {counted(database.targetCount, 'protein')} compared{time}
        </span>
      </p>
      {warnings.map((warning) => (
        <p key={warning} class="small warning">
          {warning}
        </p>
      ))}
    </header>
  );
}
