import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { canonicalJson } from '../canonical.js';
import { ifAbsent, Refusal } from '../errors.js';
import type { FoundRelease } from '../release/catalog.js';
import { HOMOLOG_FORM_ID, RELEASE_FORMAT } from '../release/format.js';
import { EXHAUSTIVE_POLICY, filterSchema } from '../release/manifest.js';
import type { FileEntry, HomologsManifest, ReleaseManifest, TargetHomologs } from '../release/release.js';
import { createNamesWriter } from '../release/names/writer.js';
import { writeTargetTables, type TargetFiles, type TargetRow } from '../release/table-writer.js';
import { lineageOf, writeTaxonomy, type Taxon, type Taxonomy } from '../release/taxonomy.js';
import { NORMALIZATION_ID } from '../sequence/protein.js';
import { dropBuildFolder, readState, writeState, type BuildFolder } from './build-folder.js';
import type { BuildHomologs, BuildOptions, BuildProgress } from './build-options.js';
import { damagedSpool, readProteinSpool } from './protein-spool.js';
import type { ProteinTokens } from './protein-tokens.js';
import { readProteins, snapshotId, type Corpus } from './read-proteins.js';

/** Reports the progress of a stage. */
export type Report = (stage: BuildProgress['stage'], done: number, total: number) => void;

/** Result of the reading stage. */
export interface ReadResult {
  readonly corpus: Corpus;
  readonly taxonomy?: FileEntry;
}

/**
 * Reads, checks and spools the input, or returns the stored result of an interrupted build if its spool is complete.
 * Errors  those of readProteins, of the input and of `checkCorpus`; errors of the file system
 */
export async function readStage(
  options: Pick<BuildOptions, 'input' | 'checkCorpus' | 'signal'>,
  folder: BuildFolder,
  report: Report,
): Promise<ReadResult> {
  const done = await storedResult(folder);
  try {
    const result = done ?? (await readInput(options, folder, report));
    options.checkCorpus?.(result.corpus);
    if (done === undefined) await writeState(folder.read, result);
    return result;
  } catch (cause) {
    // Invalid input cannot be resumed, because another input has another folder.
    if (cause instanceof Refusal) await dropBuildFolder(folder);
    throw cause;
  }
}

/** Undefined if the spool has another length: reading again restores it, and encoding has counted its proteins. */
async function storedResult({ read, spool }: BuildFolder): Promise<ReadResult | undefined> {
  const done = await readState<ReadResult>(read, ['corpus']);
  const size = await stat(spool).then((status) => status.size, ifAbsent(undefined));
  return done !== undefined && size === done.corpus.spoolBytes ? done : undefined;
}

async function readInput(
  options: Pick<BuildOptions, 'input' | 'signal'>,
  folder: BuildFolder,
  report: Report,
): Promise<ReadResult> {
  const source = await options.input.open(folder.scratch);
  try {
    let bytes = 0;
    report('read', 0, source.totalBytes);
    const onBytes = (count: number): void => report('read', (bytes += count), source.totalBytes);
    const paths = { spool: folder.spool, ids: join(folder.scratch, 'ids.rows') };
    const corpus = await readProteins(source, paths, onBytes, options.signal);
    const { taxonomy } = source;
    if (taxonomy === undefined) return { corpus };
    return { corpus, taxonomy: await writeTaxonomy(folder.release, taxaAbove(taxonomy, corpus.taxids)) };
  } finally {
    source.close();
  }
}

/** Computed columns of the target table, in the order of the targets. */
export interface TargetNumbers {
  readonly selfScores: Int32Array;
  /** Homolog counts by target; undefined for a release without homologs. */
  readonly targetHomologs?: (row: number) => TargetHomologs;
}

/**
 * Writes the target table, the attribute table and the index of names.
 * Errors  Fault where the spool is not the one that was read; errors of the file system; the signal's reason
 */
export async function writeStage(
  corpus: Corpus,
  folder: BuildFolder,
  { selfScores, targetHomologs }: TargetNumbers,
  { report, signal }: { readonly report: Report; readonly signal?: AbortSignal },
): Promise<TargetFiles & { readonly names: FileEntry }> {
  const names = await createNamesWriter(folder.release, folder.scratch);
  report('write', 0, corpus.targets);
  const rows = (async function* (): AsyncGenerator<TargetRow> {
    let row = 0;
    const hash = createHash('sha256');
    const onBytes = (bytes: Uint8Array): void => void hash.update(bytes);
    for await (const { protein } of readProteinSpool(folder.spool, 0, Infinity, onBytes)) {
      signal?.throwIfAborted();
      await names.add(protein.id, protein.attributes);
      yield { ...protein, selfScore: selfScores[row], targetHomologs: targetHomologs?.(row) };
      row += 1;
      report('write', row, corpus.targets);
    }
    const isWhole = row === corpus.targets && snapshotId(hash.digest('hex')) === corpus.corpusSnapshotId;
    if (!isWhole) throw damagedSpool(folder.spool);
  })();
  try {
    const tables = await writeTargetTables(folder.release, corpus.fields, targetHomologs !== undefined, rows);
    return { ...tables, names: await names.finish() };
  } catch (cause) {
    await names.abandon();
    throw cause;
  }
}

/** The manifest without its files and without the homolog counts, which are known only after encoding. */
export interface ReleaseDescription extends Omit<ReleaseManifest, 'files' | 'relatives'> {
  readonly relatives?: Omit<HomologsManifest, 'counts'>;
}

/** Returns the description of a release that is about to be encoded. */
export function describeRelease(
  options: BuildOptions,
  corpus: Corpus,
  { affine, dimension }: ProteinTokens,
  embeddedTargets: number | undefined,
): ReleaseDescription {
  const { card, digest } = options.encoder;
  const { embeddings, buildHomologs } = options;
  return {
    format: RELEASE_FORMAT,
    title: options.title ?? options.slug,
    description: options.description ?? '',
    is_simulated: options.isSimulated === true,
    corpus_snapshot_id: corpus.corpusSnapshotId,
    normalization_id: NORMALIZATION_ID,
    encoder: { id: card.id, sha256: digest, dimension, inverse_step: card.inverse_step },
    affine,
    counts: { targets: corpus.targets, residues: corpus.residues },
    ...(buildHomologs === undefined ? {} : { relatives: describeHomologs(buildHomologs) }),
    ...(embeddings === undefined || embeddedTargets === undefined
      ? {}
      : { embeddings: { sha256: embeddings.embeddings.digest, targets: embeddedTargets } }),
    filter_schema: filterSchema(corpus.fields),
    policies: [EXHAUSTIVE_POLICY],
  };
}

/** Returns the manifest's member `relatives` without its counts. */
export function describeHomologs({
  homologSource,
  rules,
  form,
}: BuildHomologs): Omit<HomologsManifest, 'counts'> {
  return {
    form_id: HOMOLOG_FORM_ID,
    background: homologSource,
    rules: {
      max_expected: rules.maxEValue,
      min_coverage: rules.minCoverage,
      max_identity: rules.maxIdentity,
      profile_count: rules.profileCount,
      vector_count: rules.vectorCount,
      ...(rules.areEndsCut ? { weak_ends: 'cut' } : {}),
      ...(rules.maxComposedEValue === undefined ? {} : { max_composed_expected: rules.maxComposedEValue }),
    },
    encoder_dimension: form.encoderDimension,
    profile_share: form.profileShare,
  };
}

/** Returns the existing release with this description. The description determines all other bytes of a release. */
export function findBuilt(
  releases: readonly FoundRelease[],
  slug: string,
  description: ReleaseDescription,
  taxonomy: FileEntry | undefined,
): FoundRelease | undefined {
  const canonical = canonicalJson(description);
  return releases.find(
    ({ manifest, ...release }) =>
      release.slug === slug &&
      canonicalJson(describedBy(manifest)) === canonical &&
      manifest.files.taxonomy?.sha256 === taxonomy?.sha256,
  );
}

/** Returns the description that a release was built from. */
export function describedBy({ files: _, relatives: homologs, ...rest }: ReleaseManifest): ReleaseDescription {
  if (homologs === undefined) return rest;
  const { counts: __, ...described } = homologs;
  return { ...rest, relatives: described };
}

/** Returns the given taxa and all their ancestors, each once. */
function taxaAbove(taxonomy: Taxonomy, taxids: readonly number[]): Iterable<Taxon> {
  const taxa = new Map<number, Taxon>();
  for (const taxid of taxids) for (const taxon of lineageOf(taxonomy, taxid)) taxa.set(taxon.taxid, taxon);
  return taxa.values();
}
