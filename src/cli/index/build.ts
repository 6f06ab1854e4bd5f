import { Option, type Command } from 'commander';
import { Refusal } from '../../errors.js';
import { build, type BuildOptions } from '../../pipelines/build.js';
import { estimateBuild } from '../../pipelines/estimate.js';
import { selectOneRelease, type IndexCatalog } from '../../pipelines/catalog.js';
import type { PolicyKind } from '../../recall/policy-card.js';
import { readShardFlags, thisProgram, type ShardFlags } from '../cluster/options.js';
import { describePendingShards } from '../cluster/shards.js';
import { positiveInteger } from '../terminal/arguments.js';
import type { CommandContext } from '../terminal/command.js';
import { interruptible } from '../terminal/interrupt.js';
import { runPipeline } from '../terminal/pipeline.js';
import { formerName } from '../terminal/search-settings.js';
import { withCatalog } from './catalog.js';
import { noticeText } from './notices.js';
import { describeEstimate } from './estimate.js';
import { addInputOptions, inputOptionsOf, type InputFlags } from './options.js';
import { policyOption } from './qualify.js';
import { wholeBuild } from './whole-build.js';

/** Flags of `index build`. */
interface BuildFlags extends InputFlags, ShardFlags {
  /** Default: that of `from`. */
  readonly name?: string;
  readonly from?: string;
  readonly title?: string;
  readonly description?: string;
  readonly encoder?: string;
  /** False with --no-calibration and --no-qualification. */
  readonly calibration: boolean;
  readonly qualification: boolean;
  readonly policy: PolicyKind;
  readonly homologs: string;
  readonly alignments?: string;
  /** False with --no-default: the new release does not become the database's default. */
  readonly default: boolean;
  readonly estimate?: boolean;
}

export function addBuildCommand(index: Command, context: CommandContext): void {
  const homologs = new Option(
    '--homologs <name>',
    'find homologs of each protein in this database or homolog source; self: in the proteins themselves; ' +
      'none; auto: self if a sample of the proteins has enough homologs',
  ).default('auto');
  const command = index
    .command('build')
    .description('build a database from files of proteins; the same command resumes an interrupted build')
    .argument(
      '<files...>',
      'FASTA, UniProt files, structures, families or folders of them; - for standard input',
    )
    .option('--name <slug>', 'name of the database, as in --database <slug> (default: that of --from)')
    .option(
      '--from <database>',
      'start from this database: its title, encoder, attributes by id and taxonomy are the defaults',
    )
    .option('--title <text>', 'title for people (default: the name)')
    .option('--description <text>', 'what it holds and where it comes from')
    .option('--encoder <id>', 'encoder of the new release (default: the configured one)')
    .option(
      '--estimate',
      'say how long it will take and how much disk and memory it needs, and build nothing',
    )
    .option('--no-default', 'leave the default release of the database as it is')
    .option('--no-calibration', 'do not fit significance: answers have no E-values')
    .option('--no-qualification', 'do not measure the approximate policy: searches stay exhaustive')
    .addOption(policyOption())
    .addOption(homologs)
    .addOption(formerName(homologs, '--relatives <name>'))
    .option(
      '--alignments <folder>',
      'take the homologs of each protein from its alignment <id>.a3m, .sto or .stk',
    )
    .option(
      '--shards <count>',
      'divide the encoding for a cluster: writes a script for sbatch; the same command then goes on',
      positiveInteger,
    )
    .option(
      '--slurm <options>',
      'let Slurm encode the shards, and wait: partition=gpu,cpus-per-task=8,array=64',
    );
  addInputOptions(command).action((files: string[], options: BuildFlags) =>
    withCatalog(context, (catalog) => buildDatabase(catalog, files, options, context)),
  );
}

async function buildDatabase(
  catalog: IndexCatalog,
  paths: readonly string[],
  flags: BuildFlags,
  context: CommandContext,
): Promise<void> {
  if (flags.estimate === true) return estimate(catalog, paths, flags, context);
  const options = buildOptionsOf(catalog, paths, flags, context);
  const { dataFolder } = catalog.config;
  const whole = await wholeBuild(catalog.config, options);
  const result = await runPipeline(
    context,
    { command: 'index build', database: options.slug, dataFolder, whole },
    noticeText,
    (events) => build(catalog, options, events),
  );
  if (result.kind === 'divided') context.stdout.write(describePendingShards(result));
}

async function estimate(
  { config }: IndexCatalog,
  paths: readonly string[],
  flags: BuildFlags,
  context: CommandContext,
): Promise<void> {
  const { encoder, calibration: calibrates, qualification, policy } = flags;
  const options = {
    input: inputOptionsOf(paths, flags, context.stdin),
    encoder,
    calibrates,
    qualifies: calibrates && qualification,
    policy,
  };
  const estimated = await interruptible((signal) => estimateBuild(config, options, { signal }));
  context.stdout.write(describeEstimate(estimated, flags.homologs));
}

function buildOptionsOf(
  catalog: IndexCatalog,
  paths: readonly string[],
  flags: BuildFlags,
  { stdin }: CommandContext,
): BuildOptions {
  const { title, description, encoder, embeddings, alignments, policy } = flags;
  const from = flags.from === undefined ? undefined : selectOneRelease(catalog, flags.from);
  const slug = flags.name ?? from?.slug;
  if (slug === undefined) {
    throw new Refusal(
      'invalid_option',
      'A database needs a name: --name <slug>, or --from <database> for its next release.',
    );
  }
  const divided = readShardFlags(flags);
  return {
    slug,
    from,
    input: inputOptionsOf(paths, flags, stdin),
    title,
    description,
    encoder,
    embeddings,
    homologs: flags.homologs,
    alignments,
    isDefault: flags.default,
    calibrates: flags.calibration,
    qualifies: flags.qualification,
    policy,
    shards: divided && { ...divided, program: thisProgram() },
  };
}
