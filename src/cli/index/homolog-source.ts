import type { Command } from 'commander';
import { loadConfig } from '../../config.js';
import { addHomologSource, estimateHomologSource } from '../../find-homologs/homolog-sources.js';
import type { CommandContext } from '../terminal/command.js';
import { formatQuantity } from '../terminal/progress.js';

/** `gloaming background add`. */
export function register(program: Command, context: CommandContext): void {
  const homologSource = program
    .command('background')
    .description('sequences in which relatives are looked for by mmseqs, without tokens of their own');
  homologSource
    .command('add')
    .description('make a background of FASTA files')
    .argument('<fasta...>', 'FASTA files, plain or gzip')
    .requiredOption('--name <name>', 'name of the background, as in "index build --relatives <name>"')
    .option('--estimate', 'say what it will take on disk, and make nothing')
    .action((fasta: string[], options: Options) => add(fasta, options, context));
}

interface Options {
  readonly name: string;
  readonly estimate?: boolean;
}

async function add(
  fasta: readonly string[],
  { name, estimate }: Options,
  { environment, stdout }: CommandContext,
): Promise<void> {
  const { indexesFolder } = loadConfig(environment);
  const { bytes } = await estimateHomologSource(fasta);
  stdout.write(`The background takes about ${formatQuantity(bytes, 'B')} in ${indexesFolder}.\n`);
  if (estimate) return;
  const made = await addHomologSource(indexesFolder, name, fasta);
  stdout.write(
    `Made ${name} of ${made.sequences.toLocaleString('en')} sequences.\n\n` +
      `Use it:  npx gloaming index build proteins.fasta --name mylab --relatives ${name}\n`,
  );
}
