import { rm } from 'node:fs/promises';
import type {
  BuildHomologs,
  BuildReport,
  BuildOptions as ReleaseOptions,
} from '../build-release/build-options.js';
import type { GivenEmbeddings } from '../build-release/embeddings/embeddings.js';
import { openEmbeddings } from '../build-release/embeddings/open.js';
import { buildRelease, planShards } from '../build-release/release.js';
import { continuedInput } from '../build-release/sources/earlier-release.js';
import type { ProteinInput } from '../build-release/sources/protein-source.js';
import { storeEncoder } from '../encoder/encoder-store.js';
import type { Encoder } from '../encoder/encoder.js';
import { openFeatureTokens } from '../encoder/features.js';
import { findEncoder } from '../encoder/find.js';
import { encoderOptionsOf, loadEncoder } from '../encoder/load.js';
import { Refusal } from '../errors.js';
import type { PolicyKind } from '../recall/policy-card.js';
import { checkSlug, type FoundRelease } from '../release/catalog.js';
import { openRelease } from '../release/open.js';
import type { Release } from '../release/release.js';
import { calibrateBuilt } from './calibrate.js';
import { publishBuilt, type IndexCatalog, type LocatedRelease } from './catalog.js';
import { encodeShards, type PendingShards, type ShardOptions } from './cluster/shards.js';
import {
  checkHomologOptions,
  haveOwnHomologs,
  isOfItself,
  openBuildHomologs,
  settledHomologs,
  type HomologOptions,
} from './homologs.js';
import { openInput, type InputOptions, type OpenInput } from './input.js';
import type { LargerRelease, PipelineEvents } from './events/notices.js';
import { qualifyBuilt } from './qualify.js';

export interface BuildOptions extends HomologOptions {
  /** Name of the database. */
  readonly slug: string;
  /** Earlier release whose title, encoder, attributes by id and taxonomy are the defaults of this one. */
  readonly from?: LocatedRelease;
  readonly input: InputOptions;
  /** Default: the slug, or that of `from`. */
  readonly title?: string;
  readonly description?: string;
  /** Id of an installed encoder. Default: that of `from`, or the configured one. */
  readonly encoder?: string;
  /** File or folder of features that the encoder's model gave elsewhere. */
  readonly embeddings?: string;
  /** False if the release stays beside the default release of its database. */
  readonly isDefault: boolean;
  /** Whether responses get E-values. */
  readonly calibrates: boolean;
  /** Whether the approximate policy is measured; only with a calibration. */
  readonly qualifies: boolean;
  readonly policy: PolicyKind;
  /** Divides the encoding among tasks; absent where this process encodes. */
  readonly shards?: ShardOptions;
  /** Called with the counts of the input before any protein is encoded. A Refusal that it throws ends the build. */
  readonly checkInput?: (input: InputCounts) => void;
}

/** Targets that the release of an input has, and whether they are families. */
export interface InputCounts {
  readonly targets: number;
  readonly hasFamilies: boolean;
}

/** A published release, or the shards that tasks must encode before a repeated call. */
export type BuildResult =
  | { readonly kind: 'published'; readonly release: FoundRelease }
  | ({ readonly kind: 'divided' } & PendingShards);

/**
 * Builds a database: reads its input, finds homologs, encodes here or in shards, writes and publishes the release,
 * gives it a calibration, and qualifies its approximate policy. A repeated call resumes an interrupted build. Notices:
 * all but those of calibrateDatabase and addHomologSource.
 * Errors  Refusals of the options and the input; Faults of encoder, kernels and disk; the signal's reason
 */
export async function build(
  catalog: IndexCatalog,
  options: BuildOptions,
  events: PipelineEvents,
): Promise<BuildResult> {
  const session = await openSession(catalog, options, events);
  try {
    if (!isOfItself(session.options)) return await buildWithHomologs(session, undefined);
    // Homologs among the proteins themselves are found by searching a release that has none.
    const plain = await buildOne(session, undefined);
    if (plain.kind === 'divided') return plain;
    const { release } = plain;
    if (await isWorthHomologs(session, release)) return await buildWithHomologs(session, release);
    await makeDefault(session, release);
    return plain;
  } finally {
    await session.close();
  }
}

/** Builds the release with the homologs that its options name. */
async function buildWithHomologs(session: Session, own: FoundRelease | undefined): Promise<BuildResult> {
  const { options, encoder, catalog, events } = session;
  const opened = await openBuildHomologs(options, own, encoder, catalog, events);
  try {
    return await buildOne(session, opened?.buildHomologs);
  } finally {
    await opened?.close();
  }
}

/** Builds one release: encode here or in shards → write → publish → calibrate → qualify. */
async function buildOne(session: Session, homologs: BuildHomologs | undefined): Promise<BuildResult> {
  const { catalog, options, encoder, events } = session;
  const { config, table } = catalog;
  const { slug } = options;
  const releaseOptions = releaseOptionsOf(session, homologs);

  const pending = await encodeInShards(session, releaseOptions);
  if (pending !== undefined) return { kind: 'divided', ...pending };
  const report = await buildRelease(releaseOptions);
  const { release } = report;
  const larger = options.isDefault ? largerRelease(table, slug, release) : undefined;

  if (await removeWithoutHomologs(session, report)) return buildOne(session, undefined);
  // A release without homologs that existed before does not become the default again: it is only the source to search.
  const isSource = isOfItself(options) && homologs === undefined;
  if (!isSource || table.release(release.id, slug) === undefined) {
    await publishBuilt(catalog, { ...release, slug }, options);
  }
  const isServerDefault = table.defaultDatabase()?.slug === slug;
  events.onNotice?.({ kind: 'built', report, isServerDefault, ...(larger && { larger }) });

  const workplace = { config, encoder };
  if (options.calibrates) await calibrateBuilt(catalog, { ...release, slug }, workplace, events);
  if (options.calibrates && options.qualifies) {
    await qualifyBuilt(table, { ...release, slug }, workplace, options.policy, events);
  }
  return { kind: 'published', release };
}

/** Share of the proteins of the earlier release below which a build says how to go back to it. */
const LEAST_KEPT_SHARE = 0.9;

/** A build of fewer proteins may be a mistake. Returns the default release of the database if it has many more. */
function largerRelease(
  table: IndexCatalog['table'],
  slug: string,
  { manifest }: Pick<FoundRelease, 'manifest'>,
): LargerRelease | undefined {
  const id = table.database(slug)?.defaultReleaseId;
  const proteins = (id === undefined ? undefined : table.release(id, slug))?.manifest.counts.targets;
  if (id === undefined || proteins === undefined) return undefined;
  return manifest.counts.targets < LEAST_KEPT_SHARE * proteins ? { id, proteins } : undefined;
}

/** Open values of a build, shared by the releases that it builds. */
interface Session {
  readonly catalog: IndexCatalog;
  /** As given, completed from the earlier release. */
  readonly options: BuildOptions;
  readonly events: PipelineEvents;
  readonly input: ProteinInput;
  readonly embeddings: GivenEmbeddings | undefined;
  readonly encoder: Encoder;
  close(): Promise<void>;
}

/** Checks the options, loads the encoder, digests the input and opens the embeddings. */
async function openSession(
  catalog: IndexCatalog,
  buildOptions: BuildOptions,
  events: PipelineEvents,
): Promise<Session> {
  const { config } = catalog;
  checkSlug(buildOptions.slug);
  const from = buildOptions.from && (await openRelease(buildOptions.from.directory));
  const given = completed(buildOptions, from);
  checkHomologOptions(settled(given));
  const directory = await findEncoder(given.encoder ?? config.encoder, config);
  const encoder = await loadEncoder(directory, encoderOptionsOf(config));
  let opened: OpenInput | undefined;
  let embeddings: GivenEmbeddings | undefined;
  const close = async (): Promise<void> => {
    embeddings?.embeddings.close();
    await opened?.remove();
    await encoder.close();
  };
  try {
    events.signal?.throwIfAborted();
    opened = await openInput(given.input, events);
    const options = settled(opened.input.hasFamilies === true ? withFamilies(given, opened.input) : given);
    checkHomologOptions(options);
    reportLostHomologs(options, from, events);
    const input = from === undefined ? opened.input : continuedInput(opened.input, from);
    embeddings = await openGiven(options, directory, encoder);
    await storeEncoder(directory, config);
    return { catalog, options, events, input, embeddings, encoder, close };
  } catch (cause) {
    await close();
    throw cause;
  }
}

function settled(options: BuildOptions): BuildOptions {
  return { ...options, homologs: settledHomologs(options, options) };
}

/** Errors  Refusal `invalid_option` beside embeddings, which are of proteins alone */
function withFamilies(options: BuildOptions, { digest }: ProteinInput): BuildOptions {
  if (options.embeddings === undefined) return { ...options, families: digest };
  throw new Refusal(
    'invalid_option',
    '--embeddings are of proteins alone: the members of families have none.',
  );
}

/** Takes title, description and encoder from the earlier release where the options do not name them. */
function completed(options: BuildOptions, from: Release | undefined): BuildOptions {
  if (from === undefined) return options;
  const { title, description, encoder } = from.manifest;
  return {
    ...options,
    title: options.title ?? title,
    description: options.description ?? description,
    encoder: options.encoder ?? encoder.id,
  };
}

/** Reports homologs of the earlier release that the new one does not get by itself: their source is not named again. */
function reportLostHomologs(
  { slug, homologs, alignments, families }: BuildOptions,
  from: Release | undefined,
  { onNotice }: PipelineEvents,
): void {
  const isNamed =
    alignments !== undefined || families !== undefined || !(homologs === 'none' || homologs === 'auto');
  if (from?.manifest.relatives === undefined || isNamed) return;
  onNotice?.({ kind: 'homologs_lost', slug, isOwnPossible: homologs === 'auto' });
}

/** Errors  Refusal `invalid_option` beside homologs or shards; those of openEmbeddings */
async function openGiven(
  { embeddings, homologs, alignments, shards }: BuildOptions,
  directory: string,
  { card }: Encoder,
): Promise<GivenEmbeddings | undefined> {
  if (embeddings === undefined) return undefined;
  if (homologs !== 'none' || alignments !== undefined) {
    throw new Refusal('invalid_option', '--embeddings are of proteins alone: their homologs have none.');
  }
  if (shards !== undefined) {
    throw new Refusal(
      'invalid_option',
      'This process reads --embeddings, so there is no work to divide among tasks.',
    );
  }
  const project = await openFeatureTokens(directory, card);
  return { embeddings: await openEmbeddings(embeddings), project };
}

function releaseOptionsOf(
  { catalog, options, events, input, embeddings, encoder }: Session,
  buildHomologs: BuildHomologs | undefined,
): ReleaseOptions {
  const { slug, title, description, isDefault, shards, checkInput } = options;
  const { signal, onProgress } = events;
  return {
    indexesFolder: catalog.config.indexesFolder,
    slug,
    title,
    description,
    input,
    encoder,
    buildHomologs,
    embeddings,
    isDefault,
    shardCount: shards?.count,
    checkCorpus: ({ targets }) => checkInput?.({ targets, hasFamilies: input.hasFamilies === true }),
    signal,
    onProgress,
  };
}

/** Encodes in shards where the options divide the build. Returns the shards that tasks still have to encode. */
async function encodeInShards(
  { catalog, options, events }: Session,
  releaseOptions: ReleaseOptions,
): Promise<PendingShards | undefined> {
  const { shards, slug, alignments } = options;
  if (shards === undefined) return undefined;
  const planned = await planShards(releaseOptions, shards.count);
  const { indexesFolder } = catalog.config;
  return planned && encodeShards(planned, { ...shards, slug, indexesFolder, alignments }, events);
}

/**
 * Removes a new release in which no protein has a homolog in its source, and returns whether it did. Profiles without
 * homologs score domains less well: superfamily share .059, and .076 by the encoder's own tokens.
 */
async function removeWithoutHomologs(
  { catalog, options, events }: Session,
  { release }: BuildReport,
): Promise<boolean> {
  const { id, manifest, directory } = release;
  const { slug } = options;
  const isKnown = catalog.table.release(id, slug) !== undefined;
  if (manifest.relatives?.counts.targets !== 0 || isKnown) return false;
  await rm(directory, { recursive: true });
  events.onNotice?.({ kind: 'homologs_absent', slug, homologSource: manifest.relatives.background });
  return true;
}

async function isWorthHomologs(
  { catalog, options, encoder, events }: Session,
  plain: FoundRelease,
): Promise<boolean> {
  return (
    options.homologs === 'self' || (await haveOwnHomologs(plain, options.slug, encoder, catalog, events))
  );
}

/** Makes the release without homologs the default of its database, whatever was built of these proteins before. */
async function makeDefault({ catalog, options }: Session, plain: FoundRelease): Promise<void> {
  const { slug, isDefault } = options;
  if (!isDefault || catalog.table.database(slug)?.defaultReleaseId === plain.id) return;
  await publishBuilt(catalog, { ...plain, slug }, options);
}
