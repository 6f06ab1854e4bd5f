import type { Command } from 'commander';
import { loadConfig } from '../../config.js';
import { addHomologSource, keepHomologIndex } from '../../pipelines/homologs.js';
import type { Notice } from '../../pipelines/events/notices.js';
import type { CommandContext } from '../terminal/command.js';
import { describeIndex } from './notices.js';
import { formatDuration, formatQuantity, LINE_INTERVAL_MS } from '../terminal/progress.js';

/** `gloaming homolog-source add` and `index`. */
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
    .option('--no-index', 'keep no k-mer indexes beside it: less disk, and each search takes longer')
    .action((fasta: string[], options: Options) => add(fasta, options, context));
  homologSource
    .command('index')
    .description('make the k-mer indexes of a homolog source, with which searches are faster')
    .argument('<name>', 'name of the source')
    .action((name: string) => keepIndex(name, context));
}

interface Options {
  readonly name: string;
  readonly estimate?: boolean;
  readonly index: boolean;
}

async function add(
  fasta: readonly string[],
  { name, estimate = false, index }: Options,
  context: CommandContext,
): Promise<void> {
  const { stdout, environment } = context;
  const config = loadConfig(environment);
  const request = { fasta, name, isEstimate: estimate, keepsIndex: index };
  const onNotice = (notice: Notice): void => {
    if (notice.kind === 'homolog_index') stdout.write(describeIndex(notice));
    if (notice.kind !== 'homolog_source_estimated') return;
    const [bytes, both] = [notice.bytes, notice.bytes + notice.indexBytes].map((size) =>
      formatQuantity(size, 'B'),
    );
    const indexes = notice.indexBytes === 0 ? '' : `, and ${both} with its k-mer indexes,`;
    stdout.write(`The source takes about ${bytes}${indexes} in ${config.indexesFolder}.\n`);
  };
  const sequences = await whileReporting(name, context, () =>
    addHomologSource(config, request, { onNotice }),
  );
  if (sequences === undefined) return;
  stdout.write(
    `Made ${name} of ${sequences.toLocaleString('en')} sequences.\n\n` +
      `Use it:  gloaming index build proteins.fasta --name mylab --homologs ${name}\n`,
  );
}

async function keepIndex(name: string, context: CommandContext): Promise<void> {
  const { stdout, environment } = context;
  const onNotice = (notice: Notice): void => {
    if (notice.kind === 'homolog_index') stdout.write(describeIndex(notice));
  };
  const wasThere = await whileReporting(name, context, () =>
    keepHomologIndex(loadConfig(environment), name, { onNotice }),
  );
  if (wasThere) stdout.write(`${name} has its k-mer indexes already.\n`);
}

/** Prints the elapsed time while mmseqs works, because mmseqs itself reports nothing until it ends. */
async function whileReporting<Result>(
  name: string,
  { stderr }: CommandContext,
  work: () => Promise<Result>,
): Promise<Result> {
  const startedMs = performance.now();
  const timer = setInterval(() => {
    const elapsed = formatDuration(performance.now() - startedMs);
    stderr.write(`mmseqs is making ${name}, ${elapsed} so far.\n`);
  }, LINE_INTERVAL_MS).unref();
  return work().finally(() => clearInterval(timer));
}
