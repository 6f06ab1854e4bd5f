import { InvalidArgumentError, Option, type Command } from 'commander';
import type { CutOffs, Sort } from '../../contract/search/selection.js';

/** Orders of the command line, with the names that the contract has for them. */
const SORTS = { evalue: 'evalue', distance: 'rank', score: 'score' } as const satisfies Record<string, Sort>;
const SORT_NAMES = Object.keys(SORTS);

/** Options that choose and order the shown candidates. */
export interface SelectionFlags extends CutOffFlags {
  readonly sort?: Sort;
}

export interface CutOffFlags {
  readonly maxEvalue?: number;
  readonly minQueryCoverage?: number;
  readonly minTargetCoverage?: number;
  readonly minIdentity?: number;
}

export function addCutOffOptions(command: Command): Command {
  return command
    .option('-e, --max-evalue <number>', 'leave out what has a greater E-value, or none', evalueOf)
    .option('--min-query-coverage <ratio>', 'least aligned part of the query: 0.5 or 50%', ratioOf)
    .option('--min-target-coverage <ratio>', 'least aligned part of the target', ratioOf)
    .option('--min-identity <ratio>', 'least sequence identity of the alignment', ratioOf);
}

export function addSortOption(command: Command): Command {
  return command.addOption(
    new Option(
      '--sort <order>',
      'order of the candidates of each query, in every format; ranks count by distance (default: evalue)',
    )
      .choices(SORT_NAMES)
      .argParser(sortOf),
  );
}

/** Translates the cut-offs into the request. Cut-offs that were not given are absent. */
export function cutOffsOf(flags: CutOffFlags): CutOffs {
  const { maxEvalue, minQueryCoverage, minTargetCoverage, minIdentity } = flags;
  return {
    ...(maxEvalue !== undefined && { maximum_expected_false_hits: maxEvalue }),
    ...(minQueryCoverage !== undefined && { minimum_query_coverage_ratio: minQueryCoverage }),
    ...(minTargetCoverage !== undefined && { minimum_target_coverage_ratio: minTargetCoverage }),
    ...(minIdentity !== undefined && { minimum_sequence_identity_ratio: minIdentity }),
  };
}

/** Returns one line about the order. @param hasEValues  whether any candidate has an E-value */
export function describeOrder(sort: Sort, hasEValues = true, isPropagated = false): string {
  switch (sort) {
    case 'rank':
      return 'Ordered by distance, nearest first.';
    case 'score':
      return 'Ordered by score, best first.';
    case 'evalue':
      if (isPropagated) return 'Ordered by the joint E-value of search and propagation.';
      return hasEValues
        ? 'Ordered by E-value, then by score (--sort distance: nearest first).'
        : 'Ordered by score, as there are no E-values (--sort distance: nearest first).';
  }
}

/** Returns one line about what the cut-offs left out; empty if nothing. */
export function describeLeftOut(leftOutCount: number, candidateCount: number): string {
  if (leftOutCount === 0) return '';
  const [left, all] = [leftOutCount, candidateCount].map((count) => count.toLocaleString('en-US'));
  return `${left} of ${all} candidates do not pass the cut-offs and are left out.`;
}

/** `rank` is the former name of `distance`. */
function sortOf(text: string): Sort {
  if (text === 'rank') return 'rank';
  if (Object.hasOwn(SORTS, text)) return SORTS[text as keyof typeof SORTS];
  throw new InvalidArgumentError(`Allowed choices are ${SORT_NAMES.join(', ')}.`);
}

function evalueOf(text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && Number.isFinite(value) && value >= 0) return value;
  throw new InvalidArgumentError('Expected a number from 0, such as 1e-3.');
}

/** Parses a ratio with an optional per cent sign. `50` alone is refused, because it is ambiguous. */
export function ratioOf(text: string): number {
  const [, number = '', percent] = /^\s*([\d.]+)\s*(%?)\s*$/.exec(text) ?? [];
  const value = number === '' ? Number.NaN : Number(number) / (percent === '%' ? 100 : 1);
  if (value >= 0 && value <= 1) return value;
  throw new InvalidArgumentError('Expected a ratio from 0 to 1, or per cent with their sign: 0.5 or 50%.');
}
