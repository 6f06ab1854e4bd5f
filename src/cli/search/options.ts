import { InvalidArgumentError, Option, type Command } from 'commander';
import { Refusal } from '../../errors.js';
import { RETAINED_MAX_CANDIDATES } from '../../limits.js';
import type { EvidenceRequest, Guarantee, SignificanceRequirement } from '../../search/search-types.js';

const FORMATS = ['table', 'json', 'tsv', 'fasta', 'a3m', 'arrow'] as const;
export type FormatName = (typeof FORMATS)[number];

/** What the command line says; commander has checked the choices. */
export interface SearchFlags {
  readonly database?: string;
  readonly format: FormatName;
  readonly alignments?: boolean;
  readonly filter: readonly string[];
  readonly evidence?: EvidenceRequest;
  readonly guarantee: Guarantee;
  readonly significance: SignificanceRequirement;
  readonly limit?: number;
  readonly threads?: number;
  readonly output?: string;
}

const TABLE_LIMIT = 25;
const DEFAULT_LIMIT = 100;
const THREADS_MAX = 256;

/** A person looks at the best few; the other formats follow the default of the HTTP route. */
export function limitOf({ limit, format }: SearchFlags): number {
  return limit ?? (format === 'table' ? TABLE_LIMIT : DEFAULT_LIMIT);
}

/**
 * Alignments are computed where the output shows something of them (the table does: coverage and identity).
 * Errors  Refusal `invalid_option` where the evidence asked for lacks what the output was asked to show
 */
export function evidenceOf({ evidence, format, alignments }: SearchFlags): EvidenceRequest {
  const needsAlignments = alignments === true || format === 'a3m';
  if (evidence === 'candidate_measurement' && needsAlignments) {
    throw new Refusal(
      'invalid_option',
      `${format === 'a3m' ? '--format a3m' : '--alignments'} shows alignments, which ` +
        '--evidence candidate_measurement does not compute. Leave out one of the two.',
    );
  }
  if (evidence !== undefined) return evidence;
  return needsAlignments || format === 'table' ? 'pairwise_sequence_alignment' : 'candidate_measurement';
}

export function addSearchOptions(command: Command): Command {
  const limitHelp =
    `candidates per query, 1 to ${RETAINED_MAX_CANDIDATES} ` +
    `(default: ${TABLE_LIMIT} in a table, else ${DEFAULT_LIMIT})`;
  return command
    .option(
      '-d, --database <name>',
      'slug or id of a database, or a release id (dbr_…); default: the default one',
    )
    .addOption(
      new Option('-f, --format <format>', 'how to write the answer').choices(FORMATS).default('table'),
    )
    .option('-a, --alignments', 'draw the alignments; in tsv, json and arrow: add their columns')
    .addOption(
      new Option(
        '--filter <expression>',
        'search only proteins for which this holds, such as organism=… or length>=100; repeated: all must hold',
      )
        .argParser((value: string, earlier: readonly string[]) => [...earlier, value])
        .default([], 'none'),
    )
    .addOption(
      new Option('--evidence <kind>', 'what to compute beside the ranking').choices([
        'candidate_measurement',
        'pairwise_sequence_alignment',
      ]),
    )
    .addOption(
      new Option('--guarantee <kind>', 'what the ranking must be')
        .choices(['approximate', 'exhaustive'])
        .default('approximate'),
    )
    .addOption(
      new Option('--significance <kind>', 'whether E-values are wanted')
        .choices(['not_requested', 'if_available', 'required'])
        .default('if_available'),
    )
    .option('-l, --limit <count>', limitHelp, integerBetween(1, RETAINED_MAX_CANDIDATES))
    .option('--threads <count>', 'threads; the answer does not depend on it', integerBetween(1, THREADS_MAX))
    .option('-o, --output <file>', 'write here instead of to the terminal');
}

function integerBetween(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    if (value >= least && value <= most) return value;
    throw new InvalidArgumentError(`Expected a whole number from ${least} to ${most}.`);
  };
}
