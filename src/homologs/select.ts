import { alignHomologSet, NOTHING } from './alignment.js';
import type { HomologSet, Homolog } from './homolog-set.js';
import { withoutHomologs, type SelectedHomologSet } from './finder.js';
import type { HomologRules } from './rules.js';

/**
 * Those of the found relatives that count: near enough, long enough, each once, none a near copy of the protein or of a
 * nearer relative, and of more than `profileCount` as many at even distances from the nearest to the farthest.
 * Errors  Fault where an alignment leaves its sequences
 */
export function selectHomologs(found: HomologSet, rules: HomologRules): SelectedHomologSet {
  const { sequence } = found;
  const seen = new Set<string>();
  const near = found.homologs
    .filter(
      ({ eValue, coverage, identity }) =>
        eValue <= rules.maxEValue && coverage >= rules.minCoverage && identity <= rules.maxIdentity,
    )
    .toSorted((a, b) => a.eValue - b.eValue || (a.id < b.id ? -1 : 1))
    .filter(({ id }) => !seen.has(id) && seen.add(id));
  const { rows } = alignHomologSet({ sequence, homologs: near });
  const kept: number[] = [];
  for (let index = 0; index < near.length; index += 1) {
    const row = rows[index + 1];
    if (!kept.some((other) => areCopies(row, rows[other + 1], rules.maxIdentity))) kept.push(index);
  }
  const homologs = spread(kept, rules.profileCount).map((index) => near[index]);
  return { sequence, homologs, averaged: spread(homologs, rules.vectorCount) };
}

/** All of a list that are near and long enough, copies too, nearest first; each once, as its first entry has it. */
export function listHomologs<Listed extends Homolog>(
  found: readonly Listed[],
  { maxEValue, minCoverage }: Pick<HomologRules, 'maxEValue' | 'minCoverage'>,
): readonly Listed[] {
  const first = new Map<string, Listed>();
  for (const homolog of found) {
    if (homolog.eValue > maxEValue || homolog.coverage < minCoverage) continue;
    if (!first.has(homolog.id)) first.set(homolog.id, homolog);
  }
  return [...first.values()].sort((a, b) => a.eValue - b.eValue || (a.id < b.id ? -1 : 1));
}

/**
 * Those that count of a search in rounds, each of which reaches farther: the profile is that of the last round that
 * found any, and the vectors are of all rounds in equal parts, so that near relatives keep their say.
 * Errors  Fault where an alignment leaves its sequences
 */
export function selectRounds(
  sequence: string,
  rounds: readonly (readonly Homolog[])[],
  rules: HomologRules,
): SelectedHomologSet {
  const share = { ...rules, vectorCount: Math.ceil(rules.vectorCount / rounds.length) };
  const selected = rounds
    .filter(({ length }) => length > 0)
    .map((homologs) => selectHomologs({ sequence, homologs }, share));
  const last = selected.at(-1);
  if (last === undefined) return withoutHomologs(sequence);
  const averaged = new Map<string, Homolog>();
  for (const homolog of selected.flatMap((homologSet) => homologSet.averaged)) {
    if (!averaged.has(homolog.id)) averaged.set(homolog.id, homolog);
  }
  return { ...last, averaged: [...averaged.values()] };
}

/** `count` of a list at even distances, the first and the last among them, or all of it. */
function spread<Item>(list: readonly Item[], count: number): readonly Item[] {
  if (list.length <= count) return list;
  if (count < 2) return list.slice(0, count);
  return Array.from(
    { length: count },
    (_, place) => list[Math.round((place * (list.length - 1)) / (count - 1))],
  );
}

/** Whether more than this share of the columns in which both have a letter have the same. */
function areCopies(first: Uint8Array, second: Uint8Array, maxIdentity: number): boolean {
  // With so many differences no number of columns makes them copies.
  const most = (1 - maxIdentity) * first.length;
  let [both, different] = [0, 0];
  for (let column = 0; column < first.length && different <= most; column += 1) {
    if (first[column] === NOTHING || second[column] === NOTHING) continue;
    both += 1;
    if (first[column] !== second[column]) different += 1;
  }
  return both - different > maxIdentity * both;
}
