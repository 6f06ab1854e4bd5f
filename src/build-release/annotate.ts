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
  /** The release's proteins in its order, with other attributes (sources/earlier-release.ts). */
  readonly input: BuildOptions['input'];
  /** Default: those of the release. */
  readonly title?: string;
  readonly description?: string;
}

/** What came of it; nothing is encoded. */
export type AnnotateReport = Pick<BuildReport, 'release' | 'isKnown' | 'notes' | 'sizeBytes'>;

/**
 * Makes a release of the same proteins with other attributes: attributes and names are written anew, and the tokens
 * are the same files under another name, or copies where the file system has no links.
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
  return inBuildFolder(databaseFolder, identity, (folder) => annotateInFolder(options, folder));
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
  const known = findBuilt(releases, slug, next, taxonomy);
  if (known !== undefined) {
    await rm(folder.path, { recursive: true });
    return { release: known, isKnown: true, notes: corpus.notes, ...sizeOf(known.manifest) };
  }
  const tables = await writeStage(corpus, folder, numbersOf(release), { report, signal });
  const { files, relatives: homologs } = release.manifest;
  if (tables.targets.sha256 !== files.targets.sha256) {
    throw new Fault(
      `${release.directory} holds other proteins than were built; gloaming index verify says where.`,
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
  // Its caller publishes it beside the default, measures it, and makes it the default then.
  const found = await putInPlace(folder, { indexesFolder, slug, isDefault: false }, manifest);
  return { release: found, isKnown: false, notes: corpus.notes, ...sizeOf(manifest) };
}

/** What its tables say of the targets. */
function numbersOf({ targets }: Release): TargetNumbers {
  const selfScores = Int32Array.from({ length: targets.count }, (_, target) => targets.selfScore(target));
  return { selfScores, targetHomologs: targets.targetHomologs };
}
