import { assert } from '../errors.js';
import { overlaps } from './stretches.js';
import type { NeighbourGraph } from '../neighbours/graph.js';
import { quantisedWeight, rowDivisor, WEIGHT_ONE, type WalkParameters } from './weights.js';

/*
 * Random walk with restart over the graph of neighbours:
 *
 *   Y = P + a P W + a² P W² + …
 *
 * P has the weights 1 ÷ (1 + factor · E) of the query's hits. W has those of each target's row, divided by the larger
 * of 1 and the power 7/8 of their sum. A bridge counts only where the stretch by which weight arrives overlaps that by
 * which it leaves. Otherwise two domains of one protein would connect strangers.
 * Source  RankProp (Weston, Elisseeff, Zhou, Leslie & Noble 2004)
 *
 * All sums are of integers, and the order is fixed, so that every machine gets the same bits. Floats appear in
 * quotients and square roots, which IEEE 754 rounds exactly. A product of weight and mass is below 2⁵³.
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
  /** Mass of all hits of the query together, the same for each target of a walk. */
  readonly startMass: number;
  /** Protein from which most mass arrives in one step; undefined if the walk reaches the target only directly. */
  readonly bridge: number | undefined;
  /** ln E of the weakest hit on the surest path, which is the one whose weakest hit has the least E-value. */
  readonly weakestLogEValue: number;
}

/** Walks from the hits of one query. Targets of the result ascend. @param isLeftOut  targets that the walk avoids */
export type Walk = (hits: readonly WalkHit[], isLeftOut?: (target: number) => boolean) => readonly Reached[];

/**
 * Prepares walks over a graph. One walk at a time uses the working memory: 36 bytes for each target, and 64 for each
 * stretch that waits.
 * Shape   that of the graph
 * Unit    target indices
 * Cost    a division for each edge; a walk: one multiplication and one division for each edge of each place
 */
export function createWalk(graph: NeighbourGraph, parameters: WalkParameters): Walk {
  const { steps, passed_256ths: passed, overlap_256ths: leastOverlap } = parameters;
  assert(passed >= 0 && passed <= PASSED_ONE, 'a protein passes on no more than it has');
  const { offsets, targets, logEValues, queryStarts, queryEnds, targetStarts, targetEnds } = graph;
  const leastPassed = Math.ceil(parameters.least_passed * MASS_ONE);
  const targetCount = offsets.length - 1;
  const weights = Uint16Array.from(logEValues, (logEValue) => quantisedWeight(logEValue, parameters));
  const memory = createMemory(targetCount);
  const first = new Int32Array(targetCount).fill(NONE);
  let [places, next] = [new Places(first, leastOverlap), new Places(first, leastOverlap)];
  /** Edges of the row at work that weight leaves by. */
  const passing = new Uint32Array(longestRow(offsets));

  /** Passes the mass of one place to its neighbours. */
  const pass = (place: number, isLeftOut: ((target: number) => boolean) | undefined): void => {
    const [source, start, end] = [places.targets[place], places.starts[place], places.ends[place]];
    const weakest = places.weakest[place];
    const lastEdge = offsets[source + 1];
    let [count, sum] = [0, 0];
    for (let edge = offsets[source]; edge < lastEdge; edge += 1) {
      const isPassing =
        weights[edge] > 0 &&
        overlaps(start, end, queryStarts[edge], queryEnds[edge], leastOverlap) &&
        isLeftOut?.(targets[edge]) !== true;
      if (!isPassing) continue;
      passing[count] = edge;
      count += 1;
      sum += weights[edge];
    }
    const divisor = rowDivisor(sum);
    const onward = Math.floor((places.mass[place] * passed) / PASSED_ONE);
    for (let at = 0; at < count; at += 1) {
      const edge = passing[at];
      const target = targets[edge];
      const amount = Math.floor((onward * weights[edge]) / divisor);
      if (amount === 0) continue;
      const weakestHit = Math.max(weakest, logEValues[edge]);
      memory.arrive(target, amount, weakestHit, source);
      next.arrive(target, targetStarts[edge], targetEnds[edge], amount, weakestHit);
    }
  };

  return (hits, isLeftOut) => {
    let startMass = 0;
    for (const { target, logEValue, targetStart, targetEnd } of hits) {
      const amount = Math.floor((quantisedWeight(logEValue, parameters) * MASS_ONE) / WEIGHT_ONE);
      if (amount === 0 || isLeftOut?.(target) === true) continue;
      memory.arrive(target, amount, logEValue, NONE);
      startMass += amount;
      places.arrive(target, targetStart, targetEnd, amount, logEValue);
    }
    places.close();
    for (let step = 0; step < steps; step += 1) {
      for (const place of places.heaviest(leastPassed)) pass(place, isLeftOut);
      places.clear();
      [places, next] = [next, places];
      places.close();
    }
    places.clear();
    return memory.takeAll(startMass);
  };
}

/** In place of an index: no bridge, or no place. */
const NONE = -1;

/** Numbers of one target in the memory, side by side because one arrival of mass needs all of them. */
const [MASS, LARGEST, WEAKEST, BRIDGE, NUMBERS] = [0, 1, 2, 3, 4];

/** Working memory of one walk at a time: what has reached each target so far. */
function createMemory(targetCount: number) {
  const numbers = new Float64Array(targetCount * NUMBERS);
  const touched: number[] = [];
  return {
    /** Adds mass to a target. @param source  protein that passes it on; NONE for the query */
    arrive(target: number, amount: number, weakestHit: number, source: number): void {
      const at = target * NUMBERS;
      if (numbers[at + MASS] === 0) {
        touched.push(target);
        numbers[at + WEAKEST] = Infinity;
        numbers[at + BRIDGE] = NONE;
      }
      numbers[at + MASS] += amount;
      if (weakestHit < numbers[at + WEAKEST]) numbers[at + WEAKEST] = weakestHit;
      if (source === NONE || amount <= numbers[at + LARGEST]) return;
      numbers[at + LARGEST] = amount;
      numbers[at + BRIDGE] = source;
    },
    /** Returns all that was reached, by target, and clears the memory. */
    takeAll(startMass: number): readonly Reached[] {
      const reached = Uint32Array.from(touched).sort();
      touched.length = 0;
      return Array.from(reached, (target) => {
        const [mass, , weakestLogEValue, source] = numbers.subarray(target * NUMBERS, (target + 1) * NUMBERS);
        numbers.fill(0, target * NUMBERS, (target + 1) * NUMBERS);
        const bridge = source === NONE ? undefined : source;
        return { target, mass, startMass, bridge, weakestLogEValue };
      });
    },
  };
}

/** Places of the first walk's steps; more of them double the columns. */
const PLACES_FIRST_COUNT = 1_024;

/** Mass that waits on stretches of proteins for the next step. The columns have a value for each place. */
class Places {
  targets = new Uint32Array(PLACES_FIRST_COUNT);
  starts = new Uint32Array(PLACES_FIRST_COUNT);
  ends = new Uint32Array(PLACES_FIRST_COUNT);
  mass = new Float64Array(PLACES_FIRST_COUNT);
  /** ln E of the weakest hit on the surest path to the place. */
  weakest = new Float64Array(PLACES_FIRST_COUNT);
  /** The next place of the same protein, or NONE. */
  private following = new Int32Array(PLACES_FIRST_COUNT);
  private count = 0;

  /**
   * @param first         the latest place of each target, or NONE; only one Places that is being filled has it
   * @param leastOverlap  of a stretch and a place that it joins, in 256ths
   */
  constructor(
    private readonly first: Int32Array,
    private readonly leastOverlap: number,
  ) {}

  /** Adds mass to the place of a target that a stretch overlaps, or to a new one. */
  arrive(target: number, start: number, end: number, amount: number, weakestHit: number): void {
    const latest = this.first[target];
    let count = 0;
    for (let place = latest; place !== NONE; place = this.following[place], count += 1) {
      if (!overlaps(this.starts[place], this.ends[place], start, end, this.leastOverlap)) continue;
      this.mass[place] = Math.min(MASS_MAX, this.mass[place] + amount);
      if (weakestHit < this.weakest[place]) this.weakest[place] = weakestHit;
      return;
    }
    if (count === STRETCHES_MAX_COUNT) return;
    if (this.count === this.targets.length) this.grow();
    const place = this.count;
    this.count += 1;
    this.targets[place] = target;
    this.starts[place] = start;
    this.ends[place] = end;
    this.mass[place] = amount;
    this.weakest[place] = weakestHit;
    this.following[place] = latest;
    this.first[target] = place;
  }

  /** Ends the filling: nothing can arrive until `clear`. */
  close(): void {
    for (let place = 0; place < this.count; place += 1) this.first[this.targets[place]] = NONE;
  }

  clear(): void {
    this.count = 0;
  }

  /** Places of a least mass, heaviest first, so that others join the stretch of the heaviest arrival. */
  heaviest(leastMass: number): Uint32Array {
    const heavy = new Uint32Array(this.count);
    let count = 0;
    for (let place = 0; place < this.count; place += 1) {
      if (this.mass[place] < leastMass) continue;
      heavy[count] = place;
      count += 1;
    }
    const { targets, starts, ends, mass } = this;
    return heavy
      .subarray(0, count)
      .sort(
        (a, b) => mass[b] - mass[a] || targets[a] - targets[b] || starts[a] - starts[b] || ends[a] - ends[b],
      );
  }

  private grow(): void {
    const doubled = <Column extends Uint32Array | Int32Array | Float64Array>(
      column: Column,
      larger: Column,
    ): Column => {
      larger.set(column);
      return larger;
    };
    const length = 2 * this.targets.length;
    this.targets = doubled(this.targets, new Uint32Array(length));
    this.starts = doubled(this.starts, new Uint32Array(length));
    this.ends = doubled(this.ends, new Uint32Array(length));
    this.mass = doubled(this.mass, new Float64Array(length));
    this.weakest = doubled(this.weakest, new Float64Array(length));
    this.following = doubled(this.following, new Int32Array(length));
  }
}

function longestRow(offsets: Uint32Array): number {
  let longest = 0;
  for (let row = 1; row < offsets.length; row += 1)
    longest = Math.max(longest, offsets[row] - offsets[row - 1]);
  return longest;
}
