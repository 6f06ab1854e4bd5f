/*
 * Predicts the costs of large databases from lines through measurements of small ones. Several nodes divide a database
 * into partitions of equal residues. The work of the coordinator is not divided.
 */

export interface Shape {
  readonly proteins: number;
  readonly residues: number;
}

/** A linear cost: a constant, and coefficients of proteins and of residues. Unit  seconds or bytes */
export interface Line {
  readonly base: number;
  readonly protein: number;
  readonly residue: number;
}

export interface Rates {
  /** Encoder time per residue on all cores. Unit  seconds */
  readonly encode: number;
  /** Time of a build without the encoder. Unit  seconds */
  readonly write: Line;
  /** Size of a release's files. Unit  bytes */
  readonly disk: Line;
  /** Anonymous memory of an open release, whose tokens are mapped. Unit  bytes */
  readonly memory: Line;
  /** Time of a query with all tokens in memory. Unit  seconds */
  readonly exhaustive: Line;
  readonly sampled: Line;
}

/** Costs of one node, except for the build. */
export interface Prediction {
  readonly diskBytes: number;
  /** Minimum memory of the appliance. Each query then reads the tokens from disk. */
  readonly leastMemoryBytes: number;
  /** Memory that holds all tokens, as the query times assume. */
  readonly memoryBytes: number;
  /** Encoding on all nodes and writing on one. */
  readonly buildSeconds: number;
  readonly exhaustiveSeconds: number;
  readonly sampledSeconds: number;
  /** Time of a sampled query, summed over the nodes. Unit  seconds */
  readonly nodeSeconds: number;
}

/**
 * Returns the line through three measurements.
 * @param shapes three shapes, no two proportional, and not all on one line
 */
export function lineThrough(shapes: readonly Shape[], values: readonly number[]): Line {
  const [one, two, three] = shapes.map(({ proteins, residues }) => [1, proteins, residues]);
  const columns = [0, 1, 2].map((at) => [one[at], two[at], three[at]]);
  const whole = determinant(columns);
  const [base, protein, residue] = columns.map(
    (_, at) => determinant(columns.map((column, other) => (other === at ? values : column))) / whole,
  );
  return { base, protein, residue };
}

function determinant([[a, b, c], [d, e, f], [g, h, i]]: readonly (readonly number[])[]): number {
  return a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g);
}

export function at({ base, protein, residue }: Line, { proteins, residues }: Shape): number {
  return base + protein * proteins + residue * residues;
}

export function predict(shape: Shape, nodes: number, rates: Rates): Prediction {
  const part = { proteins: shape.proteins / nodes, residues: shape.residues / nodes };
  const diskBytes = at(rates.disk, part);
  const leastMemoryBytes = at(rates.memory, part);
  const sampledSeconds = at(rates.sampled, part);
  return {
    diskBytes,
    leastMemoryBytes,
    memoryBytes: leastMemoryBytes + diskBytes,
    buildSeconds: part.residues * rates.encode + at(rates.write, shape),
    exhaustiveSeconds: at(rates.exhaustive, part),
    sampledSeconds,
    nodeSeconds: sampledSeconds * nodes,
  };
}
