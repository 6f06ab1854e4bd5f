import { InvalidArgumentError, Option, type Command } from 'commander';
import { DATABASE_SIZE_MAX } from '../../limits.js';
import { positiveInteger } from './arguments.js';

/** Options of every command that searches. */
export interface SearchSettingFlags {
  readonly limit?: number;
  readonly filter: readonly string[];
  readonly evidence?: 'candidate_measurement' | 'pairwise_sequence_alignment';
  readonly guarantee?: 'approximate' | 'exhaustive';
  readonly significance?: 'not_requested' | 'if_available' | 'required';
  readonly homologs?: 'as_release' | 'none';
  readonly databaseSize?: number;
}

interface Wording {
  /** Help of --limit, with its range and default. */
  readonly limit: string;
  /** Help of --evidence, with its default. */
  readonly evidence: string;
  readonly parseLimit?: (text: string) => number;
}

/** Adds `--limit`, `--filter`, `--evidence`, `--guarantee`, `--significance`, `--database-size` and `--homologs`. */
export function addSearchSettings(
  command: Command,
  { limit, evidence, parseLimit = positiveInteger }: Wording,
): Command {
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
    .addOption(homologs)
    .addOption(formerName(homologs, '--relatives <kind>'));
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
