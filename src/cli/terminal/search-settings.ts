import { InvalidArgumentError, Option, type Command } from 'commander';
import { Refusal } from '../../errors.js';
import {
  ALIGNMENTS_COUNT,
  ALIGNMENTS_EXPECTED_FALSE_HITS,
  DATABASE_SIZE_MAX,
  PAIR_ALIGNMENTS_MAX_COUNT,
} from '../../limits.js';
import type { AlignmentBounds, QueryRange } from '../../pipelines/search.js';
import { integerBetween, positiveInteger } from './arguments.js';

/** Options of every command that searches. */
export interface SearchSettingFlags {
  readonly limit?: number;
  readonly filter: readonly string[];
  readonly evidence?: 'candidate_measurement' | 'pairwise_sequence_alignment';
  readonly guarantee?: 'approximate' | 'exhaustive';
  readonly significance?: 'not_requested' | 'if_available' | 'required';
  readonly homologs?: 'as_release' | 'none';
  readonly databaseSize?: number;
  readonly maxHsps?: number;
  readonly queryRange?: QueryRange;
  readonly probability?: boolean;
}

interface Wording {
  /** Help of --limit, with its range and default. */
  readonly limit: string;
  /** Help of --evidence, with its default. */
  readonly evidence: string;
  /** Help of --probability: what it adds, and to which output. */
  readonly probability: string;
  readonly parseLimit?: (text: string) => number;
  /** Whether the command has --max-evalue. Default: true. */
  readonly hasMaxEvalue?: boolean;
}

/**
 * Adds `--limit`, `--filter`, `--evidence`, `--guarantee`, `--significance`, `--database-size`, `--query-range`,
 * `--max-hsps`, `--probability` and `--homologs`.
 */
export function addSearchSettings(
  command: Command,
  { limit, evidence, probability, parseLimit = positiveInteger, hasMaxEvalue = true }: Wording,
): Command {
  const largest = `${ALIGNMENTS_EXPECTED_FALSE_HITS}${hasMaxEvalue ? ' (or --max-evalue)' : ''}`;
  const homologs = new Option(
    '--homologs <kind>',
    'whether homologs of the query are searched, too, where the targets have homologs (default: as_release)',
  ).choices(['as_release', 'none']);
  return command
    .option('-l, --limit <count>', limit, parseLimit)
    .addOption(
      new Option(
        '--filter <expression>',
        'search only proteins for which this holds, such as organism=… or length>=100; repeated: all must hold',
      )
        .argParser((value: string, earlier: readonly string[]) => [...earlier, value])
        .default([], 'none'),
    )
    .addOption(
      new Option('--evidence <kind>', evidence).choices([
        'candidate_measurement',
        'pairwise_sequence_alignment',
      ]),
    )
    .addOption(
      new Option('--guarantee <kind>', 'what the ranking must be (default: approximate)').choices([
        'approximate',
        'exhaustive',
      ]),
    )
    .addOption(
      new Option('--significance <kind>', 'whether E-values are wanted (default: if_available)').choices([
        'not_requested',
        'if_available',
        'required',
      ]),
    )
    .option(
      '--database-size <count>',
      'E-values as if so many proteins were searched, such as of growing databases (default: those searched)',
      databaseSize,
    )
    .option(
      '--query-range <first-last>',
      'search these residues of each query alone, such as 40-180; positions in the answer are those of the whole query',
      rangeOf,
    )
    .addOption(
      new Option(
        '--max-hsps [count]',
        `all alignments of a target with conditional E ≤ ${largest} that do not ` +
          `overlap in query and target at once, so many at most (without a number: ${ALIGNMENTS_COUNT})`,
      )
        .preset(String(ALIGNMENTS_COUNT))
        .argParser(integerBetween(1, PAIR_ALIGNMENTS_MAX_COUNT)),
    )
    .option('--probability', probability)
    .addOption(homologs)
    .addOption(formerName(homologs, '--relatives <kind>'));
}

/**
 * The bounds of further alignments; undefined if none are asked for.
 * @param maxEvalue  cut-off of the command, if it has one
 * Errors  Refusal `invalid_option` without E-values, or without alignments
 */
export function alignmentBoundsOf({
  maxHsps,
  maxEvalue,
  significance,
  evidence,
}: Pick<SearchSettingFlags, 'maxHsps' | 'significance' | 'evidence'> & {
  readonly maxEvalue?: number;
}): AlignmentBounds | undefined {
  if (maxHsps === undefined) return undefined;
  if (significance === 'not_requested') {
    throw new Refusal(
      'invalid_option',
      '--max-hsps needs the E-values that --significance not_requested leaves out. Leave out one of the two.',
    );
  }
  if (evidence === 'candidate_measurement') {
    throw new Refusal(
      'invalid_option',
      '--max-hsps needs alignments, which --evidence candidate_measurement does not compute. Leave out one of the two.',
    );
  }
  return { maxCount: maxHsps, maxEValue: maxEvalue ?? ALIGNMENTS_EXPECTED_FALSE_HITS };
}

/** Line of standard error about targets with more alignments than the largest count; empty for none. */
export function describeCutAlignments(cutCount: number, { maxCount }: AlignmentBounds): string {
  if (cutCount === 0) return '';
  const targets = cutCount === 1 ? '1 target has' : `${cutCount} targets have`;
  return `${targets} more than ${maxCount} alignments; the others are left out (--max-hsps).\n`;
}

/** Residues from 1, both inclusive, as zero-based half-open range. */
function rangeOf(text: string): QueryRange {
  const [, first, last] = /^(\d+)-(\d+)$/.exec(text) ?? [];
  const range = { start: Number(first) - 1, end: Number(last) };
  if (range.start >= 0 && range.end > range.start) return range;
  throw new InvalidArgumentError('Expected the first and the last residue, such as 40-180.');
}

function databaseSize(text: string): number {
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (value >= 1 && value <= DATABASE_SIZE_MAX) return value;
  throw new InvalidArgumentError(`Expected a number of proteins from 1 to ${DATABASE_SIZE_MAX}.`);
}

/** A hidden option that sets the value of another one: its former name. */
export function formerName(option: Option, flags: string): Option {
  const former = new Option(flags, option.description).hideHelp();
  if (option.argChoices !== undefined) former.choices(option.argChoices);
  former.attributeName = () => option.attributeName();
  return former;
}
