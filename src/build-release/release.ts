import { join } from 'node:path';
import type { Encoder } from '../encoder/encoder.js';
import { assert } from '../errors.js';
import { checkSlug, scanReleases, type FoundRelease } from '../release/catalog.js';
import { RELEASE_FORMAT } from '../release/format.js';
import { listedFiles } from '../release/manifest.js';
import type { ReleaseManifest } from '../release/release.js';
import { NORMALIZATION_ID } from '../sequence/protein.js';
import { clearBuildFolder, putInPlace, type BuildFolder } from './build-folder.js';
import type { BuildHomologs, BuildOptions, BuildReport } from './build-options.js';
import { checkEmbeddings, type EmbeddingCheck } from './embeddings/check.js';
import { givenTokens } from './embeddings/given-tokens.js';
import { encodeProteins, wholeOf, type EncodeResult } from './encode-proteins.js';
import { readTargetHomologs, readSelfScores } from './encoded-files.js';
import { inBuildFolder, requireSources } from './in-build-folder.js';
import { proteinTokens, type ProteinTokens } from './protein-tokens.js';
import type { Corpus } from './read-proteins.js';
import {
  describeRelease,
  describeHomologs,
  findBuilt,
  readStage,
  writeStage,
  type Report,
} from './release-stages.js';
import { findKnownTokens, reusingEncoder, reusingTokens, type KnownTokens } from './known-tokens.js';
import { gatherShards } from './shards/gather.js';
import { openPlan, type PlannedShards } from './shards/plan.js';

/**
 * Builds a release: read → encode what no earlier release has → write → rename into place. If the process is killed,
 * the same call resumes the build (build-folder.ts), and the bytes of the release are the same. The caller publishes
 * the release in the catalog.
 * Errors  Refusal with file, line and record for invalid input; Refusal `disk_full`, `build_running`, `invalid_slug`,
 *         `invalid_embeddings`, `build_incomplete`, `release_damaged`, `background_not_found`; those of encoder, finder
 *         and file system; the signal's reason
 * Cost    that of the encoder; memory of 16 bytes per id, about 100 bytes per protein for its names, and 32 to 64 bytes
 *         per protein if earlier releases are searched; besides a constant amount for batches
 */
export async function buildRelease(options: BuildOptions): Promise<BuildReport> {
  return inFolderOf(options, (folder) => buildInFolder(options, folder));
}

/**
 * Reads the input of a build and divides its encoding into shards. Tasks on any machine that shares the folder encode
 * them (shards/encode-shard.ts), and `buildRelease` with the same `shardCount` gathers them. The release has the bytes
 * of a build on one machine if all machines have the same encoder and homolog source. Returns undefined if an identical
 * release exists already.
 * Errors  those of reading the input; Refusal `build_running`, `disk_full`, `invalid_slug`; Refusal `invalid_option`
 *         for a count out of range
 */
export async function planShards(
  options: BuildOptions,
  shardCount: number,
): Promise<PlannedShards | undefined> {
  const { buildHomologs, embeddings, encoder } = options;
  assert(embeddings === undefined, 'tasks cannot read precomputed embeddings');
  return inFolderOf(options, async (folder) => {
    const { corpus, taxonomy } = await readStage(options, folder, reportTo(options));
    const description = describeRelease(options, corpus, proteinTokens(encoder, buildHomologs), undefined);
    const { releases } = await scanReleases(options.indexesFolder);
    if (findBuilt(releases, options.slug, description, taxonomy) !== undefined) return undefined;
    return openPlan(corpus, folder, { encoder, relatives: description.relatives }, shardCount);
  });
}

async function inFolderOf<Result>(
  options: BuildOptions,
  work: (folder: BuildFolder) => Promise<Result>,
): Promise<Result> {
  const databaseFolder = join(options.indexesFolder, checkSlug(options.slug));
  return inBuildFolder(databaseFolder, identityOf(options), sourcesOf(options), work);
}

/** Ids of the releases that the build needs to its end. Files of the others are opened once, and stay readable. */
function sourcesOf({ buildHomologs }: BuildOptions): readonly string[] {
  const source = buildHomologs?.homologSource;
  return source?.method === 'search' ? [source.release_id] : [];
}

function reportTo({ onProgress }: BuildOptions): Report {
  return (stage, done, total) => onProgress?.({ stage, done, total });
}

async function buildInFolder(options: BuildOptions, folder: BuildFolder): Promise<BuildReport> {
  const report = reportTo(options);
  const { corpus, taxonomy } = await readStage(options, folder, report);
  const { replaced } = corpus;
  const embedded = await checkEmbedded(options, corpus.targets, folder);
  const notesSoFar = [...corpus.notes, ...noteEmbedded(corpus.targets, embedded)];
  const description = describeRelease(options, corpus, tokensOf(options, options.encoder), embedded?.targets);
  const { releases } = await scanReleases(options.indexesFolder);
  const built = findBuilt(releases, options.slug, description, taxonomy);
  if (built !== undefined) {
    await clearBuildFolder(folder);
    const nothing = { encodedResidues: 0, reusedResidues: 0, encodeMs: 0 };
    return {
      replaced,
      notes: notesSoFar,
      release: built,
      isKnown: true,
      ...sizeOf(built.manifest),
      ...nothing,
    };
  }
  const { related, notes, encodedResidues, reusedResidues, encodeMs, scores, homologSets, ...rows } =
    await encodeStage(options, { corpus, releases }, folder, report);
  const { relatives: homologs, ...rest } = description;
  const numbers = {
    selfScores: await readSelfScores(folder, { scores }),
    targetHomologs: homologs && (await readTargetHomologs(folder, { homologSets })),
  };
  const tables = await writeStage(corpus, folder, numbers, { report, signal: options.signal });
  const manifest: ReleaseManifest = {
    ...rest,
    ...(homologs === undefined ? {} : { relatives: { ...homologs, counts: related } }),
    files: { ...tables, ...rows, ...(taxonomy === undefined ? {} : { taxonomy }) },
  };
  await requireSources(options.indexesFolder, sourcesOf(options));
  const release = await putInPlace(folder, options, manifest);
  return {
    replaced,
    notes: [...notesSoFar, ...notes],
    release,
    isKnown: false,
    ...sizeOf(manifest),
    encodedResidues,
    reusedResidues,
    encodeMs,
  };
}

/** Encodes all proteins, and reuses the tokens that earlier releases have. */
async function encodeStage(
  options: BuildOptions,
  { corpus, releases }: { readonly corpus: Corpus; readonly releases: readonly FoundRelease[] },
  folder: BuildFolder,
  report: Report,
): Promise<EncodeResult & Pick<BuildReport, 'notes' | 'encodeMs'>> {
  const { encoder, buildHomologs, slug, shardCount, signal } = options;
  const range = wholeOf(corpus);
  if (shardCount !== undefined) {
    await gatherShards(tokensOf(options, encoder), range, folder, shardCount, signal);
  }
  const find = (from: readonly FoundRelease[], homologs: BuildHomologs | undefined): Promise<KnownTokens> =>
    findKnownTokens(shardCount === undefined ? from : [], {
      spoolPath: folder.spool,
      residues: corpus.residues,
      slug,
      encoder,
      relatives: homologs && describeHomologs(homologs),
      signal,
      onBytes: (done, total) => report('reuse', done, total),
    });
  const tokensOfReleases = await find(releases, buildHomologs);
  // Plain tokens, from which profile tokens are computed, are needed only if some profile tokens are missing.
  const plain =
    buildHomologs === undefined
      ? tokensOfReleases
      : await find(tokensOfReleases.isComplete ? [] : releases, undefined);
  try {
    const encoded = tokensOf(options, reusingEncoder(encoder, plain));
    const source = buildHomologs === undefined ? encoded : reusingTokens(encoded, tokensOfReleases);
    const startedMs = performance.now();
    const { tokens, profiles, ...counts } = await encodeProteins(source, range, folder, {
      signal,
      isKnown: tokensOfReleases.has,
      onResidues: (residues) => report('encode', residues, corpus.residues),
    });
    const rows = profiles === undefined ? { tokens } : { tokens, profiles };
    const notes = [...new Set([...plain.notes, ...tokensOfReleases.notes])];
    return { ...rows, ...counts, notes, encodeMs: performance.now() - startedMs };
  } finally {
    await plain.close();
    if (tokensOfReleases !== plain) await tokensOfReleases.close();
  }
}

/** Returns the token source of a build: precomputed embeddings, or the encoder with or without homologs. */
function tokensOf({ embeddings, buildHomologs }: BuildOptions, encoder: Encoder): ProteinTokens {
  return embeddings === undefined ? proteinTokens(encoder, buildHomologs) : givenTokens(encoder, embeddings);
}

/** Checks precomputed embeddings; undefined for a build without them. */
async function checkEmbedded(
  { encoder, embeddings, buildHomologs, signal }: BuildOptions,
  targets: number,
  folder: BuildFolder,
): Promise<EmbeddingCheck | undefined> {
  if (embeddings === undefined) return undefined;
  assert(
    buildHomologs === undefined,
    'a build with homologs cannot use precomputed embeddings, which homologs lack',
  );
  return checkEmbeddings(folder.spool, targets, encoder, embeddings, signal);
}

function noteEmbedded(targets: number, embedded: EmbeddingCheck | undefined): readonly string[] {
  if (embedded === undefined) return [];
  const { targets: embeddedTargets, sampleCount, lowestCosine } = embedded;
  return [
    `Proteins with precomputed embeddings: ${embeddedTargets}; encoded now: ${targets - embeddedTargets}.`,
    `A sample of ${sampleCount} was encoded again: the lowest mean cosine is ${lowestCosine.toFixed(3)}.`,
  ];
}

/** Everything that the bytes of the release depend on. */
function identityOf({
  slug,
  title,
  description,
  isSimulated,
  input,
  encoder,
  buildHomologs,
  embeddings,
}: BuildOptions): unknown {
  return {
    format: RELEASE_FORMAT,
    normalization: NORMALIZATION_ID,
    slug,
    title: title ?? null,
    description: description ?? null,
    is_simulated: isSimulated === true,
    input: input.digest,
    encoder: encoder.digest,
    ...(buildHomologs === undefined ? {} : { relatives: describeHomologs(buildHomologs) }),
    ...(embeddings === undefined ? {} : { embeddings: embeddings.embeddings.digest }),
  };
}

/** Returns the total size of a release's files, without its manifest. */
export function sizeOf(manifest: ReleaseManifest): { sizeBytes: number } {
  return { sizeBytes: listedFiles(manifest).reduce((sum, { size_bytes }) => sum + size_bytes, 0) };
}
