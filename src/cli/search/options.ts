import type { CutOffs, Sort } from '../../contract/search/selection.js';
import { Refusal } from '../../errors.js';
import type { EvidenceRequest } from '../../pipelines/search.js';
import type { ExportFormat } from '../../services/export/formats.js';
import { needAlignments } from '../../services/select.js';
import { exportOptionsOf, formatNameOf, type ExportFlags } from '../terminal/formats.js';
import type { SearchSettingFlags } from '../terminal/search-settings.js';
import { cutOffsOf, type SelectionFlags } from '../terminal/selection.js';

export const FORMATS = ['table', 'json', 'tsv', 'm8', 'fasta', 'a3m', 'arrow', 'html'] as const;
export type FormatName = (typeof FORMATS)[number] | 'blast' | 'mmseqs';

/** Options of the command line. commander has checked the choices. */
export interface SearchFlags extends SelectionFlags, ExportFlags, SearchSettingFlags {
  readonly database?: string;
  readonly format?: (typeof FORMATS)[number];
  readonly alignments?: boolean;
  readonly rounds?: number;
  readonly homologRows?: string;
  readonly propagation?: boolean;
  readonly threads?: number;
  readonly output?: string;
  readonly verbose?: boolean;
}

export const TABLE_LIMIT = 25;
export const DEFAULT_LIMIT = 100;
/** Limit on shown candidates if cut-offs select them, and on those that a walk starts from. */
export const CUT_OFF_LIMIT = 1_000;

/** Output format. Errors  Refusal `invalid_option` if two formats are named */
export function formatIn(flags: SearchFlags): FormatName {
  return formatNameOf(flags, flags.format) ?? 'table';
}

/** Formats that the exports of runs share. */
function isShared(format: FormatName): format is 'm8' | 'blast' | 'mmseqs' | 'a3m' {
  return format === 'm8' || format === 'blast' || format === 'mmseqs' || format === 'a3m';
}

/**
 * The format of exports that the options name, if any.
 * Errors  Refusal for unknown columns, for options of another format
 */
export async function exportFormatOf(flags: SearchFlags): Promise<ExportFormat | undefined> {
  const format = formatIn(flags);
  const exportOptions = exportOptionsOf(flags, isShared(format) ? format : 'tsv');
  if (!isShared(format)) return undefined;
  const { formatOf } = await import('../../services/export/formats.js');
  const isTar = format === 'a3m' && isArchive(flags.output);
  return formatOf({ ...exportOptions, ...(isTar && { all_queries: true }) });
}

/** Formats that have a place for targets that only the neighbours of hits lead to. */
const PROPAGATED_FORMATS: readonly string[] = ['tsv', 'json', 'arrow', 'html'];

/**
 * Whether the search is propagated.
 * Errors  Refusal `invalid_option` with a format that has no place for it, without E-values, or with a database size
 */
export function isPropagated(flags: SearchFlags): boolean {
  if (flags.propagation !== true) return false;
  if (!PROPAGATED_FORMATS.includes(formatIn(flags))) {
    throw new Refusal('invalid_option', '--propagation goes with --format tsv, json, arrow or html.');
  }
  if (flags.databaseSize !== undefined) {
    throw new Refusal(
      'invalid_option',
      '--propagation has the E-values of the release, which --database-size does not scale. Leave out one of the two.',
    );
  }
  if (flags.significance !== 'not_requested') return true;
  throw new Refusal(
    'invalid_option',
    '--propagation starts from the E-values that --significance not_requested leaves out. Leave out one of the two.',
  );
}

/** Whether the output shows probabilities: by the option, or by MMseqs2's column. */
export function hasProbability({ probability, formatOutput }: SearchFlags): boolean {
  return probability === true || (formatOutput ?? '').split(/[\s,]+/).includes('prob');
}

/** Whether the output is a tar of alignments. */
export function isArchive(output: string | undefined): boolean {
  return output?.endsWith('.tar') ?? false;
}

/**
 * Returns the cut-offs and the order of the shown candidates. The order is the same in every format.
 * Errors  Refusal `invalid_option` if E-values are to be filtered and the search asks for none
 */
export function selectionOf(flags: SearchFlags): { readonly cutOffs: CutOffs; readonly sort: Sort } {
  const { sort = 'evalue', significance, maxEvalue } = flags;
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
 * @param exported  the format of exports that the options name
 */
export function evidenceOf(flags: SearchFlags, exported: ExportFormat | undefined): EvidenceRequest {
  const { evidence, alignments, maxHsps } = flags;
  const format = formatIn(flags);
  const hasCutOffs = needAlignments(cutOffsOf(flags));
  const isOfAlignments = exported?.needsAlignments === true;
  const isPropagated = flags.propagation === true;
  const hasHsps = maxHsps !== undefined;
  const needsAlignments = alignments === true || isOfAlignments || hasCutOffs || isPropagated || hasHsps;
  if (evidence === 'candidate_measurement' && needsAlignments) {
    const who =
      alignments === true
        ? '--alignments'
        : hasCutOffs
          ? 'A least coverage or identity'
          : isPropagated || hasHsps
            ? `--${isPropagated ? 'propagation' : 'max-hsps'}`
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
