import type { Command } from 'commander';
import { loadConfig } from '../../config.js';
import { addHomologSource } from '../../pipelines/homologs.js';
import type { Notice } from '../../pipelines/events/notices.js';
import type { CommandContext } from '../terminal/command.js';
import { formatDuration, formatQuantity, LINE_INTERVAL_MS } from '../terminal/progress.js';

/** `gloaming homolog-source add`. */
export function register(program: Command, context: CommandContext): void {
  const homologSource = program
    .command('homolog-source')
    .description('sources of homologs: sequences that mmseqs searches, without tokens of their own');
  homologSource
    .command('add')
    .description('make a homolog source of FASTA files')
    .argument('<fasta...>', 'FASTA files, plain or gzip')
    .requiredOption('--name <name>', 'name of the source, as in "index build --homologs <name>"')
    .option('--estimate', 'print its size on disk, and make nothing')
    .action((fasta: string[], options: Options) => add(fasta, options, context));
}

interface Options {
  readonly name: string;
  readonly estimate?: boolean;
}

async function add(
  fasta: readonly string[],
  { name, estimate = false }: Options,
  { environment, stdout, stderr }: CommandContext,
): Promise<void> {
  const config = loadConfig(environment);
  const onNotice = (notice: Notice): void => {
    if (notice.kind !== 'homolog_source_estimated') return;
    stdout.write(`The source takes about ${formatQuantity(notice.bytes, 'B')} in ${config.indexesFolder}.\n`);
  };
  const startedMs = performance.now();
  // mmseqs itself reports nothing until it ends.
  const timer = setInterval(() => {
    const elapsed = formatDuration(performance.now() - startedMs);
    stderr.write(`mmseqs is making ${name}, ${elapsed} so far.\n`);
  }, LINE_INTERVAL_MS).unref();
  const sequences = await addHomologSource(
    config,
    { fasta, name, isEstimate: estimate },
    { onNotice },
  ).finally(() => clearInterval(timer));
  if (sequences === undefined) return;
  stdout.write(
    `Made ${name} of ${sequences.toLocaleString('en')} sequences.\n\n` +
      `Use it:  gloaming index build proteins.fasta --name mylab --homologs ${name}\n`,
  );
}
