import { mkdir, readFile, rename, rm, rmdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { canonicalSha256 } from '../canonical.js';
import {
  besideDefaultMark,
  BUILDING_PREFIX,
  releaseDirectory,
  type FoundRelease,
} from '../release/catalog.js';
import { MANIFEST_FILE } from '../release/format.js';
import { exists, replaceFile, syncFolder } from '../files.js';
import { Fault, ifAbsent } from '../errors.js';
import { listedFiles, manifestText, releaseId } from '../release/manifest.js';
import type { ReleaseManifest } from '../release/release.js';
import { calibrationDirectory } from '../significance/card.js';
import type { BuildOptions } from './build-options.js';

/*
 * Folder of an unfinished build: `<indexes>/<slug>/.building-<key>/`. The key is a digest of the input, the encoder and
 * the options. The same command resumes its own work, and commands with other input never share a folder.
 *
 *   lock             process that is building.
 *   sources.json     ids of the releases that the build needs to its end; they must not be deleted before.
 *   scratch/         temporary files of reading.
 *   proteins.jsonl   the proteins, normalised and checked.
 *   read.json        counts of the input; written when proteins.jsonl and taxonomy.arrow are complete.
 *   encoded.json     checkpoint of encoding; a resumed build cuts the files off at this checkpoint.
 *   self-scores.i32  self-score of each protein, little-endian int32.
 *   families.f64     two float64 for each protein: number of homologs in its profile, effective number of sequences.
 *   release/         files of the release; renamed into place when all are complete.
 *   shards/          shards that several machines encode (shards/plan.ts).
 */
export interface BuildFolder {
  readonly path: string;
  readonly sources: string;
  readonly scratch: string;
  readonly spool: string;
  readonly read: string;
  readonly encoded: string;
  readonly scores: string;
  readonly homologSets: string;
  readonly release: string;
  readonly shards: string;
}

/** Creates the folder of a build, or opens the existing one. Errors  errors of the file system */
export async function openBuildFolder(databaseFolder: string, identity: unknown): Promise<BuildFolder> {
  const path = join(databaseFolder, `${BUILDING_PREFIX}${canonicalSha256(identity).slice(0, 16)}`);
  const folder = buildFolderAt(path);
  await mkdir(folder.release, { recursive: true });
  await mkdir(folder.scratch, { recursive: true });
  return folder;
}

export function buildFolderAt(path: string): BuildFolder {
  return {
    path,
    sources: join(path, 'sources.json'),
    scratch: join(path, 'scratch'),
    spool: join(path, 'proteins.jsonl'),
    read: join(path, 'read.json'),
    encoded: join(path, 'encoded.json'),
    scores: join(path, 'self-scores.i32'),
    homologSets: join(path, 'families.f64'),
    release: join(path, 'release'),
    shards: join(path, 'shards'),
  };
}

/** Returns the ids of the releases that an unfinished build needs. Errors  those of readState */
export async function readBuildSources(path: string): Promise<readonly string[]> {
  const state = await readState<BuildSources>(buildFolderAt(path).sources, ['release_ids']);
  return state?.release_ids ?? [];
}

/** Content of sources.json. */
export interface BuildSources {
  readonly release_ids: readonly string[];
}

/** Removes the build folder, and the database's folder if it is then empty. Errors  errors of the file system */
export async function dropBuildFolder(folder: BuildFolder): Promise<void> {
  await rm(folder.path, { recursive: true });
  await rmdir(dirname(folder.path)).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code !== 'ENOTEMPTY') throw cause;
  });
}

/**
 * Removes the build folder after its release is in place. Retries, because a late shard task may still write into it.
 * Errors  errors of the file system
 */
export async function clearBuildFolder({ path }: BuildFolder): Promise<void> {
  await rm(path, { recursive: true, maxRetries: 5 });
}

/**
 * Reads the stored result of a stage; undefined if the stage is not complete.
 * Errors  Fault for a damaged file; errors of the file system
 * @param members  members of every such result
 */
export async function readState<State>(
  path: string,
  members: readonly (keyof State)[],
): Promise<State | undefined> {
  const text = await readFile(path, 'utf8').catch(ifAbsent(undefined));
  if (text === undefined) return undefined;
  const state = parsed(text) as State | null | undefined;
  if (typeof state === 'object' && state !== null && members.every((member) => member in state)) return state;
  throw new Fault(`${path} is damaged; remove it and run the command of the build again.`);
}

/** Undefined for a text that is no JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Replaces a stage's stored result atomically and durably. Errors  errors of the file system */
export async function writeState(path: string, state: unknown): Promise<void> {
  await replaceFile(path, JSON.stringify(state));
}

/**
 * Writes the manifest and renames the finished files into place, which makes the release exist in one step. The mark of
 * a release that must not become the default is written before, so that it is never served as the default meanwhile.
 * Errors  Fault where a file of the manifest is missing or cut off; errors of the file system
 */
export async function putInPlace(
  folder: BuildFolder,
  { indexesFolder, slug, isDefault = true }: Pick<BuildOptions, 'indexesFolder' | 'slug' | 'isDefault'>,
  manifest: ReleaseManifest,
): Promise<FoundRelease> {
  for (const { path, size_bytes: sizeBytes } of listedFiles(manifest)) {
    const file = join(folder.release, path);
    const status = await stat(file).catch(ifAbsent(undefined));
    if (status?.size === sizeBytes) continue;
    throw new Fault(`${file} is damaged; remove ${folder.path} and run the command of the build again.`);
  }
  await replaceFile(join(folder.release, MANIFEST_FILE), manifestText(manifest));
  const id = releaseId(manifest);
  const directory = releaseDirectory(indexesFolder, slug, id);
  const mark = besideDefaultMark(indexesFolder, slug, id);
  await (isDefault ? rm(mark, { force: true }) : replaceFile(mark, ''));
  const calibration = calibrationDirectory(directory);
  // This build did not make a calibration that lies there without its release. A fresh build may get another one.
  if (!(await exists(directory))) await rm(calibration, { recursive: true, force: true });
  // A complete release of this name would have been reused earlier, so a folder here is damaged.
  await rm(directory, { recursive: true, force: true });
  await rename(folder.release, directory);
  await syncFolder(join(indexesFolder, slug));
  await clearBuildFolder(folder);
  return { slug, id, directory, manifest };
}
