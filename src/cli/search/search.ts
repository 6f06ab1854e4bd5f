import type { Command } from 'commander';
import type { CommandContext } from '../terminal/command.js';
import { FILTER_HELP } from './filter.js';
import { addSearchOptions } from './flags.js';
import type { SearchFlags } from './options.js';

const EXAMPLES = `
${FILTER_HELP}
Examples:
  gloaming search query.fasta --database demo
  gloaming search query.fasta -d swissprot --filter 'organism~coli' --filter 'length<=400' --alignments
  gloaming search many.fasta.gz -d swissprot --format tsv --limit 1000 --output found.tsv
  gloaming search many.fasta -d swissprot --outfmt '6 qseqid sseqid pident evalue bitscore staxids stitle' -e 1e-3
  cat query.fasta | gloaming search - --format a3m > query.a3m
  gloaming search many.fasta --format a3m --output alignments.tar     (or a folder: alignments/)
  gloaming search many.fasta -d swissprot --format html --output found.html    (opens in any browser)
`;

/** `gloaming search <fasta|->`: searches without a server. */
export function register(program: Command, context: CommandContext): void {
  const command = program
    .command('search')
    .description('search a database with the proteins of a FASTA file; no server is needed')
    .argument(
      '<fasta>',
      'proteins, plain or compressed by gzip, zstd or xz; - reads standard input; or families (.sto, .a3m, .hmm)',
    );
  addSearchOptions(command)
    .addHelpText('after', EXAMPLES)
    .action(async (fasta: string, flags: SearchFlags) => {
      // The help of the command does not need the modules of a search.
      const { runSearch } = await import('./run-search.js');
      await runSearch(fasta, flags, context);
    });
}
