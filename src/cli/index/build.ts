import { rm } from 'node:fs/promises';
import type { Command } from 'commander';
import type { BuildHomologs, BuildOptions } from '../../build-release/build-options.js';
import type { ProteinInput } from '../../build-release/sources/protein-source.js';
import { continuedInput } from '../../build-release/sources/earlier-release.js';
import { filesInput, inputBytes, type InputFiles } from '../../build-release/sources/input-files.js';
import type { GivenEmbeddings } from '../../build-release/embeddings/embeddings.js';
import { openEmbeddings } from '../../build-release/embeddings/open.js';
import { buildRelease, planShards } from '../../build-release/release.js';
import { calibrationId } from '../../significance/card.js';
import { policyKindOf, type PolicyKind } from '../../recall/policy-card.js';
import { readPolicyCard } from '../../recall/policy-sidecar.js';
import { readCalibrationCard } from '../../significance/sidecar.js';
import { Refusal } from '../../errors.js';
import { checkSlug, type FoundRelease } from '../../release/catalog.js';
import { openRelease } from '../../release/open.js';
import type { Release } from '../../release/release.js';
import type { Encoder } from '../../encoder/encoder.js';
import { openFeatureTokens } from '../../encoder/features.js';
import { findEncoder } from '../../encoder/find.js';
import { storeEncoder } from '../../encoder/encoder-store.js';
import { encoderOptionsOf, loadEncoder } from '../../encoder/load.js';
import { encodeShards, readShardFlags, type ShardFlags } from '../cluster/shards.js';
import { positiveInteger } from '../terminal/arguments.js';
import type { CommandContext } from '../terminal/command.js';
import { calibrateFolder, type CalibrateSettings } from './calibrate.js';
import { publishBuilt, selectOneRelease, withCatalog, type IndexCatalog } from './catalog.js';
import { addInputOptions, inputFilesOf, type GivenFiles, type InputOptions } from './options.js';
import { policyOption, qualifyMeasured, type QualifySettings } from './qualify.js';
import { describeHomologSource, describeBuild } from './releases/built.js';
import { transferMeasured } from './releases/transferred.js';
import {
  homologsOptionOf,
  checkHomologFlags,
  haveOwnHomologs,
  isOfItself,
  openBuildHomologs,
} from './homologs.js';
import { createJobProgress } from '../terminal/job.js';
import type { Progress } from '../terminal/progress.js';

/** What `index build` is told. */
export interface BuildFlags extends InputOptions, ShardFlags {
  /** Default: the database that is named by `from`. */
  readonly name?: string;
  readonly from?: string;
  readonly title?: string;
  readonly description?: string;
  readonly encoder?: string;
  /** False with --no-calibration and --no-qualification. */
  readonly calibration: boolean;
  readonly qualification: boolean;
  readonly policy: PolicyKind;
  readonly relatives: string;
  readonly alignments?: string;
  /** False with --no-default: the new release does not become the database's default. */
  readonly default: boolean;
}

export function addBuildCommand(index: Command, context: CommandContext): void {
  const command = index
    .command('build')
    .description('build a database from files of proteins; the same command resumes an interrupted build')
    .argument('<files...>', 'FASTA, UniProt files, structures or folders of them; - for standard input')
    .option('--name <slug>', 'name of the database, as in --database <slug> (default: that of --from)')
    .option(
      '--from <database>',
      'go on from this database: its title, encoder, attributes by id and taxonomy stay where nothing new is given',
    )
    .option('--title <text>', 'title for people (default: the name)')
    .option('--description <text>', 'what it holds and where it comes from')
    .option('--encoder <id>', 'encoder of the new release (default: the configured one)')
    .option('--no-default', 'leave the default release of the database as it is')
    .option('--no-calibration', 'do not measure how surprising scores are: answers have no E-values')
    .option('--no-qualification', 'do not measure the approximate policy: searches stay exhaustive')
    .addOption(policyOption())
    .option(
      '--relatives <name>',
      'give each protein its relatives from this database or background; self: from the proteins themselves; ' +
        'none; auto: self where a sample shows that it pays',
      'auto',
    )
    .option(
      '--alignments <folder>',
      'give each protein the relatives of its alignment <id>.a3m, .sto or .stk',
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
    withCatalog(context, async (catalog) => void (await build(catalog, files, options, context))),
  );
}

/**
 * Builds, calibrates and publishes a database as the command does, and gives its release; undefined where it has only
 * been divided among tasks.
 */
export async function build(
  catalog: IndexCatalog,
  paths: readonly string[],
  flags: BuildFlags,
  context: CommandContext,
): Promise<FoundRelease | undefined> {
  const { config } = catalog;
  const earlier = flags.from === undefined ? undefined : selectOneRelease(catalog, flags.from);
  const from = earlier && (await openRelease(earlier.directory));
  const slug = checkSlug(flags.name ?? earlier?.slug ?? refuseNameless());
  const continued = continueFlags(flags, from);
  const divided = readShardFlags(continued);
  const options = { ...continued, relatives: homologsOptionOf(continued, divided !== undefined) };
  reportLostHomologs(slug, options, from, context);
  checkHomologFlags(options);
  const directory = await findEncoder(options.encoder ?? config.encoder, config);
  const encoder = await loadEncoder(directory, encoderOptionsOf(config));
  const progress = createJobProgress(context.stderr, config.dataFolder, {
    command: 'index build',
    database: slug,
  });
  const interrupt = onInterrupt();
  let given: GivenFiles | undefined;
  let embeddings: GivenEmbeddings | undefined;
  try {
    given = await inputFilesOf(paths, options, context.stdin, interrupt.signal);
    const read = await digestInput(given.files, progress, context);
    const input = from === undefined ? read : continuedInput(read, from);
    embeddings = await openGiven(options, directory, encoder);
    await storeEncoder(directory, config);
    const work = { slug, input, embeddings, encoder, progress, interrupt, divided };
    const session: BuildSession = { catalog, context, options, ...work };
    let plain: FoundRelease | undefined;
    if (isOfItself(options)) {
      plain = await buildOne(session, undefined);
      if (plain === undefined) return undefined;
      if (!(await isWorthHomologs(session, plain))) return await standAlone(session, plain);
    }
    const opened = await openBuildHomologs(options, plain, encoder, catalog);
    try {
      return await buildOne(session, opened?.buildHomologs);
    } finally {
      await opened?.close();
    }
  } finally {
    progress.close();
    interrupt.stop();
    embeddings?.embeddings.close();
    await given?.remove();
    await encoder.close();
  }
}

/** Errors  Refusal `invalid_option` beside relatives; those of openEmbeddings */
async function openGiven(
  { embeddings, relatives: homologs, alignments, shards, slurm }: BuildFlags,
  directory: string,
  { card }: Encoder,
): Promise<GivenEmbeddings | undefined> {
  if (embeddings === undefined) return undefined;
  if (homologs !== 'none' || alignments !== undefined) {
    throw new Refusal('invalid_option', '--embeddings are of proteins alone: their relatives have none.');
  }
  if (shards !== undefined || slurm !== undefined) {
    throw new Refusal(
      'invalid_option',
      '--embeddings are read here: there is nothing to divide among tasks.',
    );
  }
  const project = await openFeatureTokens(directory, card);
  return { embeddings: await openEmbeddings(embeddings), project };
}

/** Says what each file is before hours of work, and digests all of them. */
async function digestInput(
  files: InputFiles,
  progress: Progress,
  { stderr }: CommandContext,
): Promise<ProteinInput> {
  const total = await inputBytes(files);
  let done = 0;
  return filesInput(files, {
    onRecognised: (line) => stderr.write(`${line}\n`),
    onBytes: (bytes) => progress.update({ stage: 'digest', done: (done += bytes), total }),
  });
}

interface BuildSession {
  readonly catalog: IndexCatalog;
  readonly context: CommandContext;
  readonly options: BuildFlags;
  readonly slug: string;
  readonly input: ProteinInput;
  readonly embeddings: GivenEmbeddings | undefined;
  readonly encoder: Encoder;
  readonly progress: Progress;
  readonly interrupt: { readonly signal: AbortSignal };
  readonly divided: ReturnType<typeof readShardFlags>;
}

/** Builds, publishes and calibrates one release; where proteins are each other's relatives, one without them first. */
async function buildOne(
  session: BuildSession,
  buildHomologs: BuildHomologs | undefined,
): Promise<FoundRelease | undefined> {
  const { catalog, context, options, slug, encoder, progress, interrupt, divided } = session;
  const { config, table } = catalog;
  const { signal } = interrupt;
  const asked = buildOptionsOf(session, buildHomologs);
  if (divided !== undefined) {
    const { count, wish } = divided;
    const planned = await planShards(asked, count);
    const { indexesFolder } = config;
    const { alignments } = options;
    const shards = { slug, indexesFolder, alignments, wish, progress, signal, context };
    if (planned !== undefined && !(await encodeShards(planned, shards))) return undefined;
  }
  const report = await buildRelease(asked);
  progress.end();
  const { id, manifest, directory } = report.release;
  if (manifest.relatives?.counts.targets === 0 && table.release(id, slug) === undefined) {
    // Domains of which none had relatives were found less well so: superfamily .059, and .076 without.
    await rm(directory, { recursive: true });
    const source = describeHomologSource(manifest.relatives.background);
    context.stderr.write(
      `No protein has relatives by ${source}: ${slug} is built without, which finds more.\n`,
    );
    return buildOne(session, undefined);
  }
  // The one without relatives does not take the default's place again when only relatives are looked for anew.
  const isStep = isOfItself(options) && buildHomologs === undefined;
  if (!isStep || table.release(id, slug) === undefined) {
    await publishBuilt(catalog, { id, slug, manifest }, { isDefault: options.default });
  }
  const isServerDefault = table.defaultDatabase()?.slug === slug;
  context.stdout.write(describeBuild(report, isServerDefault));
  if (!options.calibration) return report.release;
  const settings = { config, encoder, progress, signal };
  context.stdout.write(await calibrateBuilt(table, report.release, slug, settings));
  if (options.qualification) {
    const wished = { ...settings, policy: options.policy };
    context.stdout.write(await qualifyBuilt(table, report.release, slug, wished));
  }
  return report.release;
}

async function isWorthHomologs(
  { catalog, context, options, slug, encoder, interrupt }: BuildSession,
  plain: FoundRelease,
): Promise<boolean> {
  if (options.relatives === 'self') return true;
  const { signal } = interrupt;
  return haveOwnHomologs(plain, slug, encoder, catalog, { stderr: context.stderr, signal });
}

/** The release without relatives as the database's own, whatever was built of these proteins before. */
async function standAlone(
  { catalog, options, slug }: BuildSession,
  plain: FoundRelease,
): Promise<FoundRelease> {
  if (options.default && catalog.table.database(slug)?.defaultReleaseId !== plain.id) {
    await publishBuilt(catalog, { id: plain.id, slug, manifest: plain.manifest }, { isDefault: true });
  }
  return plain;
}

function buildOptionsOf(
  { catalog, options, slug, input, embeddings, encoder, progress, interrupt, divided }: BuildSession,
  buildHomologs: BuildHomologs | undefined,
): BuildOptions {
  return {
    indexesFolder: catalog.config.indexesFolder,
    slug,
    title: options.title,
    description: options.description,
    input,
    encoder,
    buildHomologs,
    embeddings,
    isDefault: options.default,
    shardCount: divided?.count,
    signal: interrupt.signal,
    onProgress: progress.update,
  };
}

/** Relatives do not carry over by themselves: they may have been looked for elsewhere. */
function reportLostHomologs(
  slug: string,
  { relatives: homologs, alignments }: BuildFlags,
  from: Release | undefined,
  { stderr }: CommandContext,
): void {
  const isNamed = alignments !== undefined || !(homologs === 'none' || homologs === 'auto');
  if (from?.manifest.relatives === undefined || isNamed) return;
  const rest = homologs === 'auto' ? 'at most those that its own proteins are to each other' : 'none';
  stderr.write(`${slug} had relatives; without --relatives or --alignments the new release has ${rest}.\n`);
}

/** What the earlier release says where the flags are silent. */
function continueFlags(flags: BuildFlags, from: Release | undefined): BuildFlags {
  if (from === undefined) return flags;
  const { title, description, encoder } = from.manifest;
  return { title, description, encoder: encoder.id, ...flags };
}

function refuseNameless(): never {
  throw new Refusal(
    'invalid_option',
    'A database needs a name: --name <slug>, or --from <database> for its next release.',
  );
}

/** A release that cannot be calibrated can be searched all the same, and says so. */
async function calibrateBuilt(
  table: IndexCatalog['table'],
  release: FoundRelease,
  slug: string,
  settings: CalibrateSettings,
): Promise<string> {
  const { id, directory } = release;
  if ((await readCalibrationCard(directory)) !== undefined) return '';
  const transferred = await transferMeasured({ config: settings.config, table }, release, slug);
  if (transferred !== undefined) return `\n${transferred}`;
  try {
    const { card, report } = await calibrateFolder(directory, settings);
    await table.nameCalibration(id, slug, calibrationId(card));
    return `\nCalibrated it.\n${report}`;
  } catch (cause) {
    if (!(cause instanceof Refusal) || cause.code !== 'calibration_impossible') throw cause;
    return `\n${cause.message}\n`;
  }
}

/** A card of the wished policy that is there already stays as it is. */
async function qualifyBuilt(
  table: IndexCatalog['table'],
  { id, directory }: Pick<Release, 'id' | 'directory'>,
  slug: string,
  settings: QualifySettings,
): Promise<string> {
  const card = await readPolicyCard(directory);
  if (card !== undefined && policyKindOf(card) === settings.policy) return '';
  return qualifyMeasured(table, { id, slug, directory }, settings);
}

/**
 * Ends the build between two steps instead of in the middle of one; a second interrupt ends the process at
 * once.
 */
function onInterrupt(): { signal: AbortSignal; stop: () => void } {
  const controller = new AbortController();
  const interrupt = (): void =>
    controller.abort(new Refusal('interrupted', 'Interrupted. The same command goes on from here.'));
  process.once('SIGINT', interrupt).once('SIGTERM', interrupt);
  return {
    signal: controller.signal,
    stop: () => void process.off('SIGINT', interrupt).off('SIGTERM', interrupt),
  };
}
