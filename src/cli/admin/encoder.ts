import { resolve } from 'node:path';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { addEncoder } from '../../build-release/encoders/add-encoder.js';
import { loadConfig } from '../../config.js';
import { TOKEN_DIMENSIONS } from '../../limits.js';
import { compareTokens, describeComparison } from '../../encoder/compare.js';
import { findEncoder, listEncoders, type ListedEncoder } from '../../encoder/find.js';
import type { EncoderDevice } from '../../encoder/model.js';
import { loadEncoder } from '../../encoder/load.js';
import { fastaFile } from '../../sequence/fasta.js';
import { positiveInteger } from '../terminal/arguments.js';
import type { CommandContext } from '../terminal/command.js';
import { readQueries } from '../../pipelines/queries.js';
import type { NamedQuery } from '../../search/search-types.js';
import { formatTable } from '../terminal/table.js';

interface AddOptions {
  readonly card: string;
  readonly projectionDimension?: number;
}

interface CompareOptions {
  readonly encoder?: string;
  readonly device: EncoderDevice;
  readonly proteins: number;
}

/** `gloaming encoder add|list|compare`. */
export function register(program: Command, context: CommandContext): void {
  const encoder = program
    .command('encoder')
    .description('models that turn residues into vectors: shipped ones and your own');
  encoder
    .command('add')
    .description('check an ONNX model and install it; indexes/encoders/README.md says how to export one')
    .argument('<model.onnx>', 'the model, in one file')
    .requiredOption('--card <card.json>', 'what the model reads and gives; digests are filled in')
    .option('--projection-dimension <n>', 'make a random projection to n components', parseDimension)
    .action((model: string, options: AddOptions) => add(context, model, options));
  encoder
    .command('compare')
    .description('how far the int8 tokens of another device differ from those of the CPU')
    .argument('<fasta>', 'proteins to encode on both; plain or gzip')
    .option('--encoder <id>', 'default: the encoder of new releases')
    .addOption(new Option('--device <device>', 'the other device').choices(['cpu', 'cuda']).default('cuda'))
    .option('--proteins <n>', 'proteins at most, from the first on', positiveInteger, 10_000)
    .action((fasta: string, options: CompareOptions) => compare(context, fasta, options));
  encoder
    .command('list')
    .description('installed encoders')
    .action(async () => {
      const encoders = await listEncoders(loadConfig(context.environment));
      const header = ['id', 'dimension', 'from', 'name'];
      context.stdout.write(formatTable(header, encoders.map(describe), new Set([1])));
    });
}

async function add(context: CommandContext, model: string, options: AddOptions): Promise<void> {
  const { indexesFolder } = loadConfig(context.environment);
  const { card, directory, residuesPerSecond } = await addEncoder({
    modelPath: resolve(model),
    cardPath: resolve(options.card),
    indexesFolder,
    projectionDimension: options.projectionDimension,
  });
  const speed = Math.round(residuesPerSecond).toLocaleString('en-US');
  context.stdout.write(`Installed ${card.id} in ${directory}.\n`);
  context.stdout.write(`${card.dimension} components per residue; ${speed} residues per second and core.\n`);
  context.stdout.write(
    `Build with it: npx gloaming index build <fasta> --name <slug> --encoder ${card.id}\n`,
  );
}

async function compare(context: CommandContext, fasta: string, options: CompareOptions): Promise<void> {
  const config = loadConfig(context.environment);
  const directory = await findEncoder(options.encoder ?? config.encoder, config);
  const { threads } = config;
  const cpu = await loadEncoder(directory, { threads });
  try {
    const other = await loadEncoder(directory, { threads, device: options.device, acceptsDifference: true });
    try {
      const proteins = firstSequences(readQueries(fastaFile(fasta)), options.proteins);
      const comparison = await compareTokens(cpu, other, proteins);
      context.stdout.write(
        `${cpu.card.id}, ${options.device} against cpu: ${describeComparison(comparison)}.\n`,
      );
    } finally {
      await other.close();
    }
  } finally {
    await cpu.close();
  }
}

async function* firstSequences(queries: AsyncIterable<NamedQuery>, count: number): AsyncGenerator<string> {
  let left = count;
  for await (const { sequence } of queries) {
    yield sequence;
    left -= 1;
    if (left === 0) return;
  }
}

function describe({ id, card, isShipped, problem }: ListedEncoder): readonly string[] {
  const from = isShipped ? 'package' : 'indexes';
  if (card === undefined) return [id, '-', from, `not usable: ${problem}`];
  return [
    id,
    String(card.dimension),
    from,
    card.is_baseline ? `${card.name} (untrained placeholder)` : card.name,
  ];
}

function parseDimension(text: string): number {
  const dimension = Number(text);
  if ((TOKEN_DIMENSIONS as readonly number[]).includes(dimension)) return dimension;
  throw new InvalidArgumentError(`It must be one of ${TOKEN_DIMENSIONS.join(', ')}.`);
}
