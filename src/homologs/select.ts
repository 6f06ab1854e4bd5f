import { alignHomologSet, NO_AMINO_ACID } from './alignment.js';
import type { HomologSet, Homolog } from './homolog-set.js';
import { withoutHomologs, type SelectedHomologSet } from './finder.js';
import type { HomologRules } from './rules.js';

/**
 * Selects the homologs of a profile: within the rules, each id once, and no near copy of a homolog with a smaller
 * E-value. Of more than `profileCount` homologs, it takes that many at even ranks from the smallest to the largest
 * E-value.
 * Errors  Fault where an alignment runs past the end of its sequences
 */
export function selectHomologs(hits: HomologSet, rules: HomologRules): SelectedHomologSet {
  const { sequence } = hits;
  const seen = new Set<string>();
  const near = hits.homologs
    .filter(
      ({ eValue, coverage, identity }) =>
        eValue <= rules.maxEValue && coverage >= rules.minCoverage && identity <= rules.maxIdentity,
    )
    .toSorted((a, b) => a.eValue - b.eValue || (a.id < b.id ? -1 : 1))
    .filter(({ id }) => !seen.has(id) && seen.add(id));
  const rows = alignHomologSet({ sequence, homologs: near }).rows.slice(1).map(alignedSpan);
  const distinct: number[] = [];
  for (let index = 0; index < near.length; index += 1) {
    const row = rows[index];
    if (!distinct.some((other) => areCopies(row, rows[other], rules.maxIdentity))) distinct.push(index);
  }
  const homologs = spread(distinct, rules.profileCount).map((index) => near[index]);
  return { sequence, homologs, averaged: averagedOf(homologs, rules) };
}

/** Returns the selected homologs whose token vectors are averaged, at even ranks. */
export function averagedOf(
  homologs: readonly Homolog[],
  { vectorCount }: Pick<HomologRules, 'vectorCount'>,
): readonly Homolog[] {
  return spread(homologs, vectorCount);
}

/**
 * Returns the hits within E-value and coverage in ascending order of E-value, near copies included. Of several hits
 * with one id, the first counts.
 */
export function listHomologs<Listed extends Homolog>(
  hits: readonly Listed[],
  { maxEValue, minCoverage }: Pick<HomologRules, 'maxEValue' | 'minCoverage'>,
): readonly Listed[] {
  const first = new Map<string, Listed>();
  for (const homolog of hits) {
    if (homolog.eValue > maxEValue || homolog.coverage < minCoverage) continue;
    if (!first.has(homolog.id)) first.set(homolog.id, homolog);
  }
  return [...first.values()].sort((a, b) => a.eValue - b.eValue || (a.id < b.id ? -1 : 1));
}

/**
 * Selects homologs of an iterated search. The profile uses the last round with hits. The averaged vectors come from all
 * rounds in equal parts, because later rounds find more remote homologs and would outweigh near ones.
 * Errors  Fault where an alignment runs past the end of its sequences
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

/** Returns `count` items at even ranks, the first and the last included; all items of a shorter list. */
function spread<Item>(list: readonly Item[], count: number): readonly Item[] {
  if (list.length <= count) return list;
  if (count < 2) return list.slice(0, count);
  return Array.from(
    { length: count },
    (_, place) => list[Math.round((place * (list.length - 1)) / (count - 1))],
  );
}

/** A row with the columns from its first to behind its last amino acid; none where it has none. */
interface AlignedSpan {
  readonly row: Uint8Array;
  readonly start: number;
  readonly end: number;
}

function alignedSpan(row: Uint8Array): AlignedSpan {
  const isAligned = (letter: number): boolean => letter !== NO_AMINO_ACID;
  return { row, start: Math.max(0, row.findIndex(isAligned)), end: row.findLastIndex(isAligned) + 1 };
}

/** Whether two rows agree in more than this share of the columns in which both have an amino acid. */
function areCopies(
  { row: first, start: firstStart, end: firstEnd }: AlignedSpan,
  { row: second, start: secondStart, end: secondEnd }: AlignedSpan,
  maxIdentity: number,
): boolean {
  const start = Math.max(firstStart, secondStart);
  const end = Math.min(firstEnd, secondEnd);
  // Rows with more differences than this cannot be copies, so the loop stops early.
  const most = (1 - maxIdentity) * (end - start);
  let [both, different] = [0, 0];
  for (let column = start; column < end && different <= most; column += 1) {
    if (first[column] === NO_AMINO_ACID || second[column] === NO_AMINO_ACID) continue;
    both += 1;
    // 1 where they differ. A branch that is taken half of the time would take as long as the rest of the loop.
    const bits = first[column] ^ second[column];
    different += (bits | -bits) >>> 31;
  }
  return both - different > maxIdentity * both;
}
