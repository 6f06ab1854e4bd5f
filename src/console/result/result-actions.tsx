import { download, svgPicture, svgText } from '../parts/download.js';
import { count } from '../parts/format.js';
import { Menu } from '../parts/menu.js';
import type { Column } from './columns.js';
import type { Hit, ResultSet } from './hits.js';
import type { ResultTools } from './tools.js';
import { a3mText, fastaText, tableText } from './written.js';

interface ResultActionsProps {
  readonly result: ResultSet;
  readonly tools: ResultTools;
  /** The visible hits, in their order. */
  readonly shown: readonly Hit[];
  readonly selected: ReadonlySet<string>;
  readonly columns: readonly Column[];
  readonly shownIds: readonly string[];
  /** Description of the order. */
  readonly orderedBy: string;
  /** Undefined if the page is too narrow for a choice of columns. */
  readonly onColumns: ((ids: readonly string[]) => void) | undefined;
  /** Undefined if no filter is active. */
  readonly onClear: (() => void) | undefined;
}

/** Actions on the visible hits, or on the selected hits. */
export function ResultActions(props: ResultActionsProps) {
  const { result, tools, shown, selected, columns, shownIds, orderedBy, onColumns, onClear } = props;
  const picked = shown.filter(({ id }) => selected.has(id));
  const meant = picked.length > 0 ? picked : shown;
  const toggle = (id: string): void =>
    onColumns?.(shownIds.includes(id) ? shownIds.filter((each) => each !== id) : [...shownIds, id]);
  return (
    <div class="actions">
      <p role="status">
        <b>{count(shown.length)}</b> of {count(result.hits.length)} shown, {orderedBy}
        {picked.length > 0 && `, ${count(picked.length)} selected`}
        {onClear !== undefined && (
          <button type="button" class="link" onClick={onClear}>
            show all
          </button>
        )}
      </p>
      <div class="buttons">
        {tools.msaHref !== undefined && (
          <a class="button" href={tools.msaHref}>
            Alignment of all
          </a>
        )}
        {tools.onRun !== undefined && picked.length > 0 && (
          <button type="button" class="button" onClick={() => tools.onRun?.(fastaText(picked))}>
            Search with {count(picked.length)}
          </button>
        )}
        <Menu label={picked.length > 0 ? `Download ${count(picked.length)}` : 'Download'}>
          <Downloads result={result} hits={meant} columns={columns} />
        </Menu>
        {onColumns !== undefined && (
          <Menu label="Columns">
            <fieldset class="checks">
              <legend class="small muted">Columns of the table</legend>
              {columns.map(({ id, title, meaning }) => (
                <label key={id} title={meaning}>
                  <input type="checkbox" checked={shownIds.includes(id)} onChange={() => toggle(id)} />
                  {title === '#' ? 'Rank' : title}
                </label>
              ))}
            </fieldset>
          </Menu>
        )}
      </div>
    </div>
  );
}

function Downloads({
  result,
  hits,
  columns,
}: Pick<ResultActionsProps, 'result' | 'columns'> & { readonly hits: readonly Hit[] }) {
  const { query, settings } = result;
  const name = query.id.replaceAll(/[^\w.-]+/g, '_') || 'query';
  const charts = (): SVGSVGElement[] => [...document.querySelectorAll<SVGSVGElement>('.charts svg')];
  const drawn = (): void =>
    charts().forEach((svg, index) => download(`${name}-${index + 1}.svg`, svgText(svg), 'image/svg+xml'));
  const painted = (): void =>
    charts().forEach(
      (svg, index) => void svgPicture(svg).then((blob) => download(`${name}-${index + 1}.png`, blob)),
    );
  const items: readonly (readonly [string, () => void])[] = [
    ['CSV', () => download(`${name}.csv`, tableText(hits, columns, ','), 'text/csv')],
    ['TSV', () => download(`${name}.tsv`, tableText(hits, columns, '\t'), 'text/tab-separated-values')],
    ['FASTA', () => download(`${name}.fasta`, fastaText(hits))],
    ...(settings.hasAlignments
      ? [['A3M', () => download(`${name}.a3m`, a3mText(query, hits))] as const]
      : []),
    ['Charts as SVG', drawn],
    ['Charts as PNG', painted],
  ];
  return (
    <>
      {items.map(([label, save]) => (
        <button key={label} type="button" class="menu-item" onClick={save}>
          {label}
        </button>
      ))}
    </>
  );
}
