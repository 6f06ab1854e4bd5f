import { InvalidArgumentError, Option, type Command } from 'commander';
import type { CutOffs, Sort } from '../../contract/search/selection.js';
import { Refusal } from '../../errors.js';
import { formatOf, type ExportFormat } from '../../services/export/formats.js';
import { RETAINED_MAX_CANDIDATES } from '../../limits.js';
import type {
  EvidenceRequest,
  Guarantee,
  QueryHomologs,
  SignificanceRequirement,
} from '../../pipelines/search.js';
import { needAlignments } from '../../services/select.js';
import {
  addFieldOptions,
  addMsaOptions,
  exportAskedOf,
  formatNameOf,
  type ExportFlags,
} from '../terminal/formats.js';
import { addCutOffOptions, addSortOption, cutOffsOf, type SelectionFlags } from '../terminal/selection.js';

const FORMATS = ['table', 'json', 'tsv', 'm8', 'fasta', 'a3m', 'arrow', 'html'] as const;
export type FormatName = (typeof FORMATS)[number] | 'blast' | 'mmseqs';

/** What the command line says; commander has checked the choices. */
export interface SearchFlags extends SelectionFlags, ExportFlags {
  readonly database?: string;
  readonly format?: (typeof FORMATS)[number];
  readonly alignments?: boolean;
  readonly filter: readonly string[];
  readonly evidence?: EvidenceRequest;
  readonly guarantee: Guarantee;
  readonly significance: SignificanceRequirement;
  readonly relatives: QueryHomologs;
  readonly limit?: number;
  readonly threads?: number;
  readonly output?: string;
  readonly verbose?: boolean;
}

const TABLE_LIMIT = 25;
const DEFAULT_LIMIT = 100;
/** Where cut-offs decide what is shown, the limit shall not. */
const CUT_OFF_LIMIT = 1_000;
const THREADS_MAX = 256;

/** How the answer is written. Errors  Refusal `invalid_option` where two formats are named */
export function formatIn(flags: SearchFlags): FormatName {
  return formatNameOf(flags, flags.format) ?? 'table';
}

/** The format, where exports of runs have it, too. Errors  Refusal for columns that are not there */
export function exportFormatOf(flags: SearchFlags): ExportFormat | undefined {
  const format = formatIn(flags);
  const isShared = format === 'm8' || format === 'blast' || format === 'mmseqs' || format === 'a3m';
  const asked = exportAskedOf(flags, isShared ? format : 'tsv');
  return isShared ? formatOf(asked) : undefined;
}

/** A person looks at the best few; the other formats follow the default of the HTTP route. */
export function limitOf(flags: SearchFlags): number {
  if (flags.limit !== undefined) return flags.limit;
  const format = formatIn(flags);
  if (format === 'a3m' || Object.keys(cutOffsOf(flags)).length > 0) return CUT_OFF_LIMIT;
  return format === 'table' ? TABLE_LIMIT : DEFAULT_LIMIT;
}

/**
 * What is shown of what was found. People and their tools get the best E-values first; JSON is the answer of the
 * homology route, in its order, and a page is sorted by whoever reads it.
 * Errors  Refusal `invalid_option` where E-values are to be small that nobody wants
 */
export function selectionOf(flags: SearchFlags): { readonly cutOffs: CutOffs; readonly sort: Sort } {
  const format = formatIn(flags);
  const first = format === 'json' || format === 'html' ? 'rank' : 'evalue';
  const { sort = first, significance, maxEvalue } = flags;
  if (maxEvalue !== undefined && significance === 'not_requested') {
    throw new Refusal(
      'invalid_option',
      '--max-evalue needs the E-values that --significance not_requested leaves out. Leave out one of the two.',
    );
  }
  return { cutOffs: cutOffsOf(flags), sort };
}

/**
 * Alignments are computed where the output shows something of them (the table does: coverage and identity).
 * Errors  Refusal `invalid_option` where the evidence asked for lacks what the output was asked to show
 */
export function evidenceOf(flags: SearchFlags): EvidenceRequest {
  const { evidence, alignments } = flags;
  const format = formatIn(flags);
  const hasCutOffs = needAlignments(cutOffsOf(flags));
  const isOfAlignments = exportFormatOf(flags)?.needsAlignments ?? false;
  const needsAlignments = alignments === true || isOfAlignments || hasCutOffs;
  if (evidence === 'candidate_measurement' && needsAlignments) {
    const who =
      alignments === true
        ? '--alignments'
        : hasCutOffs
          ? 'A least coverage or identity'
          : `The format ${format}`;
    throw new Refusal(
      'invalid_option',
      `${who} needs alignments, which --evidence candidate_measurement does not compute. Leave out one of the two.`,
    );
  }
  if (evidence !== undefined) return evidence;
  const isShown = format === 'table' || format === 'html';
  return needsAlignments || isShown ? 'pairwise_sequence_alignment' : 'candidate_measurement';
}

export function addSearchOptions(command: Command): Command {
  const limitHelp =
    `nearest candidates per query, 1 to ${RETAINED_MAX_CANDIDATES} ` +
    `(default: ${CUT_OFF_LIMIT} with cut-offs or as a3m, ${TABLE_LIMIT} in a table, else ${DEFAULT_LIMIT})`;
  addCutOffOptions(addSortOption(command));
  addMsaOptions(addFieldOptions(command));
  return command
    .option(
      '-d, --database <name>',
      'slug or id of a database, or a release id (dbr_…); default: the default one',
    )
    .addOption(
      new Option('-f, --format <format>', 'how to write the answer (default: table)').choices(FORMATS),
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
    .addOption(
      new Option('--relatives <kind>', 'whether a query is given relatives where the targets have them')
        .choices(['as_release', 'none'])
        .default('as_release'),
    )
    .option('-l, --limit <count>', limitHelp, integerBetween(1, RETAINED_MAX_CANDIDATES))
    .option('--threads <count>', 'threads; the answer does not depend on it', integerBetween(1, THREADS_MAX))
    .option('-o, --output <file>', 'write here instead of to the terminal')
    .option('--verbose', 'write to standard error how many targets each stage of a search left');
}

function integerBetween(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    if (value >= least && value <= most) return value;
    throw new InvalidArgumentError(`Expected a whole number from ${least} to ${most}.`);
  };
}
