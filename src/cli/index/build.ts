import type { Command } from 'commander';
import type { BuildFamilies, BuildOptions, BuildReport } from '../../indexing/build-options.js';
import type { ProteinInput } from '../../indexing/sources/protein-source.js';
import { continuedInput } from '../../indexing/sources/earlier-release.js';
import { filesInput, inputBytes, type InputFiles } from '../../indexing/sources/input-files.js';
import type { GivenEmbeddings } from '../../indexing/embeddings/embeddings.js';
import { openEmbeddings } from '../../indexing/embeddings/open.js';
import { buildRelease, planShards } from '../../indexing/release.js';
import { calibrationId } from '../../calibration/card.js';
import { policyKindOf, type PolicyKind } from '../../calibration/policy-card.js';
import { readPolicyCard } from '../../calibration/policy-sidecar.js';
import { readCalibrationCard } from '../../calibration/sidecar.js';
import { Refusal } from '../../errors.js';
import { checkSlug, type FoundRelease } from '../../release/catalog.js';
import { openRelease } from '../../release/open.js';
import type { Release, ReleaseManifest } from '../../release/release.js';
import type { Encoder } from '../../encoder/encoder.js';
import { openFeatureTokens } from '../../encoder/features.js';
import { findEncoder } from '../../encoder/find.js';
import { keepEncoder } from '../../encoder/keep.js';
import { encoderOptionsOf, loadEncoder } from '../../encoder/load.js';
import { encodeShards, readShardFlags, type ShardFlags } from '../cluster/shards.js';
import { positiveInteger } from '../terminal/arguments.js';
import type { CommandContext } from '../terminal/command.js';
import { calibrateFolder, type CalibrateSettings } from './calibrate.js';
import { publishBuilt, selectOneRelease, shortId, withCatalog, type IndexCatalog } from './catalog.js';
import { addInputOptions, inputFilesOf, type GivenFiles, type InputOptions } from './input/options.js';
import { policyOption, qualifyMeasured, type QualifySettings } from './qualify.js';
import { carryMeasured } from './releases/carried.js';
import { checkRelativesFlags, openBuildFamilies } from './relatives.js';
import { createJobProgress } from '../terminal/job.js';
import { formatDuration, formatQuantity, type Progress } from '../terminal/progress.js';

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
      'give each protein its relatives from this database or background; self: from the proteins themselves',
      'none',
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
  const options = continueFlags(flags, from);
  tellLostRelatives(slug, options, from, context);
  checkRelativesFlags(options);
  const divided = readShardFlags(options);
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
    await keepEncoder(directory, config);
    const work = { slug, input, embeddings, encoder, progress, interrupt, divided };
    const session: BuildSession = { catalog, context, options, ...work };
    const isOfItself = options.relatives === 'self';
    if (isOfItself && (await buildOne(session, undefined)) === undefined) return undefined;
    const opened = await openBuildFamilies(options, slug, encoder, catalog);
    try {
      return await buildOne(session, opened?.families);
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
  { embeddings, relatives, alignments, shards, slurm }: BuildFlags,
  directory: string,
  { card }: Encoder,
): Promise<GivenEmbeddings | undefined> {
  if (embeddings === undefined) return undefined;
  if (relatives !== 'none' || alignments !== undefined) {
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
  families: BuildFamilies | undefined,
): Promise<FoundRelease | undefined> {
  const { catalog, context, options, slug, encoder, progress, interrupt, divided } = session;
  const { config, table } = catalog;
  const { signal } = interrupt;
  const asked = buildOptionsOf(session, families);
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
  const { id, manifest } = report.release;
  // The one without relatives does not take the default's place again when only relatives are looked for anew.
  const isStep = options.relatives === 'self' && families === undefined;
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

function buildOptionsOf(
  { catalog, options, slug, input, embeddings, encoder, progress, interrupt, divided }: BuildSession,
  families: BuildFamilies | undefined,
): BuildOptions {
  return {
    indexesFolder: catalog.config.indexesFolder,
    slug,
    title: options.title,
    description: options.description,
    input,
    encoder,
    families,
    embeddings,
    isDefault: options.default,
    shardCount: divided?.count,
    signal: interrupt.signal,
    onProgress: progress.update,
  };
}

/** Relatives do not carry over by themselves: they may have been looked for elsewhere. */
function tellLostRelatives(
  slug: string,
  { relatives, alignments }: BuildFlags,
  from: Release | undefined,
  { stderr }: CommandContext,
): void {
  if (from?.manifest.relatives === undefined || relatives !== 'none' || alignments !== undefined) return;
  stderr.write(`${slug} had relatives; the new release has none without --relatives or --alignments.\n`);
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
  const carried = await carryMeasured({ config: settings.config, table }, release, slug);
  if (carried !== undefined) return `\n${carried}`;
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

function describeBuild(report: BuildReport, isServerDefault: boolean): string {
  const { release, replaced, notes } = report;
  const { slug, id, manifest, directory } = release;
  const { counts, encoder, relatives } = manifest;
  const letters = Object.entries(replaced)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([letter, count]) => `${count.toLocaleString('en')} ${letter}`);
  const facts: readonly (readonly [string, string])[] = [
    ['release', id],
    ['proteins', counts.targets.toLocaleString('en')],
    ['residues', counts.residues.toLocaleString('en')],
    ['replaced letters', letters.length === 0 ? 'none' : letters.join(', ')],
    ['encoder', `${encoder.id}, ${encoder.dimension} dimensions`],
    ...(relatives === undefined
      ? []
      : [['relatives', describeRelatives(relatives, counts.targets)] as const]),
    ['size', `${formatQuantity(report.sizeBytes, 'B')} in ${directory}`],
    ...(report.encodedResidues === 0 ? [] : [['encoded', describeEncoding(report)] as const]),
    ...(report.reusedResidues === 0 ? [] : [['reused', describeReuse(report)] as const]),
    ...notes.map((note) => ['note', note] as const),
  ];
  const head = report.isKnown ? `${slug} is this release already; nothing was built.` : `Built ${slug}.`;
  const lines = facts.map(([name, value]) => `  ${name.padEnd(16)}  ${value}`);
  const option = isServerDefault ? '' : ` --database ${slug}`;
  return `${head}\n${lines.join('\n')}\n\nSearch it:  npx gloaming search query.fasta${option}\n`;
}

function describeEncoding({ encodedResidues, encodeMs }: BuildReport): string {
  const rate = (encodedResidues * 1000) / Math.max(1, encodeMs);
  return `${formatQuantity(rate, 'residues')}/s in ${formatDuration(encodeMs)}`;
}

/** How much of the build earlier releases had; of one that went on after an interruption, of what was left. */
function describeReuse({ encodedResidues, reusedResidues }: BuildReport): string {
  const share = (100 * reusedResidues) / (encodedResidues + reusedResidues);
  return `${formatQuantity(reusedResidues, 'residues')} of earlier releases (${share.toFixed(1)} %)`;
}

function describeRelatives(
  { background, counts }: NonNullable<ReleaseManifest['relatives']>,
  targetCount: number,
): string {
  const source = {
    search: () => `our own search of ${'release_id' in background ? shortId(background.release_id) : ''}`,
    mmseqs: () => `mmseqs in ${'name' in background ? background.name : ''}`,
    alignments: () => 'the given alignments',
  }[background.method]();
  const [relatives, targets, all] = [counts.relatives, counts.targets, targetCount].map((count) =>
    count.toLocaleString('en'),
  );
  // Domains of which none had relatives were found less well by it: superfamily .059 and .073 without.
  if (counts.targets === 0) return `none by ${source}; build it without, which finds more (--relatives none)`;
  return `${relatives} relatives of ${targets} of ${all} proteins, by ${source}`;
}
