/** Unknown residue; a pair of unknown residues counts as a mismatch. */
const UNKNOWN = 'X';

/** A run of equal operations; `I` is a query residue against a gap, `D` a target residue against a gap. */
export interface CigarRun {
  readonly operation: '=' | 'X' | 'I' | 'D';
  readonly length: number;
}

/** Parses an extended CIGAR. */
export function cigarRuns(cigar: string): CigarRun[] {
  return [...cigar.matchAll(/(\d+)([=XID])/g)].map(([, length, operation]) => ({
    operation: operation as CigarRun['operation'],
    length: Number(length),
  }));
}

/** Returns the residues of query and target from the first to the last column of the runs. */
export function spanOf(runs: readonly (CigarRun | AlignedRun)[]): {
  readonly query: number;
  readonly target: number;
} {
  let [query, target] = [0, 0];
  for (const { operation, length } of runs) {
    if (operation !== 'D') query += length;
    if (operation !== 'I') target += length;
  }
  return { query, target };
}

/** A run of residue pairs (`M`), or of residues beside a gap. */
export interface AlignedRun {
  readonly operation: 'M' | 'I' | 'D';
  readonly length: number;
}

/** Parses a CIGAR of any program: `=` and `X` are pairs, too, and a run without a number has one residue. */
export function alignedRuns(cigar: string): AlignedRun[] {
  return [...cigar.matchAll(/(\d*)([MXID=])/g)].map(([, digits, kind]) => ({
    operation: kind === 'I' || kind === 'D' ? kind : 'M',
    length: digits === '' ? 1 : Number(digits),
  }));
}

/**
 * Returns the sequence identity: identical residues ÷ alignment columns, gap columns included.
 * Range  0..1; 0 for an empty CIGAR
 */
export function cigarIdentity(cigar: string): number {
  let identical = 0;
  let columns = 0;
  for (const { operation, length } of cigarRuns(cigar)) {
    if (operation === '=') identical += length;
    columns += length;
  }
  return columns === 0 ? 0 : identical / columns;
}

/** Builds an extended CIGAR column by column and merges equal operations into runs. */
export class CigarWriter {
  readonly #runs: { readonly operation: CigarRun['operation']; length: number }[] = [];

  /** Appends a residue pair. Returns whether both are the same known residue. */
  pair(query: string, target: string): boolean {
    const isIdentical = query === target && query !== UNKNOWN;
    this.#append(isIdentical ? '=' : 'X', 1);
    return isIdentical;
  }

  /** Appends query residues (`I`) or target residues (`D`) against a gap. */
  gap(operation: 'I' | 'D', length: number): void {
    this.#append(operation, length);
  }

  toString(): string {
    return this.#runs.map(({ operation, length }) => `${length}${operation}`).join('');
  }

  #append(operation: CigarRun['operation'], length: number): void {
    const last = this.#runs.at(-1);
    if (last?.operation === operation) last.length += length;
    else this.#runs.push({ operation, length });
  }
}
