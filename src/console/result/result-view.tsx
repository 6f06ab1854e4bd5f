import type { ComponentChildren } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { count, counted, seconds } from '../parts/format.js';
import { NARROW, useMedia } from '../parts/media.js';
import { CoverageChart } from './charts/coverage-chart.js';
import { ScoreChart } from './charts/score-chart.js';
import { TaxonomyChart } from './charts/taxonomy-chart.js';
import {
  columnsOf,
  FIRST_COLUMNS,
  firstOrder,
  sorted,
  type Column,
  type FirstSort,
  type Order,
} from './columns.js';
import { chosen, isAll, NO_CHOICE, toggled, type Choice } from './facets.js';
import { FacetAside } from './facet-panel.js';
import { HitDetail } from './hit-detail.js';
import { ColumnLinks } from './column-links.js';
import { HitTable } from './hit-table.js';
import { fieldsOf, type Hit, type ResultSet } from './hits.js';
import { PropagatedHits } from './propagated-hits.js';
import { ResultActions } from './result-actions.js';
import { lineageField, taxonTree } from './taxonomy.js';
import type { ResultTools } from './tools.js';

interface ResultViewProps {
  readonly result: ResultSet;
  readonly tools: ResultTools;
  /** What the table is ordered by at first. Default: E-values, if there are any. */
  readonly sort?: FirstSort;
  /** Panel "As code" and others of the page that shows the result. */
  readonly children?: ComponentChildren;
}

/** Columns on a phone, with their widths. */
const NARROW_WIDTHS: Readonly<Record<string, string>> = {
  target: 'minmax(0, 1fr)',
  evalue: '6rem',
  identity: '4.6rem',
};
const NARROW_COLUMNS = Object.keys(NARROW_WIDTHS);

/** Shows the result of one query: charts, facets and table of the same hits. */
export function ResultView({ result, tools, sort, children }: ResultViewProps) {
  const { hits } = result;
  const isNarrow = useMedia(NARROW);
  const [choice, setChoice] = useState<Choice>(NO_CHOICE);
  const [order, setOrder] = useState<Order>(() => firstOrder(sort, hits));
  const [shownIds, setShownIds] = useState<readonly string[]>(() => firstColumns(result));
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [openId, setOpenId] = useState<string>();

  const fields = useMemo(() => fieldsOf(hits), [hits]);
  const columns = useMemo(() => columnsOf(fields), [fields]);
  const shown = useMemo(() => {
    const by = columns.find(({ id }) => id === order.column) ?? columns[0];
    return sorted(chosen(hits, choice), by, order.isDescending);
  }, [hits, choice, order, columns]);
  const ids = isNarrow ? NARROW_COLUMNS : shownIds;
  const visible = columns
    .filter(({ id }) => ids.includes(id))
    .map((column) => (isNarrow ? { ...column, width: NARROW_WIDTHS[column.id] ?? column.width } : column));

  const orderBy = ({ id, isDescending = false }: Column): void =>
    setOrder((before) => ({
      column: id,
      isDescending: before.column === id ? !before.isDescending : isDescending,
    }));
  const select = (list: readonly string[], isSelected: boolean): void =>
    setSelected(
      (before) => new Set(isSelected ? [...before, ...list] : [...before].filter((id) => !list.includes(id))),
    );
  const open = (id: string): void => {
    setOpenId(id);
    document.querySelector('.hit-table')?.scrollIntoView({ block: 'start' });
  };
  const isProbableOnly = choice.maxLog10E !== undefined && choice.maxLog10E <= PROBABLE_LOG10E;
  return (
    <article class="result">
      <ResultHead
        result={result}
        onProbable={isProbableOnly ? undefined : () => setChoice({ ...choice, maxLog10E: PROBABLE_LOG10E })}
      />
      {children}
      {hits.length > 0 && (
        <>
          <Charts
            result={result}
            shown={shown}
            choice={choice}
            onChoice={setChoice}
            onOpen={open}
            onRange={tools.onRange}
          />
          <div class="result-body">
            <FacetAside
              hits={hits}
              fields={fields}
              choice={choice}
              onChoice={setChoice}
              isNarrow={isNarrow}
            />
            <section aria-label="Hits">
              <ResultActions
                result={result}
                tools={tools}
                shown={shown}
                selected={selected}
                columns={columns}
                shownIds={shownIds}
                orderedBy={orderWords(columns, order)}
                onColumns={isNarrow ? undefined : setShownIds}
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
              {tools.manualHref !== undefined && (
                <ColumnLinks columns={visible} manualHref={tools.manualHref} />
              )}
              <PropagatedHits result={result} tools={tools} />
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
  readonly onRange: ResultTools['onRange'];
}

/** Charts of scores, aligned query ranges and taxa. A click in a chart filters the hits or opens one. */
function Charts({ result, shown, choice, onChoice, onOpen, onRange }: ChartsProps) {
  const { hits, query } = result;
  const isNarrow = useMedia(NARROW);
  const taxa = lineageField(hits);
  const more = (
    <>
      <CoverageChart hits={shown} query={query} onOpen={onOpen} onRange={onRange} />
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

/** Returns the default columns without those that would be empty. */
function firstColumns({ hits, settings }: ResultSet): readonly string[] {
  const has = {
    evalue: hits.some(({ logE }) => logE !== undefined),
    probability: hits.some(({ probability }) => probability !== undefined),
    bits: hits.some(({ bits }) => bits !== undefined),
    organism: hits.some(({ organism }) => organism !== ''),
    qcov: settings.hasAlignments,
    identity: settings.hasAlignments,
  } as Readonly<Record<string, boolean | undefined>>;
  return FIRST_COLUMNS.filter((id) => has[id] !== false);
}

/** Decimal logarithm of the largest E-value of a hit that is called probably related. */
const PROBABLE_LOG10E = -3;

function countProbable(hits: ResultSet['hits']): number {
  return hits.filter(({ logE }) => logE !== undefined && logE <= PROBABLE_LOG10E * Math.LN10).length;
}

/** Describes the order of the rows. */
function orderWords(columns: readonly Column[], { column, isDescending }: Order): string {
  if (column === 'rank' && !isDescending) return 'nearest first';
  const { title = '' } = columns.find(({ id }) => id === column) ?? {};
  return `by ${title === '#' ? 'rank' : title}${isDescending ? ', largest first' : ''}`;
}

/** Summarizes the result in one sentence. Without E-values it does not say which hits are related. */
function findings(hits: ResultSet['hits'], isLimitReached: boolean): string {
  if (hits.length === 0) return 'No hits: no protein of the database passes the filter.';
  const nearest = `${count(hits.length)} ${isLimitReached ? 'nearest' : 'compared'}`;
  const logs = hits.flatMap(({ logE }) => logE ?? []);
  if (logs.length === 0)
    return `The ${nearest}. Without E-values, this database does not show which are related.`;
  const probable = countProbable(hits);
  const are = probable === 1 ? 'is' : 'are';
  return `${counted(probable, 'protein')} ${are} probably related (E up to 0.001), of the ${nearest}.`;
}

/** Names the residues that were searched. */
function searchedResidues({ sequence, range }: ResultSet['query']): string {
  const all = counted(sequence.length, 'residue');
  return range === undefined ? all : `Residues ${range.start + 1} to ${range.end} of ${all}, alone,`;
}

interface ResultHeadProps {
  readonly result: ResultSet;
  /** Shows only the probably related hits; undefined if only those are visible. */
  readonly onProbable: (() => void) | undefined;
}

function ResultHead({ result, onProbable }: ResultHeadProps) {
  const { query, hits, database, settings, isLimitReached, searchMs, isCacheHit, warnings } = result;
  const time =
    isCacheHit === true
      ? ' in an earlier search (cached answer)'
      : searchMs === undefined
        ? ''
        : ` in ${seconds(searchMs / 1000)}`;
  return (
    <header class="result-head">
      <p class="eyebrow">
        {searchedResidues(query)} against {database.slug}
      </p>
      <h1>
        {query.description === undefined || query.description === ''
          ? query.id
          : `${query.id} ${query.description}`}
      </h1>
      <p class="lead">
        {findings(hits, isLimitReached)}{' '}
        {onProbable !== undefined && countProbable(hits) > 0 && (
          <button type="button" class="link" onClick={onProbable}>
            {countProbable(hits) === 1 ? 'Show only this one' : 'Show only these'}
          </button>
        )}
      </p>
      <p class="small muted">
        {counted(database.targetCount, 'protein')}{' '}
        {result.isExhaustive === false ? 'scanned, the nearest of them compared in full' : 'compared'}
        {result.knownLosses !== undefined && ` (measured on this database: the search ${result.knownLosses})`}
        {time}
        {settings.databaseSize !== undefined &&
          `. E-values are those of a database of ${counted(settings.databaseSize, 'protein')}`}
      </p>
      {warnings.map((warning) => (
        <p key={warning} class="small warning">
          {warning}
        </p>
      ))}
    </header>
  );
}
