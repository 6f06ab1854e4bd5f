/*
 * What databases of any size take, from what small ones took: straight lines through measurements. A database of
 * several nodes is divided into as many parts of equal residues; what the front node does is not divided.
 */

export interface Shape {
  readonly proteins: number;
  readonly residues: number;
}

/** Seconds or bytes: what nothing takes, and what each protein and each residue adds. */
export interface Line {
  readonly base: number;
  readonly protein: number;
  readonly residue: number;
}

export interface Rates {
  /** Seconds of the encoder on all cores, a residue. */
  readonly encode: number;
  /** Seconds of a build but for the encoder. */
  readonly write: Line;
  /** Bytes of a release's files. */
  readonly disk: Line;
  /** Bytes of anonymous memory that an open release takes; its tokens are mapped. */
  readonly memory: Line;
  /** Seconds of a query with the tokens in memory. */
  readonly exhaustive: Line;
  readonly sampled: Line;
}

/** Of one node, but for the build. */
export interface Prediction {
  readonly diskBytes: number;
  /** Below it the appliance does not run; tokens are read again for each query. */
  readonly leastMemoryBytes: number;
  /** With the tokens in memory, as query times are meant. */
  readonly memoryBytes: number;
  /** Encoding on all nodes, writing on one. */
  readonly buildSeconds: number;
  readonly exhaustiveSeconds: number;
  readonly sampledSeconds: number;
  /** Node-seconds of a sampled query. */
  readonly nodeSeconds: number;
}

/** The line through three measurements. @param shapes  no two in proportion, and not all on one line */
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
