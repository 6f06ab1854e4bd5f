import type { CigarRun } from './a3m.js';

/** An unknown residue; two of them are not the same. */
const UNKNOWN = 'X';

/** Writes an extended CIGAR from one end of an alignment to the other; equal steps become one run. */
export class CigarWriter {
  readonly #runs: { readonly operation: CigarRun['operation']; length: number }[] = [];

  /** A query residue over a target residue. Returns whether they are the same known one */
  pair(query: string, target: string): boolean {
    const isIdentical = query === target && query !== UNKNOWN;
    this.#append(isIdentical ? '=' : 'X', 1);
    return isIdentical;
  }

  /** Residues of the query (`I`) or of the target (`D`) that face a gap. */
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
