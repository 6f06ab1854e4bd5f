import { useMemo, useRef, useState } from 'preact/hooks';
import { CopyButton } from '../parts/copy.js';
import { NARROW, useMedia, useWidth } from '../parts/media.js';
import { count, counted, eValue, percent } from '../parts/format.js';
import { alignedColumns, alignmentText, blocksOf, type AlignmentBlock } from './alignment-lines.js';
import { ClosestChart } from './charts/closest-chart.js';
import { NeighbourhoodChart } from './charts/neighbourhood-chart.js';
import { attributeText, hitsOfAlignments, type Hit, type ResultSet } from './hits.js';
import type { ResultTools } from './tools.js';
import { fastaText } from './written.js';

type Tab = 'alignment' | 'closest' | 'neighbourhood' | 'protein';
const TABS: Readonly<Record<Tab, string>> = {
  alignment: 'Alignment',
  closest: 'Closest residues',
  neighbourhood: 'Neighbourhood',
  protein: 'Protein',
};

interface HitDetailProps {
  readonly result: ResultSet;
  readonly hit: Hit;
  readonly tools: ResultTools;
}

/** Details of an open row. */
export function HitDetail({ result, hit, tools }: HitDetailProps) {
  const [tab, setTab] = useState<Tab>('alignment');
  const tabs = (Object.keys(TABS) as Tab[]).filter(
    (each) => (each !== 'closest' && each !== 'neighbourhood') || tools[each] !== undefined,
  );
  const hitIds = useMemo(() => new Set(result.hits.map(({ id }) => id)), [result]);
  const move = ({ key }: KeyboardEvent): void => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[key];
    if (step !== undefined) setTab(tabs[(tabs.indexOf(tab) + step + tabs.length) % tabs.length]);
  };
  return (
    <section class="detail" aria-label={`Details of ${hit.id}`}>
      <div class="detail-head">
        <div class="tabs" role="tablist" aria-label="Details" onKeyDown={move}>
          {tabs.map((each) => (
            <button
              key={each}
              type="button"
              role="tab"
              id={`tab-${each}`}
              aria-selected={tab === each}
              aria-controls="tab-panel"
              tabIndex={tab === each ? 0 : -1}
              onClick={() => setTab(each)}
            >
              {TABS[each]}
            </button>
          ))}
        </div>
        {tools.searchHref !== undefined && (
          <a class="button quiet small" href={tools.searchHref(hit.id, hit.sequence)}>
            Search with this protein
          </a>
        )}
        {tools.manualHref !== undefined && (
          <a class="button quiet small" href={`${tools.manualHref}numbers`}>
            What the numbers mean
          </a>
        )}
      </div>
      <div id="tab-panel" role="tabpanel" aria-labelledby={`tab-${tab}`}>
        {tab === 'alignment' && <Alignments result={result} hit={hit} />}
        {tab === 'protein' && <Protein hit={hit} />}
        {tab === 'closest' && tools.closest !== undefined && (
          <ClosestChart hit={hit} querySequence={result.query.sequence} closest={tools.closest} />
        )}
        {tab === 'neighbourhood' && tools.neighbourhood !== undefined && (
          <NeighbourhoodChart id={hit.id} hitIds={hitIds} load={tools.neighbourhood} />
        )}
      </div>
    </section>
  );
}

function Alignments({ result, hit }: Omit<HitDetailProps, 'tools'>) {
  if (hit.alignment === undefined) {
    return (
      <p class="muted">
        {result.settings.hasAlignments
          ? 'No alignment: no pair of residues scores above zero.'
          : 'This search did not request alignments.'}
      </p>
    );
  }
  return (
    <>
      {hitsOfAlignments(hit).map((each, at) => (
        <Alignment key={at} result={result} hit={each} place={at + 1} />
      ))}
      <p class="legend small muted">
        <span class="residue same">A</span>&nbsp;the&nbsp;same
        <span class="residue alike">A</span>&nbsp;alike (BLOSUM62 &gt; 0)
        <span class="residue other">A</span>&nbsp;other
      </p>
    </>
  );
}

/** @param place  position among the alignments of the hit, from 1 */
function Alignment({ result, hit, place }: Omit<HitDetailProps, 'tools'> & { readonly place: number }) {
  const { alignment, logE } = hit;
  if (alignment === undefined) return null;
  const columns = alignedColumns(result.query.sequence, hit);
  const positive = columns.filter(({ kind }) => kind === 'same' || kind === 'alike').length;
  const facts = [
    `${alignment.identical_residue_count} of ${columns.length} identical ` +
      `(${percent(alignment.sequence_identity_ratio)})`,
    `${positive} identical or similar (${percent(positive / columns.length)})`,
    alignment.gap_opening_count === 0
      ? 'no gaps'
      : `${count(alignment.gap_residue_count)} residues in ${counted(alignment.gap_opening_count, 'gap')}`,
    `alignment score ${hit.score.toLocaleString('en')}`,
    ...(place > 1 && logE !== undefined ? [`E-value ${eValue(logE)}`] : []),
  ];
  return (
    <>
      <div class="facts">
        <p class="small">{facts.join(' · ')}</p>
        <CopyButton text={alignmentText(result.query.sequence, hit)} label="Copy as text" />
      </div>
      <Blocks
        columns={columns}
        alignment={alignment}
        label={`Alignment ${place === 1 ? '' : `${place} `}of the query with ${hit.id}: ${facts.join(', ')}`}
      />
    </>
  );
}

interface BlocksProps {
  readonly columns: ReturnType<typeof alignedColumns>;
  readonly alignment: NonNullable<Hit['alignment']>;
  readonly label: string;
}

/**
 * Wraps an alignment to the width of the element, in multiples of ten residues. Sizes equal those of the style sheet,
 * in rem.
 */
function Blocks({ columns, alignment, label }: BlocksProps) {
  const frame = useRef<HTMLDivElement>(null);
  const isNarrow = useMedia(NARROW);
  const width = useWidth(frame) / parseFloat(getComputedStyle(document.documentElement).fontSize);
  const [beside, residue] = isNarrow ? [7.6, 0.47] : [9.4, 0.62];
  const room = 10 * Math.floor((width - beside) / residue / 10);
  return (
    <div ref={frame} class="alignment" role="img" aria-label={label}>
      {blocksOf(columns, alignment, Math.max(30, Math.min(100, room))).map((block) => (
        <Block key={block.queryAt} block={block} />
      ))}
    </div>
  );
}

function Block({ block: { columns, queryAt, targetAt } }: { readonly block: AlignmentBlock }) {
  const end = (side: 'query' | 'target', at: number): number =>
    at + columns.filter((column) => column[side] !== '-').length;
  const row = (side: 'query' | 'target', at: number) => (
    <>
      <span class="place">{at + 1}</span>
      <span class="residues">
        {columns.map((column, index) => (
          <span key={index} class={`residue ${column.kind}`}>
            {column[side]}
          </span>
        ))}
      </span>
      <span class="place end">{end(side, at)}</span>
    </>
  );
  return (
    <div class="block">
      <span class="side">query</span>
      {row('query', queryAt)}
      <span class="side">target</span>
      {row('target', targetAt)}
    </div>
  );
}

function Protein({ hit }: { readonly hit: Hit }) {
  const attributes = Object.entries(hit.attributes);
  const lineResidues = useMedia(NARROW) ? 30 : 60;
  return (
    <div class="protein">
      <dl class="pairs">
        {attributes.map(([name, value]) => (
          <div key={name}>
            <dt>{name.replaceAll('_', ' ')}</dt>
            <dd>{attributeText(value)}</dd>
          </div>
        ))}
      </dl>
      <div>
        <pre class="sequence">{inTens(hit.sequence, lineResidues)}</pre>
        <CopyButton text={fastaText([hit])} label="Copy FASTA" />
      </div>
    </div>
  );
}

/** Splits a sequence into groups of ten residues, with `lineResidues` residues a line. */
function inTens(sequence: string, lineResidues: number): string {
  const lines = sequence.match(new RegExp(`.{1,${lineResidues}}`, 'g')) ?? [];
  return lines.map((line) => line.replace(/.{10}(?=.)/g, '$& ')).join('\n');
}
