import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { assert, Refusal } from '../errors.js';
import { checkSlug } from '../release/catalog.js';
import { RELEASE_FORMAT } from '../release/format.js';
import { listedFiles } from '../release/manifest.js';
import type { ReleaseManifest } from '../release/release.js';
import { NORMALIZATION_ID } from '../sequence/protein.js';
import { openBuildFolder, putInPlace, type BuildFolder } from './build-folder.js';
import { lockBuild } from './build-lock.js';
import type { BuildOptions, BuildProgress, BuildReport } from './build-options.js';
import { checkEmbeddings, type EmbeddingCheck } from './embeddings/check.js';
import { givenTokens } from './embeddings/given-tokens.js';
import { encodeProteins } from './encode-proteins.js';
import { proteinTokens } from './protein-tokens.js';
import { describeRelease, describeRelatives, findBuilt, readStage, writeStage } from './release-stages.js';

/**
 * Builds a release: read → encode → write → rename into place. Killed at any moment, the same call goes on
 * from there (build-folder.ts), and the release is the same to the byte. The caller publishes it in the
 * catalog.
 * Errors  Refusal with file, line and record where the input is wrong; `disk_full`; `build_running`;
 *         `invalid_slug`
 * Cost    the encoder's; memory is bounded but for 16 bytes an id and some 100 bytes a protein for its names
 *         (besides: a batch of 4,096 proteins, a million words)
 */
export async function buildRelease(options: BuildOptions): Promise<BuildReport> {
  const databaseFolder = join(options.indexesFolder, checkSlug(options.slug));
  try {
    const folder = await openBuildFolder(databaseFolder, identityOf(options));
    const unlock = await lockBuild(folder.path);
    try {
      return await buildInFolder(options, folder);
    } finally {
      await unlock();
    }
  } catch (cause) {
    throw explainFullDisk(cause, databaseFolder);
  }
}

async function buildInFolder(options: BuildOptions, folder: BuildFolder): Promise<BuildReport> {
  const { encoder, signal, indexesFolder, slug } = options;
  const report = (stage: BuildProgress['stage'], done: number, total: number): void =>
    options.onProgress?.({ stage, done, total });
  const { corpus, taxonomy } = await readStage(options, folder, report);
  const embedded = await checkGiven(options, corpus.targets, folder);
  const source =
    options.embeddings === undefined
      ? proteinTokens(encoder, options.families)
      : givenTokens(encoder, options.embeddings);
  const description = describeRelease(options, corpus, source, embedded?.targets);
  const common = {
    replaced: corpus.replaced,
    notes: [...corpus.notes, ...noteEmbedded(corpus.targets, embedded)],
  };
  const built = await findBuilt(indexesFolder, slug, description, taxonomy);
  if (built !== undefined) {
    await rm(folder.path, { recursive: true });
    return {
      ...common,
      release: built,
      isKnown: true,
      ...sizeOf(built.manifest),
      encodedResidues: 0,
      encodeMs: 0,
    };
  }
  const startedMs = performance.now();
  const { tokens, profiles, related, encodedResidues } = await encodeProteins(source, corpus, folder, {
    signal,
    onResidues: (residues) => report('encode', residues, corpus.residues),
  });
  const encodeMs = performance.now() - startedMs;
  const tables = await writeStage(corpus, folder, report, signal);
  const { relatives, ...rest } = description;
  const manifest: ReleaseManifest = {
    ...rest,
    ...(relatives === undefined ? {} : { relatives: { ...relatives, counts: related } }),
    files: {
      ...tables,
      tokens,
      ...(profiles === undefined ? {} : { profiles }),
      ...(taxonomy === undefined ? {} : { taxonomy }),
    },
  };
  const release = await putInPlace(folder, indexesFolder, slug, manifest);
  return { ...common, release, isKnown: false, ...sizeOf(manifest), encodedResidues, encodeMs };
}

/** What was found of the given embeddings; undefined where none are given. */
async function checkGiven(
  { encoder, embeddings, families, signal }: BuildOptions,
  targets: number,
  folder: BuildFolder,
): Promise<EmbeddingCheck | undefined> {
  if (embeddings === undefined) return undefined;
  assert(families === undefined, 'relatives have no embeddings');
  return checkEmbeddings(folder.spool, targets, encoder, embeddings, signal);
}

function noteEmbedded(targets: number, embedded: EmbeddingCheck | undefined): readonly string[] {
  if (embedded === undefined) return [];
  const { targets: given, sampleCount, lowestCosine } = embedded;
  return [
    `Tokens of ${given} proteins are made of the given embeddings; ${targets - given} proteins were encoded.`,
    `A sample of ${sampleCount}, encoded again, agrees: the lowest mean cosine is ${lowestCosine.toFixed(3)}.`,
  ];
}

/** All that the release's bytes depend on. */
function identityOf({
  slug,
  title,
  description,
  isSimulated,
  input,
  encoder,
  families,
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
    ...(families === undefined ? {} : { relatives: describeRelatives(families) }),
    ...(embeddings === undefined ? {} : { embeddings: embeddings.embeddings.digest }),
  };
}

function sizeOf(manifest: ReleaseManifest): { sizeBytes: number } {
  return { sizeBytes: listedFiles(manifest).reduce((sum, { size_bytes }) => sum + size_bytes, 0) };
}

function explainFullDisk(cause: unknown, folder: string): unknown {
  const code = (cause as NodeJS.ErrnoException).code;
  if (code !== 'ENOSPC' && code !== 'EDQUOT') return cause;
  return new Refusal(
    'disk_full',
    `The disk that holds ${folder} is full. What is done is kept: ` +
      'free some space and run the same command again.',
  );
}
