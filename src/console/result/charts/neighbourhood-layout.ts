import {
  forceCollide,
  forceLink,
  forceManyBody,
  forceSimulation,
  type SimulationLinkDatum,
  type SimulationNodeDatum,
} from 'd3-force';
import type { Neighbourhood } from '../tools.js';

/** Width and height of the drawing. Unit: those of the picture */
export const FRAME = { width: 720, height: 460 } as const;
const MARGIN = 14;
/** Enough for 300 proteins to come to rest. */
const TICKS = 240;
/** Length of an edge between near copies, and what a weaker one adds at most. */
const [SHORT, LONGER] = [16, 60];

export interface Point {
  readonly x: number;
  readonly y: number;
}

/**
 * Places the proteins of a neighbourhood: similar ones near each other, around the first one.
 * Shape   one point for each protein, in their order; equal neighbourhoods have equal points
 * Unit    that of FRAME, inside its margin
 * Cost    TICKS steps of the simulation: 0.3 s for 300 proteins
 */
export function layout({ proteins, edges }: Neighbourhood): readonly Point[] {
  const nodes: SimulationNodeDatum[] = proteins.map((_, at) => (at === 0 ? { fx: 0, fy: 0 } : {}));
  const links: (SimulationLinkDatum<SimulationNodeDatum> & { readonly strength: number })[] = edges.map(
    ({ source, target, log_expected_false_hits: logE }) => ({ source, target, strength: edgeStrength(logE) }),
  );
  forceSimulation(nodes)
    .force(
      'links',
      forceLink(links).distance(({ strength }) => SHORT + LONGER * (1 - strength)),
    )
    .force('apart', forceManyBody().strength(-40))
    .force('bodies', forceCollide(6))
    .stop()
    .tick(TICKS);
  return fitted(nodes.map(({ x = 0, y = 0 }) => ({ x, y })));
}

/** How strong an edge is drawn, by its E-value. Range: 0 for E = 10 to 1 for E ≤ 1e-30 */
export function edgeStrength(logE: number): number {
  const [weakest, strongest] = [1, -30];
  return Math.min(1, Math.max(0, (weakest - logE / Math.LN10) / (weakest - strongest)));
}

/** Scales points into the frame, alike in both directions. */
function fitted(points: readonly Point[]): readonly Point[] {
  const [xs, ys] = [points.map(({ x }) => x), points.map(({ y }) => y)];
  const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const scale = Math.min(
    (FRAME.width - 2 * MARGIN) / Math.max(1, right - left),
    (FRAME.height - 2 * MARGIN) / Math.max(1, bottom - top),
    2,
  );
  return points.map(({ x, y }) => ({
    x: FRAME.width / 2 + (x - (left + right) / 2) * scale,
    y: FRAME.height / 2 + (y - (top + bottom) / 2) * scale,
  }));
}

/** Unit vector of each arrow key. */
const DIRECTIONS: Readonly<Record<string, Point>> = {
  ArrowRight: { x: 1, y: 0 },
  ArrowLeft: { x: -1, y: 0 },
  ArrowDown: { x: 0, y: 1 },
  ArrowUp: { x: 0, y: -1 },
};

/**
 * Returns the nearest point in the direction of an arrow key, within 45 degrees; undefined for other keys, and if there
 * is none.
 */
export function nextPoint(points: readonly Point[], from: number, key: string): number | undefined {
  const direction = DIRECTIONS[key] as Point | undefined;
  if (direction === undefined) return undefined;
  let best: number | undefined;
  let least = Infinity;
  for (const [at, { x, y }] of points.entries()) {
    const [dx, dy] = [x - points[from].x, y - points[from].y];
    const along = dx * direction.x + dy * direction.y;
    const across = Math.abs(dx * direction.y - dy * direction.x);
    if (at === from || along <= 0 || across > along || along + across >= least) continue;
    [best, least] = [at, along + across];
  }
  return best;
}
