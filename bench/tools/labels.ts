import { readFileSync } from 'node:fs';

/** SCOPe's classification of a domain. Only benches use it; calibrations do not. */
export interface DomainLabel {
  readonly family: string;
  /** False for SCOPe's catch-all family x.y.z.0. */
  readonly isFamily: boolean;
  readonly superfamily: string;
  /** Group of folds that are commonly thought to be related. */
  readonly foldGroup: string;
  /** `a` all-alpha, `b` all-beta, `c` alpha/beta, `d` alpha+beta … */
  readonly structuralClass: string;
  readonly isDev: boolean;
  /** SCOPe's description. */
  readonly description: string;
}

/** Reads labels.tsv. Returns labels by domain id. */
export function readLabels(path: string): ReadonlyMap<string, DomainLabel> {
  const [header, ...lines] = readFileSync(path, 'utf8').split('\n').filter(Boolean);
  const names = header.split('\t');
  const column = (name: string): number => names.indexOf(name);
  const [id, sccs, group, split, description] = ['id', 'sccs', 'foldgroup', 'split', 'description'].map(
    column,
  );
  return new Map(
    lines.map((line) => {
      const cells = line.split('\t');
      const parts = cells[sccs].split('.');
      const label = {
        family: cells[sccs],
        isFamily: parts[3] !== '0',
        superfamily: parts.slice(0, 3).join('.'),
        foldGroup: cells[group] === '' ? parts.slice(0, 2).join('.') : cells[group],
        structuralClass: parts[0],
        isDev: cells[split] === 'dev',
        description: cells[description],
      };
      return [cells[id], label];
    }),
  );
}

/** Returns the fold of a fold, superfamily or family: `c.2` of `c.2.1.3`. */
export function foldOf(group: string): string {
  return group.split('.', 2).join('.');
}

/** Returns the quartile of the ascending values that contains a value. Range: 0..3 */
export function quartileOf(value: number, ascending: readonly number[]): number {
  const edge = (quarter: number): number => ascending[Math.floor((quarter * ascending.length) / 4)];
  return value < edge(1) ? 0 : value < edge(2) ? 1 : value < edge(3) ? 2 : 3;
}

const WINDOW = 20;

/** Returns the mean entropy of windows of 20 residues. Repeats and biased regions have a low one. Unit: bits */
export function windowEntropy(sequence: string): number {
  const starts = Math.max(1, sequence.length - WINDOW + 1);
  let total = 0;
  for (let start = 0; start < starts; start += 1) {
    const counts = new Map<string, number>();
    const window = sequence.slice(start, start + WINDOW);
    for (const letter of window) counts.set(letter, (counts.get(letter) ?? 0) + 1);
    for (const count of counts.values()) total -= (count / window.length) * Math.log2(count / window.length);
  }
  return total / starts;
}
