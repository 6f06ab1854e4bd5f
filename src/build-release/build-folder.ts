import { mkdir, readFile, rename, rm, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { canonicalSha256 } from '../canonical.js';
import {
  besideDefaultMark,
  BUILDING_PREFIX,
  releaseDirectory,
  type FoundRelease,
} from '../release/catalog.js';
import { MANIFEST_FILE } from '../release/format.js';
import { replaceFile, syncFolder } from '../release/hashed-file.js';
import { manifestText, releaseId } from '../release/manifest.js';
import type { ReleaseManifest } from '../release/release.js';
import type { BuildOptions } from './build-options.js';

/*
 * Where an unfinished build lies: `<indexes>/<slug>/.building-<key>/`. The key names the input, the encoder
 * and the options, so the same command finds its own work again and another command never mixes with it.
 *
 *   lock             who is building
 *   scratch/         what the input needs to be read
 *   proteins.jsonl   the input, normalised and checked
 *   read.json        its counts; written when proteins.jsonl and taxonomy.arrow are complete
 *   encoded.json     how far encoding has come; what stands after that in the files is cut off
 *   self-scores.i32  a little-endian int32 a protein
 *   families.f64     two of float64 a protein: relatives that count, and sequences that its family is worth
 *   release/         the release's own files; renamed into place when all are complete
 *   shards/          where several machines encode: what each of them has done (shards/plan.ts)
 */
export interface BuildFolder {
  readonly path: string;
  readonly scratch: string;
  readonly spool: string;
  readonly read: string;
  readonly encoded: string;
  readonly scores: string;
  readonly homologSets: string;
  readonly release: string;
  readonly shards: string;
}

/** Creates the folder or finds it again. */
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

/** Takes the folder away, and the database's own where nothing else is in it. */
export async function dropBuildFolder(folder: BuildFolder): Promise<void> {
  await rm(folder.path, { recursive: true });
  await rmdir(dirname(folder.path)).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code !== 'ENOTEMPTY') throw cause;
  });
}

/** Takes the folder away once its release is there; a task that still works in it has no work any more. */
export async function clearBuildFolder({ path }: BuildFolder): Promise<void> {
  await rm(path, { recursive: true, maxRetries: 5 });
}

/** A stage's result; undefined where it was not reached. */
export async function readState<State>(path: string): Promise<State | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as State;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw cause;
  }
}

/** Durable, and either the old state or the new, whatever happens. */
export async function writeState(path: string, state: unknown): Promise<void> {
  await replaceFile(path, JSON.stringify(state));
}

/**
 * Gives the finished files their manifest and their name: from one rename on, the release exists. Whoever finds it
 * before its builder has published it knows from the mark, which is there first, whether it is to become the default.
 */
export async function putInPlace(
  folder: BuildFolder,
  { indexesFolder, slug, isDefault = true }: Pick<BuildOptions, 'indexesFolder' | 'slug' | 'isDefault'>,
  manifest: ReleaseManifest,
): Promise<FoundRelease> {
  await replaceFile(join(folder.release, MANIFEST_FILE), manifestText(manifest));
  const id = releaseId(manifest);
  const directory = releaseDirectory(indexesFolder, slug, id);
  const mark = besideDefaultMark(indexesFolder, slug, id);
  await (isDefault ? rm(mark, { force: true }) : replaceFile(mark, ''));
  // One of this name would have been found as already built, had its manifest been readable.
  await rm(directory, { recursive: true, force: true });
  await rename(folder.release, directory);
  await syncFolder(join(indexesFolder, slug));
  await clearBuildFolder(folder);
  return { slug, id, directory, manifest };
}
