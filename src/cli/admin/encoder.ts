import { resolve } from 'node:path';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { loadConfig } from '../../config.js';
import { TOKEN_DIMENSIONS } from '../../limits.js';
import {
  compareEncoders,
  installEncoder,
  listEncoders,
  type CompareOptions,
  type ListedEncoder,
  type TokenComparison,
} from '../../pipelines/encoders.js';
import { makeReferenceNull } from '../../pipelines/reference-null.js';
import { readQueries } from '../../pipelines/search.js';
import { fastaFile } from '../../sequence/fasta.js';
import { positiveInteger } from '../terminal/arguments.js';
import type { CommandContext } from '../terminal/command.js';
import { noticeText } from '../index/notices.js';
import { runPipeline } from '../terminal/pipeline.js';
import { formatTable } from '../terminal/table.js';

/** 50 million pairs. */
const DEFAULT_REFERENCE_PROTEINS = 10_000;

interface SampleOptions {
  readonly sample: number;
  readonly seed: number;
  readonly homologs?: string;
}

interface AddOptions {
  readonly card: string;
  readonly projectionDimension?: number;
}

/** `gloaming encoder add|calibrate|compare|list`. */
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
    .argument('<fasta>', 'proteins to encode on both; plain or compressed')
    .option('--encoder <id>', 'default: the encoder of new releases')
    .addOption(new Option('--device <device>', 'the other device').choices(['cpu', 'cuda']).default('cuda'))
    .option('--proteins <n>', 'proteins at most, from the first on', positiveInteger, 10_000)
    .action((fasta: string, options: CompareOptions) => compare(context, fasta, options));
  encoder
    .command('calibrate')
    .description(
      'fit the null of an encoder, so that databases get E-values in seconds; takes an hour or more',
    )
    .argument('<encoder>', 'id of an installed encoder')
    .argument('<fasta...>', 'natural proteins, whole ones and domains; plain, gzip, zstd or xz')
    .option('--sample <n>', 'proteins whose pairs are scored', positiveInteger, DEFAULT_REFERENCE_PROTEINS)
    .option('--seed <n>', 'seed of the sample', positiveInteger, 1)
    .option(
      '--homologs <name>',
      'fit the null of databases with homologs: the proteins get homologs from this database or homolog source',
    )
    .action((id: string, proteins: readonly string[], options: SampleOptions) =>
      calibrate(context, id, proteins, options),
    );
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
  const { card, projectionDimension } = options;
  const files = { modelPath: resolve(model), cardPath: resolve(card), projectionDimension };
  const installed = await installEncoder(files, loadConfig(context.environment));
  const { id, directory, dimension, residuesPerSecond } = installed;
  const speed = Math.round(residuesPerSecond).toLocaleString('en-US');
  context.stdout.write(
    `Installed ${id} in ${directory}.\n` +
      `${dimension} components per residue; ${speed} residues per second and core.\n` +
      `Build with it: gloaming index build <fasta> --name <slug> --encoder ${id}\n`,
  );
}

async function calibrate(
  context: CommandContext,
  encoder: string,
  proteins: readonly string[],
  { sample, seed, homologs }: SampleOptions,
): Promise<void> {
  const config = loadConfig(context.environment);
  const paths = proteins.map((path) => resolve(path));
  const options = { encoder, proteins: paths, sampleCount: sample, seed, homologs };
  const reference = await runPipeline(
    context,
    { command: 'encoder calibrate', database: encoder, dataFolder: config.dataFolder },
    noticeText,
    (events) => makeReferenceNull(options, config, events),
  );
  context.stdout.write(
    `The null of ${encoder} is ${reference.id}, from ${reference.pairCount.toLocaleString('en-US')} pairs, ` +
      `in ${reference.folder}.\n` +
      'Databases take it when they are calibrated: index calibrate, or the next build.\n',
  );
}

async function compare(context: CommandContext, fasta: string, options: CompareOptions): Promise<void> {
  const config = loadConfig(context.environment);
  const { encoder, comparison } = await compareEncoders(readQueries(fastaFile(fasta)), options, config);
  context.stdout.write(`${encoder}, ${options.device} against cpu: ${describeComparison(comparison)}.\n`);
}

/** `12 of 32 proteins and 40 of 6,400 residues differ, components by at most 1`. */
function describeComparison(comparison: TokenComparison): string {
  const count = (value: number): string => value.toLocaleString('en-US');
  return (
    `${count(comparison.differingProteinCount)} of ${count(comparison.proteinCount)} proteins and ` +
    `${count(comparison.differingResidueCount)} of ${count(comparison.residueCount)} residues differ, ` +
    `components by at most ${comparison.largestDifference}`
  );
}

function describe({ id, card, isShipped, problem }: ListedEncoder): readonly string[] {
  const from = isShipped ? 'package' : 'indexes';
  if (card === undefined || problem !== undefined)
    return [id, card === undefined ? '-' : String(card.dimension), from, `not usable: ${problem}`];
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
