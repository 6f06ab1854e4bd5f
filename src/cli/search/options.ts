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

/** Options of the command line. commander has checked the choices. */
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
/** Limit on shown candidates if cut-offs select them. */
const CUT_OFF_LIMIT = 1_000;
const THREADS_MAX = 256;

/** Output format. Errors  Refusal `invalid_option` if two formats are named */
export function formatIn(flags: SearchFlags): FormatName {
  return formatNameOf(flags, flags.format) ?? 'table';
}

/** The format of exports that the options name, if any. Errors  Refusal for unknown columns */
export function exportFormatOf(flags: SearchFlags): ExportFormat | undefined {
  const format = formatIn(flags);
  const isShared = format === 'm8' || format === 'blast' || format === 'mmseqs' || format === 'a3m';
  const asked = exportAskedOf(flags, isShared ? format : 'tsv');
  return isShared ? formatOf(asked) : undefined;
}

/** The table shows the best few candidates. Other formats have the default of the HTTP route. */
export function limitOf(flags: SearchFlags): number {
  if (flags.limit !== undefined) return flags.limit;
  const format = formatIn(flags);
  if (format === 'a3m' || Object.keys(cutOffsOf(flags)).length > 0) return CUT_OFF_LIMIT;
  return format === 'table' ? TABLE_LIMIT : DEFAULT_LIMIT;
}

/**
 * Returns the cut-offs and the order of the shown candidates. Tables and alignments list the best E-values first. JSON
 * keeps the order of the homology route, and a reader sorts the page.
 * Errors  Refusal `invalid_option` if E-values are to be filtered and the search asks for none
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
 * Alignments are computed if the output shows values of them. The table shows coverage and identity.
 * Errors  Refusal `invalid_option` if the requested evidence lacks values that the output shows
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
