import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Fault } from '../errors.js';
import { checkSlug, scanReleases } from '../release/catalog.js';
import { RELEASE_FORMAT } from '../release/format.js';
import { shareFile } from '../release/hashed-file.js';
import { filterSchema } from '../release/manifest.js';
import type { Release, ReleaseManifest } from '../release/release.js';
import { putInPlace, type BuildFolder } from './build-folder.js';
import type { BuildOptions, BuildReport } from './build-options.js';
import { inBuildFolder } from './in-build-folder.js';
import { sizeOf } from './release.js';
import {
  describedBy,
  findBuilt,
  readStage,
  writeStage,
  type ReleaseDescription,
  type Report,
  type TargetNumbers,
} from './release-stages.js';

export interface AnnotateOptions extends Pick<
  BuildOptions,
  'indexesFolder' | 'slug' | 'signal' | 'onProgress'
> {
  readonly release: Release;
  /** The release's proteins in their order, with new attributes (sources/earlier-release.ts). */
  readonly input: BuildOptions['input'];
  /** Title and description; default: those of the release. */
  readonly title?: string;
  readonly description?: string;
}

/** Result of an annotation, which encodes nothing. */
export type AnnotateReport = Pick<BuildReport, 'release' | 'isKnown' | 'notes' | 'sizeBytes'>;

/**
 * Builds a release of the same proteins with other attributes. It writes new attributes and names. Token files are hard
 * links to those of the release, or copies if the file system has no links.
 * Errors  Refusal `invalid_metadata`, `build_running`, `disk_full`; Fault where the release is damaged
 * Cost    a pass over the proteins, in seconds for 100,000
 */
export async function annotateRelease(options: AnnotateOptions): Promise<AnnotateReport> {
  const { release, input, title, description, slug } = options;
  const identity = {
    format: RELEASE_FORMAT,
    slug,
    annotated: release.id,
    title: title ?? null,
    description: description ?? null,
    input: input.digest,
  };
  const databaseFolder = join(options.indexesFolder, checkSlug(slug));
  return inBuildFolder(databaseFolder, identity, [release.id], (folder) => annotateInFolder(options, folder));
}

async function annotateInFolder(options: AnnotateOptions, folder: BuildFolder): Promise<AnnotateReport> {
  const { release, indexesFolder, slug, signal, title, description } = options;
  const report: Report = (stage, done, total) => options.onProgress?.({ stage, done, total });
  const { corpus, taxonomy } = await readStage(options, folder, report);
  const before = describedBy(release.manifest);
  const next: ReleaseDescription = {
    ...before,
    title: title ?? before.title,
    description: description ?? before.description,
    corpus_snapshot_id: corpus.corpusSnapshotId,
    filter_schema: filterSchema(corpus.fields),
  };
  const { releases } = await scanReleases(indexesFolder);
  const built = findBuilt(releases, slug, next, taxonomy);
  if (built !== undefined) {
    await rm(folder.path, { recursive: true });
    return { release: built, isKnown: true, notes: corpus.notes, ...sizeOf(built.manifest) };
  }
  const tables = await writeStage(corpus, folder, numbersOf(release), { report, signal });
  const { files, relatives: homologs } = release.manifest;
  if (tables.targets.sha256 !== files.targets.sha256) {
    throw new Fault(
      `The proteins in ${release.directory} have changed since the build; run gloaming index verify for details.`,
    );
  }
  const rows = { tokens: files.tokens, ...(files.profiles && { profiles: files.profiles }) };
  for (const { path } of Object.values(rows)) {
    await shareFile(join(release.directory, path), join(folder.release, path));
  }
  const { relatives: _, ...rest } = next;
  const manifest: ReleaseManifest = {
    ...rest,
    ...(homologs && { relatives: homologs }),
    files: { ...tables, ...rows, ...(taxonomy && { taxonomy }) },
  };
  // The caller calibrates the release before it makes it the default.
  const annotated = await putInPlace(folder, { indexesFolder, slug, isDefault: false }, manifest);
  return { release: annotated, isKnown: false, notes: corpus.notes, ...sizeOf(manifest) };
}

/** Returns the computed columns of the release's target table. */
function numbersOf({ targets }: Release): TargetNumbers {
  const selfScores = Int32Array.from({ length: targets.count }, (_, target) => targets.selfScore(target));
  return { selfScores, targetHomologs: targets.targetHomologs };
}
