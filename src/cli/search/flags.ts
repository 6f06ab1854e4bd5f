import { InvalidArgumentError, Option, type Command } from 'commander';
import {
  ALIGNMENTS_COUNT,
  ALIGNMENTS_EXPECTED_FALSE_HITS,
  PAIR_ALIGNMENTS_MAX_COUNT,
  RETAINED_MAX_CANDIDATES,
} from '../../limits.js';
import type { QueryRange } from '../../pipelines/search.js';
import { addFieldOptions, addMsaOptions } from '../terminal/formats.js';
import { addSearchSettings } from '../terminal/search-settings.js';
import { addCutOffOptions, addSortOption } from '../terminal/selection.js';
import { CUT_OFF_LIMIT, DEFAULT_LIMIT, FORMATS, TABLE_LIMIT } from './options.js';

const THREADS_MAX = 256;

/** Adds the options of `gloaming search`. */
export function addSearchOptions(command: Command): Command {
  const limitHelp =
    `nearest candidates per query, 1 to ${RETAINED_MAX_CANDIDATES} ` +
    `(default: ${CUT_OFF_LIMIT} with cut-offs or as a3m, or as many as the coded policy lists, ` +
    `${TABLE_LIMIT} in a table, else ${DEFAULT_LIMIT})`;
  command.option(
    '-d, --database <name>',
    'slug or id of a database, or a release id (dbr_…); default: the default one',
  );
  addSearchSettings(command, {
    limit: limitHelp,
    evidence: 'what to compute beside the ranking (default: what the output shows)',
    parseLimit: integerBetween(1, RETAINED_MAX_CANDIDATES),
  });
  addSortOption(addCutOffOptions(command))
    .addOption(
      new Option('-f, --format <format>', 'how to write the answer (default: table)').choices(FORMATS),
    )
    .option(
      '--propagation',
      'tsv, json: also targets that the hits of the query lead to, with E-values of their own',
    )
    .option(
      '--query-range <first-last>',
      'search these residues of each query alone, such as 40-180; positions in the answer are those of the whole query',
      rangeOf,
    )
    .addOption(
      new Option(
        '--max-hsps [count]',
        `all alignments of a target with E ≤ ${ALIGNMENTS_EXPECTED_FALSE_HITS} (or --max-evalue) that do not overlap ` +
          `in query and target at once, so many at most (without a number: ${ALIGNMENTS_COUNT})`,
      )
        .preset(String(ALIGNMENTS_COUNT))
        .argParser(integerBetween(1, PAIR_ALIGNMENTS_MAX_COUNT)),
    )
    .option('--probability', 'table, tsv, arrow, json: also the probability that a candidate is a homolog')
    .option('-a, --alignments', 'draw the alignments; in tsv, json and arrow: add their columns');
  return addMsaOptions(addFieldOptions(command))
    .option('-o, --output <file>', 'write here; a3m of many queries: a folder/, or a file.tar')
    .option('--threads <count>', 'threads; the answer does not depend on it', integerBetween(1, THREADS_MAX))
    .option('--verbose', 'write to standard error how many targets each stage of a search left');
}

/** Residues from 1, both inclusive, as zero-based half-open range. */
function rangeOf(text: string): QueryRange {
  const [, first, last] = /^(\d+)-(\d+)$/.exec(text) ?? [];
  const range = { start: Number(first) - 1, end: Number(last) };
  if (range.start >= 0 && range.end > range.start) return range;
  throw new InvalidArgumentError('Expected the first and the last residue, such as 40-180.');
}

function integerBetween(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    if (value >= least && value <= most) return value;
    throw new InvalidArgumentError(`Expected a whole number from ${least} to ${most}.`);
  };
}
