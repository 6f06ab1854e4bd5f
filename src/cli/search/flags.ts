import { Option, type Command } from 'commander';
import { MSA_MAX_ROUNDS, RETAINED_MAX_CANDIDATES } from '../../limits.js';
import { integerBetween } from '../terminal/arguments.js';
import { addFieldOptions, addMsaOptions } from '../terminal/formats.js';
import { addSearchSettings } from '../terminal/search-settings.js';
import { addCutOffOptions, addSortOption } from '../terminal/selection.js';
import { CUT_OFF_LIMIT, DEFAULT_LIMIT, FORMATS, TABLE_LIMIT } from './options.js';

const THREADS_MAX = 256;

/** Adds the options of `gloaming search`. */
export function addSearchOptions(command: Command): Command {
  const limitHelp =
    `nearest candidates per query, 1 to ${RETAINED_MAX_CANDIDATES} ` +
    `(default: ${CUT_OFF_LIMIT} with cut-offs or as a3m, or as many as the approximate policy lists, ` +
    `${TABLE_LIMIT} in a table, which shows the best of the nearest 500, else ${DEFAULT_LIMIT})`;
  command.option(
    '-d, --database <name>',
    'slug or id of a database, or a release id (dbr_…); default: the default one',
  );
  addSearchSettings(command, {
    limit: limitHelp,
    evidence: 'what to compute beside the ranking (default: what the output shows)',
    probability: 'table, tsv, arrow, json: also the probability that a candidate is a homolog',
    parseLimit: integerBetween(1, RETAINED_MAX_CANDIDATES),
  });
  addSortOption(addCutOffOptions(command))
    .addOption(
      new Option('-f, --format <format>', 'how to write the answer (default: table)').choices(FORMATS),
    )
    .option(
      '--propagation',
      'tsv, json, arrow, html: also targets that the hits of the query lead to, with E-values of their own',
    )
    .option('-a, --alignments', 'draw the alignments; in tsv, json and arrow: add their columns');
  return addMsaOptions(addFieldOptions(command))
    .option(
      '--rounds <count>',
      `a3m: searches, each with the profile of the hits before it, 1 to ${MSA_MAX_ROUNDS} (default: 1)`,
      integerBetween(1, MSA_MAX_ROUNDS),
    )
    .option(
      '--homolog-rows <source>',
      'a3m: also homologs that mmseqs finds in this homolog source, each protein once',
    )
    .option('-o, --output <file>', 'write here; a3m of many queries: a folder/, or a file.tar')
    .option('--threads <count>', 'threads; the answer does not depend on it', integerBetween(1, THREADS_MAX))
    .option('--verbose', 'write to standard error how many targets each stage of a search left');
}
