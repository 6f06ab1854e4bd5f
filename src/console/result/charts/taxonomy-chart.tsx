import { hierarchy, partition, type HierarchyRectangularNode } from 'd3-hierarchy';
import { useRef, useState } from 'preact/hooks';
import { sankey, sankeyLinkHorizontal, type SankeyLink, type SankeyNode } from 'd3-sankey';
import { count, counted } from '../../parts/format.js';
import { useWidth } from '../../parts/media.js';
import type { TaxonNode } from '../taxonomy.js';

interface TaxonomyChartProps {
  readonly tree: TaxonNode;
  readonly chosen: readonly string[];
  readonly onChoose: (taxon: string) => void;
}

/** Draws the hits by taxon, as rings or as streams. A click selects a taxon, a second click deselects it. */
export function TaxonomyChart(props: TaxonomyChartProps) {
  const [form, setForm] = useState<'sunburst' | 'sankey'>('sunburst');
  return (
    <figure class={form === 'sankey' ? 'chart across' : 'chart'}>
      <figcaption>
        <h3>Taxonomy</h3>
        <div class="segments" role="group" aria-label="Form">
          {(['sunburst', 'sankey'] as const).map((each) => (
            <button key={each} type="button" aria-pressed={form === each} onClick={() => setForm(each)}>
              {each === 'sunburst' ? 'Rings' : 'Streams'}
            </button>
          ))}
        </div>
      </figcaption>
      {form === 'sunburst' ? <Sunburst {...props} /> : <Streams {...props} />}
    </figure>
  );
}

const SIZE = 300;
const RINGS = 5;
const LINES_MAX_COUNT = 6;

function Sunburst(props: TaxonomyChartProps) {
  const { tree, chosen, onChoose } = props;
  const taxa = hierarchy(lifted(tree), ({ children }) => children)
    .sum(({ count, children }) => count - children.reduce((sum, child) => sum + child.count, 0))
    .sort((a, b) => (b.value ?? 0) - (a.value ?? 0));
  // The shown levels fill the circle, however deep the lineages are.
  const levelHeight = (RINGS + 1) / (Math.min(RINGS, taxa.height) + 1);
  const root = partition<TaxonNode>().size([2 * Math.PI, (taxa.height + 1) * levelHeight])(taxa);
  const shown = root
    .descendants()
    .filter(({ depth, x0, x1 }) => depth > 0 && depth <= RINGS && x1 - x0 > 0.004);
  return (
    <div class="rings">
      <svg
        viewBox={`${-SIZE / 2} ${-SIZE / 2} ${SIZE} ${SIZE}`}
        class="sunburst"
        role="group"
        aria-label="Hits by taxon"
      >
        {shown.map((node) => {
          const { data } = node;
          const isChosen = chosen.includes(data.name);
          return (
            <path
              key={node
                .ancestors()
                .map((each) => each.data.name)
                .join('/')}
              d={arc(node)}
              class={`taxon ${isChosen ? 'is-chosen' : ''}`}
              style={{ fill: colourOf(node) }}
              tabindex={node.depth <= 2 ? 0 : -1}
              role="button"
              aria-pressed={isChosen}
              aria-label={`${data.name}, ${counted(data.count, 'hit')}`}
              onClick={() => onChoose(data.name)}
              onKeyDown={({ key }) => key === 'Enter' && onChoose(data.name)}
            >
              <title>{`${data.name}: ${counted(data.count, 'hit')}`}</title>
            </path>
          );
        })}
        <text class="sunburst-count" text-anchor="middle" y={-2}>
          {tree.count}
        </text>
        <text class="tick" text-anchor="middle" y={13}>
          {tree.count === 1 ? 'hit' : 'hits'}
        </text>
      </svg>
      <TaxonLines {...props} nodes={root.children ?? []} />
    </div>
  );
}

interface TaxonLinesProps extends TaxonomyChartProps {
  readonly nodes: readonly HierarchyRectangularNode<TaxonNode>[];
}

/** Lists the taxa of the innermost ring with their colours. */
function TaxonLines({ nodes, chosen, onChoose }: TaxonLinesProps) {
  const more = nodes.length - LINES_MAX_COUNT;
  return (
    <ul class="taxon-lines">
      {nodes.slice(0, LINES_MAX_COUNT).map((node) => (
        <li key={node.data.name}>
          <button
            type="button"
            aria-pressed={chosen.includes(node.data.name)}
            onClick={() => onChoose(node.data.name)}
          >
            <i class="dot" style={{ background: colourOf(node) }} aria-hidden="true" />
            <span class="clip" title={node.data.name}>
              {node.data.name}
            </span>
            <span class="muted number">{count(node.data.count)}</span>
          </button>
        </li>
      ))}
      {more > 0 && <li class="small muted">and {count(more)} more</li>}
    </ul>
  );
}

/** Drops the ranks that all hits share. The tree begins at its first branch. */
function lifted(tree: TaxonNode): TaxonNode {
  const [only] = tree.children;
  return tree.children.length === 1 && only.children.length > 0 && only.count === tree.count
    ? lifted(only)
    : tree;
}

function colourOf({ x0, x1, depth }: HierarchyRectangularNode<TaxonNode>): string {
  const hue = Math.round(225 + (330 * (x0 + x1)) / 2 / (2 * Math.PI)) % 360;
  return `hsl(${hue} 38% ${44 + 6 * depth}%)`;
}

function arc({ x0, x1, y0, y1 }: HierarchyRectangularNode<TaxonNode>): string {
  const unit = SIZE / 2 / (RINGS + 1);
  const [inner, outer] = [y0 * unit + 1, y1 * unit - 0.5];
  const end = Math.min(x1, x0 + 2 * Math.PI - 0.001);
  const at = (angle: number, radius: number): string =>
    `${(radius * Math.sin(angle)).toFixed(2)} ${(-radius * Math.cos(angle)).toFixed(2)}`;
  const isLarge = end - x0 > Math.PI ? 1 : 0;
  return (
    `M${at(x0, outer)}A${outer} ${outer} 0 ${isLarge} 1 ${at(end, outer)}` +
    `L${at(end, inner)}A${inner} ${inner} 0 ${isLarge} 0 ${at(x0, inner)}Z`
  );
}

interface StreamTaxon {
  readonly id: string;
  /** Depth in the tree; 0 for the taxon that all hits share. */
  readonly rank: number;
  readonly name: string;
  readonly count: number;
}

const STREAM_RANKS = 5;
const STREAM_MAX_TAXA = 40;
/** Smallest width of a rank with its names, and height of one line of names. Unit  pixels */
const RANK_MIN_WIDTH = 105;
const NAME_HEIGHT = 17;
const LETTER_WIDTH = 6;

/**
 * Draws the streams as wide as the element. A narrow element has fewer ranks, so that names stay readable on a phone.
 */
function Streams(props: TaxonomyChartProps) {
  const frame = useRef<HTMLDivElement>(null);
  const width = useWidth(frame);
  return <div ref={frame}>{width > 0 && <StreamsOf {...props} width={width} />}</div>;
}

function StreamsOf({ tree, chosen, onChoose, width }: TaxonomyChartProps & { readonly width: number }) {
  const rankCount = Math.min(STREAM_RANKS, Math.max(2, Math.floor(width / RANK_MIN_WIDTH)));
  const { nodes, links } = streamsOf(lifted(tree), rankCount);
  if (links.length === 0) return <p class="muted">All hits are of one taxon.</p>;
  const columns = [
    ...nodes.reduce((at, { rank }) => at.set(rank, (at.get(rank) ?? 0) + 1), new Map<number, number>()),
  ];
  const nameWidth = width / columns.length - 16;
  const height = Math.max(160, NAME_HEIGHT * Math.max(...columns.map(([, taxa]) => taxa)));
  const graph = sankey<StreamTaxon, object>()
    .nodeId(({ id }) => id)
    .nodeWidth(9)
    .nodePadding(7)
    .extent([
      [1, 4],
      [width - nameWidth, height - 4],
    ])({ nodes, links });
  const path = sankeyLinkHorizontal();
  return (
    <svg viewBox={`0 0 ${width} ${height}`} role="group" aria-label="Hits by taxon, as streams">
      {graph.links.map((link) => (
        <path
          key={link.index}
          d={path(link) ?? ''}
          class="stream"
          stroke-width={Math.max(1, link.width ?? 1)}
        />
      ))}
      {graph.nodes.map(({ id, name, count: hits, x0 = 0, x1 = 0, y0 = 0, y1 = 0 }) => (
        <g
          key={id}
          class={`stream-taxon ${chosen.includes(name) ? 'is-chosen' : ''}`}
          role="button"
          tabindex={0}
          onClick={() => onChoose(name)}
          onKeyDown={({ key }) => key === 'Enter' && onChoose(name)}
        >
          <title>{`${name}: ${counted(hits, 'hit')}`}</title>
          <rect x={x0} y={y0} width={x1 - x0} height={Math.max(1, y1 - y0)} rx={1.5} />
          <text x={x1 + 4} y={(y0 + y1) / 2 + 3.5} class="tick" aria-hidden="true">
            {shortened(name, nameWidth / LETTER_WIDTH - String(hits).length - 2)} {hits}
          </text>
        </g>
      ))}
    </svg>
  );
}

function shortened(name: string, letters: number): string {
  return name.length <= letters ? name : `${name.slice(0, Math.max(3, Math.floor(letters) - 1))}…`;
}

/** Returns the largest taxa of the first ranks and the links between them. */
function streamsOf(
  tree: TaxonNode,
  rankCount: number,
): {
  readonly nodes: SankeyNode<StreamTaxon, object>[];
  readonly links: SankeyLink<StreamTaxon, object>[];
} {
  const all = hierarchy(tree, ({ children }) => children)
    .descendants()
    .filter(({ depth }) => depth < rankCount);
  const largest = new Set([...all].sort((a, b) => b.data.count - a.data.count).slice(0, STREAM_MAX_TAXA));
  const idOf = (node: (typeof all)[number]): string =>
    node
      .ancestors()
      .map(({ data }) => data.name)
      .join('/');
  const list = all.filter((node) => largest.has(node));
  return {
    nodes: list.map((node) => ({
      id: idOf(node),
      rank: node.depth,
      name: node.data.name,
      count: node.data.count,
    })),
    links: list.flatMap((node) =>
      node.parent === null ? [] : [{ source: idOf(node.parent), target: idOf(node), value: node.data.count }],
    ),
  };
}
