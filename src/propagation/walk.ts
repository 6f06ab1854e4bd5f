import { assert } from '../errors.js';
import { overlaps } from './stretches.js';
import type { NeighbourGraph } from '../neighbours/graph.js';
import { quantisedWeight, WEIGHT_ONE, type WalkParameters } from './weights.js';

/*
 * Random walk with restart over the graph of neighbours:
 *
 *   Y = P + a P W + a² P W² + …
 *
 * P has the weights 1 ÷ (1 + factor · E) of the query's hits. W has those of each target's row, divided by the larger
 * of 1 and their sum. A bridge counts only where the stretch by which weight arrives overlaps that by which it leaves.
 * Otherwise two domains of one protein would connect strangers.
 * Source  RankProp (Weston, Elisseeff, Zhou, Leslie & Noble 2004)
 *
 * All sums are of integers, and the order is fixed, so that every machine gets the same bits. Floats appear in
 * quotients, which IEEE 754 rounds exactly. A product of weight and mass is below 2⁵³.
 */

/** Mass of a certain hit, and the most that one stretch passes on. */
export const MASS_ONE = 2 ** 30;
const MASS_MAX = 2 ** 37;
const PASSED_ONE = 256;
/** Stretches of one protein that pass mass on separately in one step. */
const STRETCHES_MAX_COUNT = 4;

/** A hit of a query, with the stretch of the target that its alignment covers. */
export interface WalkHit {
  readonly target: number;
  readonly logEValue: number;
  readonly targetStart: number;
  readonly targetEnd: number;
}

/** A target that the walk reaches. */
export interface Reached {
  readonly target: number;
  /** Score of the walk. Unit: 1 ÷ MASS_ONE; a certain direct hit has MASS_ONE or more. */
  readonly mass: number;
  /** Part of it that the query's own hit gives; 0 for a target without one. */
  readonly directMass: number;
  /** Protein from which most mass arrives in one step; undefined if the walk reaches the target only directly. */
  readonly bridge: number | undefined;
  /** ln E of the weakest hit on the surest path, which is the one whose weakest hit has the least E-value. */
  readonly weakestLogEValue: number;
}

/** Walks from the hits of one query. Targets of the result ascend. @param isLeftOut  targets that the walk avoids */
export type Walk = (hits: readonly WalkHit[], isLeftOut?: (target: number) => boolean) => readonly Reached[];

/** Mass that waits on one stretch of a protein. */
interface Place {
  readonly target: number;
  readonly start: number;
  readonly end: number;
  mass: number;
  /** ln E of the weakest hit on the surest path to here. */
  weakest: number;
  /** The next place of the same protein. */
  readonly next: Place | undefined;
}

/**
 * Prepares walks over a graph. One walk at a time uses the working memory: 36 bytes for each target.
 * Shape   that of the graph
 * Unit    target indices
 * Cost    a division for each edge; a walk: one multiplication and one division for each edge of each place
 */
export function createWalk(graph: NeighbourGraph, parameters: WalkParameters): Walk {
  const { steps, passed_256ths: passed, overlap_256ths: leastOverlap } = parameters;
  assert(passed >= 0 && passed <= PASSED_ONE, 'a protein passes on no more than it has');
  const leastPassed = Math.ceil(parameters.least_passed * MASS_ONE);
  const targetCount = graph.offsets.length - 1;
  const weights = Uint16Array.from(graph.logEValues, (logEValue) => quantisedWeight(logEValue, parameters));
  const { mass, largest, bridges, weakest, take } = createMemory(targetCount);
  /** Edges of the row at work that weight leaves by. */
  const passing = new Uint32Array(longestRow(graph.offsets));
  const first: (Place | undefined)[] = Array.from({ length: targetCount }, () => undefined);

  /** Adds mass to the place of a target that a stretch overlaps, or to a new one. */
  const arrive = (
    places: Place[],
    target: number,
    start: number,
    end: number,
    amount: number,
    weakestHit: number,
  ): void => {
    if (weakestHit < weakest[target]) weakest[target] = weakestHit;
    let count = 0;
    for (let place = first[target]; place !== undefined; place = place.next, count += 1) {
      if (!overlaps(place, start, end, leastOverlap)) continue;
      place.mass = Math.min(MASS_MAX, place.mass + amount);
      if (weakestHit < place.weakest) place.weakest = weakestHit;
      return;
    }
    if (count === STRETCHES_MAX_COUNT) return;
    const place: Place = { target, start, end, mass: amount, weakest: weakestHit, next: first[target] };
    first[target] = place;
    places.push(place);
  };

  /** Passes the mass of one place to its neighbours. */
  const pass = (
    place: Place,
    places: Place[],
    touched: number[],
    isLeftOut: (target: number) => boolean,
  ): void => {
    const [from, to] = [graph.offsets[place.target], graph.offsets[place.target + 1]];
    let [count, sum] = [0, 0];
    for (let edge = from; edge < to; edge += 1) {
      const isPassing =
        weights[edge] > 0 &&
        overlaps(place, graph.queryStarts[edge], graph.queryEnds[edge], leastOverlap) &&
        !isLeftOut(graph.targets[edge]);
      if (!isPassing) continue;
      passing[count] = edge;
      count += 1;
      sum += weights[edge];
    }
    const divisor = Math.max(WEIGHT_ONE, sum);
    const onward = Math.floor((place.mass * passed) / PASSED_ONE);
    for (let at = 0; at < count; at += 1) {
      const edge = passing[at];
      const target = graph.targets[edge];
      const amount = Math.floor((onward * weights[edge]) / divisor);
      if (amount === 0) continue;
      if (mass[target] === 0) touched.push(target);
      mass[target] += amount;
      if (amount > largest[target]) {
        largest[target] = amount;
        bridges[target] = place.target;
      }
      const weakestHit = Math.max(place.weakest, graph.logEValues[edge]);
      arrive(places, target, graph.targetStarts[edge], graph.targetEnds[edge], amount, weakestHit);
    }
  };

  return (hits, isLeftOut = () => false) => {
    const touched: number[] = [];
    const direct = new Map<number, number>();
    let places: Place[] = [];
    for (const { target, logEValue, targetStart, targetEnd } of hits) {
      const amount = Math.floor((quantisedWeight(logEValue, parameters) * MASS_ONE) / WEIGHT_ONE);
      if (amount === 0 || isLeftOut(target)) continue;
      if (mass[target] === 0) touched.push(target);
      mass[target] += amount;
      direct.set(target, amount);
      arrive(places, target, targetStart, targetEnd, amount, logEValue);
    }
    for (let step = 0; step < steps; step += 1) {
      for (const { target } of places) first[target] = undefined;
      const next: Place[] = [];
      const heavy = places.filter((place) => place.mass >= leastPassed).sort(byMass);
      for (const place of heavy) pass(place, next, touched, isLeftOut);
      places = next;
    }
    for (const { target } of places) first[target] = undefined;
    return touched.sort((a, b) => a - b).map((target) => take(target, direct.get(target) ?? 0));
  };
}

const NO_BRIDGE = -1;

/** Working memory of one walk at a time: what has reached each target so far. `take` reads and clears one target. */
function createMemory(targetCount: number) {
  const mass = new Float64Array(targetCount);
  const largest = new Float64Array(targetCount);
  const bridges = new Int32Array(targetCount).fill(NO_BRIDGE);
  const weakest = new Float64Array(targetCount).fill(Infinity);
  const take = (target: number, directMass: number): Reached => {
    const bridge = bridges[target] === NO_BRIDGE ? undefined : bridges[target];
    const reached = { target, mass: mass[target], directMass, bridge, weakestLogEValue: weakest[target] };
    mass[target] = largest[target] = 0;
    bridges[target] = NO_BRIDGE;
    weakest[target] = Infinity;
    return reached;
  };
  return { mass, largest, bridges, weakest, take };
}

function longestRow(offsets: Uint32Array): number {
  let longest = 0;
  for (let row = 1; row < offsets.length; row += 1)
    longest = Math.max(longest, offsets[row] - offsets[row - 1]);
  return longest;
}

/** Heaviest first, so that the stretch of the heaviest arrival is the one that others join. */
function byMass(a: Place, b: Place): number {
  return b.mass - a.mass || a.target - b.target || a.start - b.start || a.end - b.end;
}
