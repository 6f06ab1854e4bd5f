import { Option, type Command } from 'commander';
import type { MsaChoice } from '../../contract/msa.js';
import type { ExportFormatName, Missing } from '../../contract/runs/run-files.js';
import { Refusal } from '../../errors.js';
import { isTableOfAnother } from '../../services/export/rows.js';
import { positiveInteger } from './arguments.js';
import { cutOffsOf, ratioOf, type SelectionFlags } from './selection.js';

/** Options of the commands that write tables and alignments. */
export interface ExportFlags extends MsaFlags {
  readonly outfmt?: string;
  readonly formatOutput?: string;
  readonly missing?: Missing;
}

interface MsaFlags {
  readonly maxSequences?: number;
  readonly maxIdentity?: number;
  readonly diff?: number;
  readonly selection?: MsaChoice['selection'];
}

export function addFieldOptions(command: Command): Command {
  return command
    .option(
      '--outfmt <format>',
      "as BLAST's and DIAMOND's: '6 qseqid sseqid evalue …', '7 …' with comments, 5 for XML",
    )
    .option('--format-output <names>', "columns as MMseqs2's: query,target,fident,evalue,…")
    .addOption(
      new Option(
        '--missing <text>',
        'm8, outfmt, format-output: E-values and bit scores of a database without calibration: ' +
          'count (the number of its proteins, and 0), nan, or empty (default: count)',
      ).choices(['count', 'nan', 'empty']),
    );
}

export function addMsaOptions(command: Command): Command {
  return command
    .option(
      '--max-sequences <count>',
      'a3m: rows at most, the query included; if more pass, --selection says which stay (default: 5000)',
      positiveInteger,
    )
    .addOption(
      new Option(
        '--selection <rule>',
        'a3m: rows that stay beyond --max-sequences: spread over classes of identity with the query, also rows of ' +
          'larger E-values; or rank, the first in the order of --sort (default: identity_strata)',
      ).choices(['identity_strata', 'rank']),
    )
    .option(
      '--max-identity <ratio>',
      'a3m: of rows more alike than this the best stays (default: 0.95)',
      ratioOf,
    )
    .option('--diff <count>', 'a3m: only the most diverse, so many in every 50 columns', positiveInteger);
}

/** Returns the format that the options name. Errors  Refusal `invalid_option` when they name two */
export function formatNameOf<Name extends string>(
  { outfmt, formatOutput }: ExportFlags,
  format: Name | undefined,
): Name | Extract<ExportFormatName, 'blast' | 'mmseqs'> | undefined {
  const named = [format, outfmt, formatOutput].filter((each) => each !== undefined);
  if (named.length > 1) {
    throw new Refusal(
      'invalid_option',
      '--format, --outfmt and --format-output each name a format. Give one.',
    );
  }
  if (outfmt !== undefined) return 'blast';
  return formatOutput === undefined ? format : 'mmseqs';
}

/** Translates the options of a format into the request of an export. */
export function exportOptionsOf(flags: ExportFlags & SelectionFlags, format: ExportFormatName) {
  const { outfmt, formatOutput, missing, sort = 'evalue' } = flags;
  const msa = msaChoiceOf(flags);
  if (format !== 'a3m' && Object.keys(msa).length > 0) {
    throw new Refusal(
      'invalid_option',
      '--max-sequences, --selection, --max-identity and --diff choose the rows of an alignment: they go with ' +
        '--format a3m.',
    );
  }
  if (missing !== undefined && !isTableOfAnother(format)) {
    throw new Refusal(
      'invalid_option',
      '--missing says how E-values and bit scores are written that a database does not have: ' +
        'it goes with --format m8, --outfmt and --format-output.',
    );
  }
  return {
    format,
    sort,
    ...cutOffsOf(flags),
    ...(outfmt !== undefined && { outfmt }),
    ...(formatOutput !== undefined && { format_output: formatOutput }),
    ...(missing !== undefined && { missing }),
    ...(format === 'a3m' && { msa }),
  };
}

function msaChoiceOf({ maxSequences, selection, maxIdentity, diff }: MsaFlags): Partial<MsaChoice> {
  return {
    ...(maxSequences !== undefined && { maximum_depth: maxSequences }),
    ...(selection !== undefined && { selection }),
    ...(maxIdentity !== undefined && { maximum_pairwise_identity_ratio: maxIdentity }),
    ...(diff !== undefined && { diverse_row_count: diff }),
  };
}
