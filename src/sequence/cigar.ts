/** Unknown residue; a pair of unknown residues counts as a mismatch. */
const UNKNOWN = 'X';

/** A run of equal operations; `I` is a query residue against a gap, `D` a target residue against a gap. */
export interface CigarRun {
  readonly operation: '=' | 'X' | 'I' | 'D';
  readonly length: number;
}

/** Parses an extended CIGAR. */
export function cigarRuns(cigar: string): CigarRun[] {
  const runs: CigarRun[] = [];
  readRuns(cigar, (letter, length) => {
    const isKnown = letter === '=' || letter === 'X' || letter === 'I' || letter === 'D';
    if (isKnown && length !== undefined) runs.push({ operation: letter, length });
  });
  return runs;
}

const [ZERO, NINE] = [48, 57];

/**
 * Calls `take` with each character that is no digit, and the number before it. A regular expression takes three times
 * as long, and builds parse a CIGAR for each homolog. Digits at the end come with an empty character.
 */
export function readRuns(cigar: string, take: (letter: string, length: number | undefined) => void): void {
  let length: number | undefined;
  for (let at = 0; at < cigar.length; at += 1) {
    const code = cigar.charCodeAt(at);
    if (code >= ZERO && code <= NINE) {
      length = (length ?? 0) * 10 + code - ZERO;
    } else {
      take(cigar[at], length);
      length = undefined;
    }
  }
  if (length !== undefined) take('', length);
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
  const runs: AlignedRun[] = [];
  readRuns(cigar, (letter, length = 1) => {
    if (letter === 'I' || letter === 'D') runs.push({ operation: letter, length });
    else if (letter === 'M' || letter === 'X' || letter === '=') runs.push({ operation: 'M', length });
  });
  return runs;
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
