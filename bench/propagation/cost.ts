import { emptyEdges, type NeighbourGraph } from '../../src/neighbours/graph.js';
import { createWalk, type WalkHit } from '../../src/propagation/walk.js';
import { WALK_PARAMETERS } from '../../src/propagation/weights.js';
import { seededRandom, type Random } from '../../src/random.js';
import { median } from '../tools/statistics.js';

/** Proteins of the timed graphs, and neighbours of each: full rows, which no real release has everywhere. */
const SIZES: readonly number[] = [28_000, 100_000, 400_000];
const ROW = 100;
/** Proteins of a family, among which most edges are. */
const FAMILY = 200;
const QUERIES = 40;
const RESIDUES = 350;

/** Times walks over graphs with full rows. Returns the median processor time by number of proteins. Unit: ms */
export function timeWalks(): Readonly<Record<string, number>> {
  return Object.fromEntries(
    SIZES.map((count) => {
      const random = seededRandom(5);
      const walk = createWalk(fullGraph(count, random), WALK_PARAMETERS);
      const times = Array.from({ length: QUERIES }, () => {
        const hits = fullRow(random.below(count), count, random);
        const before = process.cpuUsage();
        walk(hits);
        const { user, system } = process.cpuUsage(before);
        return (user + system) / 1_000;
      });
      console.log(`${count} proteins with ${ROW} neighbours each: ${median(times).toFixed(1)} ms a walk`);
      return [count, median(times)];
    }),
  );
}

function fullGraph(count: number, random: Random): NeighbourGraph {
  const edges = emptyEdges(count * ROW);
  for (let protein = 0; protein < count; protein += 1) {
    fullRow(protein, count, random).forEach(({ target, logEValue }, at) => {
      const edge = protein * ROW + at;
      edges.targets[edge] = target;
      edges.logEValues[edge] = logEValue;
      edges.queryEnds[edge] = RESIDUES;
      edges.targetEnds[edge] = RESIDUES;
    });
  }
  return { ...edges, offsets: Uint32Array.from({ length: count + 1 }, (_, row) => row * ROW) };
}

/** 90 hits in the family of a protein, by ascending E-value, and 10 elsewhere with E-values of 1 to 10. */
function fullRow(protein: number, count: number, random: Random): readonly WalkHit[] {
  const family = protein - (protein % FAMILY);
  return Array.from({ length: ROW }, (_, at) => {
    const isRelated = at < 0.9 * ROW;
    return {
      target: isRelated ? Math.min(count - 1, family + random.below(FAMILY)) : random.below(count),
      logEValue: isRelated ? -100 + at : Math.log(1 + 0.9 * (at - 0.9 * ROW)),
      targetStart: 0,
      targetEnd: RESIDUES,
    };
  });
}
