import { InvalidArgumentError, Option, type Command } from 'commander';
import { SORT_ORDERS, type CutOffs, type Sort } from '../../contract/search/selection.js';

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
    new Option('--sort <order>', 'order of the candidates of each query (default: evalue)').choices(
      Object.keys(SORT_ORDERS),
    ),
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

const SAID: Readonly<Record<Sort, string>> = {
  evalue: 'by E-value, then score (--sort rank: by distance)',
  rank: 'by distance, nearest first',
  score: 'by score, best first',
};

/** Returns one line about the order. */
export function sayOrder(sort: Sort): string {
  return `Ordered ${SAID[sort]}.`;
}

/** Returns one line about what the cut-offs left out; empty if nothing. */
export function sayLeftOut(leftOutCount: number, candidateCount: number): string {
  if (leftOutCount === 0) return '';
  const [left, all] = [leftOutCount, candidateCount].map((count) => count.toLocaleString('en-US'));
  return `${left} of ${all} candidates do not pass the cut-offs and are left out.`;
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
