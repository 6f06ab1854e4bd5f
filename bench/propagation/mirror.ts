import { fitScores } from '../../src/fit-significance/walks.js';
import { emptyEdges, type NeighbourGraph } from '../../src/neighbours/graph.js';
import { walkScore, type WalkNull } from '../../src/propagation/null.js';
import { createWalk, type WalkHit } from '../../src/propagation/walk.js';
import { WALK_PARAMETERS } from '../../src/propagation/weights.js';
import type { Random } from '../../src/random.js';
import { walkHitsOf, type HitList } from './lists.js';

/*
 * A null of walks in company. Whole families are read backwards: the graph gets a second row for each of their
 * proteins, with its neighbours in the family, read backwards, too, and with its chance hits among the proteins as they
 * are. A walk that starts at such a protein reaches its family first, and by the chance hits of all of them unrelated
 * proteins with their families, as the walk of a natural protein does. A reversed protein alone has no such company.
 */

/** Largest E-value of two proteins of one family. */
const LINK_EVALUE = 0.1;
/** Neighbours of a target in a graph. */
const ROW = 100;

/** A neighbour of one protein. Coordinates are zero-based and half-open. */
interface Edge {
  readonly target: number;
  readonly logEValue: number;
  readonly queryStart: number;
  readonly queryEnd: number;
  readonly targetStart: number;
  readonly targetEnd: number;
}

/** Draws whole families, as links connect them, until there are so many proteins. The last one may be cut. */
export function drawFamilies(graph: NeighbourGraph, count: number, random: Random): Uint32Array {
  const proteins = Array.from({ length: graph.offsets.length - 1 }, (_, protein) => protein);
  const order = proteins
    .map((protein) => ({ protein, key: random.share() }))
    .sort((a, b) => a.key - b.key)
    .map(({ protein }) => protein);
  const drawn = new Set<number>();
  for (const seed of order) {
    const waiting = [seed];
    for (let next = waiting.shift(); next !== undefined && drawn.size < count; next = waiting.shift()) {
      if (drawn.has(next)) continue;
      drawn.add(next);
      for (const { target, logEValue } of rowOf(graph, next)) {
        if (logEValue <= Math.log(LINK_EVALUE) && !drawn.has(target)) waiting.push(target);
      }
    }
  }
  return Uint32Array.from(drawn);
}

export interface Mirrored {
  readonly graph: NeighbourGraph;
  /** Hits of each protein of the graph. */
  readonly lists: readonly HitList[];
  /** Lengths of the proteins. Unit: residues */
  readonly lengths: readonly number[];
  /** Proteins that are read backwards, and the hits of each of them. */
  readonly drawn: Uint32Array;
  readonly chanceHits: readonly HitList[];
}

/** Fits the null of walks in company, and prints it. Returns undefined if the walks reach too few targets. */
export function fitMirrored(mirrored: Mirrored): WalkNull | undefined {
  const { lists, lengths, drawn, chanceHits } = mirrored;
  const count = lists.length;
  const walk = createWalk(mirrorGraph(mirrored), WALK_PARAMETERS);
  const isDrawn = new Set(drawn);
  const scores = Array.from(drawn, (protein, at) => {
    const company = walkHitsOf(lists[protein])
      .filter(({ target }) => target !== protein && isDrawn.has(target))
      .map(
        (hit): WalkHit => ({
          target: count + hit.target,
          logEValue: hit.logEValue,
          targetStart: lengths[hit.target] - hit.targetEnd,
          targetEnd: lengths[hit.target] - hit.targetStart,
        }),
      );
    const reached = walk([...company, ...walkHitsOf(chanceHits[at])], (other) => other === count + protein);
    const unrelated = reached.filter(({ target }) => target < count && target !== protein);
    return Float64Array.from(unrelated, ({ mass }) => walkScore(mass));
  });
  const fit = fitScores(scores, count);
  if (fit === undefined) return undefined;
  const { threshold, log_exceedance_probability: logExceedanceProbability, lambda, shape } = fit.tail;
  console.log(
    `null of ${drawn.length} domains read backwards with their families: ${fit.exceedance_count} above ` +
      `${threshold.toFixed(3)}, rate ${lambda.toFixed(3)}, shape ${shape.toFixed(3)}`,
  );
  const tail = { threshold, logExceedanceProbability, lambda, shape };
  return { tail, leastLogProbability: fit.least_log_probability };
}

/** The graph, followed by the rows of the proteins that are read backwards. Others have an empty second row. */
function mirrorGraph({ graph, lists, lengths, drawn, chanceHits }: Mirrored): NeighbourGraph {
  const count = lists.length;
  const places = new Map(Array.from(drawn, (protein, at) => [protein, at]));
  const rows = Array.from({ length: count }, (_, protein) => rowOf(graph, protein));
  const backwards = rows.map((row, protein): readonly Edge[] => {
    const place = places.get(protein);
    if (place === undefined) return [];
    const family = row
      .filter(({ target }) => places.has(target))
      .map((edge) => ({
        target: count + edge.target,
        logEValue: edge.logEValue,
        queryStart: lengths[protein] - edge.queryEnd,
        queryEnd: lengths[protein] - edge.queryStart,
        targetStart: lengths[edge.target] - edge.targetEnd,
        targetEnd: lengths[edge.target] - edge.targetStart,
      }));
    // A full row has no room for hits that are weaker than its last one.
    const largest = row.length < ROW ? Infinity : row[row.length - 1].logEValue;
    const chance = edgesOf(chanceHits[place]).filter(({ logEValue }) => logEValue <= largest);
    return [...family, ...chance.slice(0, ROW)];
  });
  return joinRows([...rows, ...backwards]);
}

function rowOf(graph: NeighbourGraph, protein: number): readonly Edge[] {
  const [start, end] = [graph.offsets[protein], graph.offsets[protein + 1]];
  return Array.from({ length: end - start }, (_, at) => ({
    target: graph.targets[start + at],
    logEValue: graph.logEValues[start + at],
    queryStart: graph.queryStarts[start + at],
    queryEnd: graph.queryEnds[start + at],
    targetStart: graph.targetStarts[start + at],
    targetEnd: graph.targetEnds[start + at],
  }));
}

/** Aligned hits of a list. A span is start × 65,536 + end. */
function edgesOf({ targets, logEValues, querySpans, targetSpans }: HitList): readonly Edge[] {
  return Array.from(targets, (target, hit) => ({
    target,
    logEValue: logEValues[hit],
    queryStart: Math.floor(querySpans[hit] / 65_536),
    queryEnd: querySpans[hit] % 65_536,
    targetStart: Math.floor(targetSpans[hit] / 65_536),
    targetEnd: targetSpans[hit] % 65_536,
  })).filter(({ targetEnd }) => targetEnd > 0);
}

function joinRows(rows: readonly (readonly Edge[])[]): NeighbourGraph {
  const edges = emptyEdges(rows.reduce((sum, { length }) => sum + length, 0));
  const offsets = new Uint32Array(rows.length + 1);
  let at = 0;
  rows.forEach((row, protein) => {
    for (const edge of row) {
      edges.targets[at] = edge.target;
      edges.logEValues[at] = edge.logEValue;
      edges.queryStarts[at] = edge.queryStart;
      edges.queryEnds[at] = edge.queryEnd;
      edges.targetStarts[at] = edge.targetStart;
      edges.targetEnds[at] = edge.targetEnd;
      at += 1;
    }
    offsets[protein + 1] = at;
  });
  return { ...edges, offsets };
}
