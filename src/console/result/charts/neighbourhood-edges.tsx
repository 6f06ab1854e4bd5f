import type { Neighbourhood } from '../tools.js';
import { edgeStrength, type Point } from './neighbourhood-layout.js';

interface NeighbourhoodEdgesProps {
  readonly edges: Neighbourhood['edges'];
  /** Places of the proteins that the edges name. */
  readonly points: readonly Point[];
}

/** Draws the pairs of a neighbourhood as lines, the surer ones darker. */
export function NeighbourhoodEdges({ edges, points }: NeighbourhoodEdgesProps) {
  return (
    <>
      {edges.map(({ source, target, log_expected_false_hits: logE }) => (
        <line
          key={`${source} ${target}`}
          x1={points[source].x}
          y1={points[source].y}
          x2={points[target].x}
          y2={points[target].y}
          class="edge"
          style={{ strokeOpacity: 0.35 + 0.65 * edgeStrength(logE) }}
        />
      ))}
    </>
  );
}
