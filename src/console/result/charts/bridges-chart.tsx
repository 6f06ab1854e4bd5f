import { useMemo } from 'preact/hooks';
import { counted, eValue } from '../../parts/format.js';
import { surprise } from '../colour.js';
import type { Propagated, ResultSet } from '../hits.js';
import type { Neighbourhood } from '../tools.js';
import { NeighbourhoodEdges } from './neighbourhood-edges.js';
import { FRAME, layout } from './neighbourhood-layout.js';
import { SurpriseLegend } from './surprise-legend.js';

/** Targets of a drawing. Further ones are in the table only. */
const DRAWN_MAX_COUNT = 150;
/** With more targets their names would cover each other. */
const NAMED_MAX_COUNT = 12;
const NAME_MAX_LENGTH = 24;
/** Room above and below the proteins. Unit: that of the picture */
const ABOVE = 16;

interface BridgesChartProps {
  readonly result: Pick<ResultSet, 'query' | 'hits' | 'propagation'>;
  /** Propagated hits that are drawn, by E-value. */
  readonly propagated: readonly Propagated[];
}

/** Draws how the query reaches targets by way of bridges: a picture without actions, which a report can have, too. */
export function BridgesChart({ result, propagated }: BridgesChartProps) {
  const drawing = useMemo(() => drawingOf(result, propagated.slice(0, DRAWN_MAX_COUNT)), [result]);
  const points = useMemo(() => layout(drawing), [drawing]);
  const { proteins, edges, logEs, hitIds } = drawing;
  // Few proteins do not fill the height of the frame.
  const ys = points.map(({ y }) => y);
  const top = Math.min(...ys) - ABOVE;
  const targets = new Set(propagated.slice(0, NAMED_MAX_COUNT).map(({ target_id: id }) => id));
  return (
    <figure class="neighbourhood">
      <svg
        viewBox={`0 ${top} ${FRAME.width} ${Math.max(...ys) + ABOVE - top}`}
        role="img"
        aria-label={`Paths from ${proteins[0].id} by way of bridges to ${counted(propagated.length, 'protein')}`}
      >
        <NeighbourhoodEdges edges={edges} points={points} />
        {proteins.map(({ id }, at) => (
          <circle
            key={id}
            cx={points[at].x}
            cy={points[at].y}
            r={at === 0 ? 9 : 5}
            class={`protein-dot is-still fill s${surprise({ logE: logEs[at] })} ${hitIds.has(id) ? 'is-hit' : ''}`}
          >
            <title>{logEs[at] === undefined ? id : `${id}, E-value ${eValue(logEs[at])}`}</title>
          </circle>
        ))}
        {proteins.map(({ id }, at) =>
          at === 0 || targets.has(id) ? (
            <text key={id} class="dot-name" x={points[at].x + 9} y={points[at].y + 4}>
              {id.length > NAME_MAX_LENGTH ? `${id.slice(0, NAME_MAX_LENGTH)}…` : id}
            </text>
          ) : null,
        )}
      </svg>
      <figcaption>
        <SurpriseLegend words="A ring marks a hit of the direct comparison." />
      </figcaption>
    </figure>
  );
}

interface Drawing extends Neighbourhood {
  /** ln E of each protein, by the walk or by the direct comparison; undefined for the query. */
  readonly logEs: readonly (number | undefined)[];
  readonly hitIds: ReadonlySet<string>;
}

/** Returns the query, the targets and the bridges between them, with an edge for each alignment. */
function drawingOf(
  { query, hits, propagation }: BridgesChartProps['result'],
  drawn: readonly Propagated[],
): Drawing {
  const direct = new Map(hits.map(({ id, logE }) => [id, logE]));
  const walked = new Map((propagation?.hits ?? []).map((hit) => [hit.target_id, hit]));
  // The query has no id that a target could have.
  const places = new Map<string, number>();
  const edges: Neighbourhood['edges'][number][] = [];
  const place = (id: string): number => {
    const known = places.get(id);
    if (known !== undefined) return known;
    const at = places.size + 1;
    places.set(id, at);
    const bridge = walked.get(id)?.bridge;
    const logE = direct.get(id);
    if (bridge !== undefined) {
      const source = place(bridge.target_id);
      edges.push({ source, target: at, log_expected_false_hits: bridge.to_target.log_expected_false_hits });
    }
    if (logE !== undefined && (bridge === undefined || logE <= LARGEST_DRAWN_LOG_E)) {
      edges.push({ source: 0, target: at, log_expected_false_hits: logE });
    }
    return at;
  };
  for (const { target_id: id } of drawn) place(id);
  const ids = [...places.keys()];
  return {
    proteins: [query.id, ...ids].map((id, at) => ({ id, attributes: {}, steps: Math.min(at, 1) })),
    edges,
    left_out_count: 0,
    logEs: [undefined, ...ids.map((id) => leastOf(direct.get(id), walked.get(id)?.log_expected_false_hits))],
    hitIds: new Set(ids.filter((id) => direct.has(id))),
  };
}

/** Largest E-value of a direct hit that is drawn as an edge. */
const LARGEST_DRAWN_LOG_E = Math.log(10);

function leastOf(...values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}
