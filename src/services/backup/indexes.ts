import { readdir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { calibrationDirectory } from '../../significance/card.js';
import { neighboursDirectory } from '../../neighbours/card.js';
import { ifAbsent, Refusal } from '../../errors.js';
import { releaseDirectory, scanReleases } from '../../release/catalog.js';
import { MANIFEST_FILE } from '../../release/format.js';
import { listedFiles } from '../../release/manifest.js';
import { encodersFolder } from '../../encoder/find.js';
import { checkedRows } from '../../store/check/rows.js';
import type { Snapshot } from '../../store/snapshot.js';
import type { NamedBytes } from './bytes.js';

/** A file to be backed up, with its digest if it is already known. */
export interface SourceFile {
  /** Path in the backup. */
  readonly path: string;
  readonly source: string;
  readonly bytes?: NamedBytes;
}

/**
 * Releases with their calibrations and neighbours, and the encoders of the indexes folder, without unfinished builds.
 * Errors  Refusal `backup_source_damaged` for a release that cannot be read
 */
export async function listIndexFiles(indexesFolder: string): Promise<readonly SourceFile[]> {
  const { releases, damaged } = await scanReleases(indexesFolder);
  if (damaged.length > 0) {
    const [{ directory, problem }] = damaged;
    throw new Refusal('backup_source_damaged', `The release ${directory} cannot be backed up: ${problem}`);
  }
  const files: SourceFile[] = [];
  const add = (folder: string, name: string, bytes?: NamedBytes): void => {
    const source = join(folder, name);
    const path = join('indexes', relative(indexesFolder, source));
    files.push({ path, source, ...(bytes && { bytes }) });
  };
  for (const { directory, manifest } of releases) {
    add(directory, MANIFEST_FILE);
    for (const { path, sha256, size_bytes: sizeBytes } of listedFiles(manifest)) {
      add(directory, path, { sha256, sizeBytes });
    }
    for (const folder of [calibrationDirectory(directory), neighboursDirectory(directory)]) {
      for (const name of await filesBelow(folder)) add(folder, name);
    }
  }
  const encoders = encodersFolder(indexesFolder);
  for (const name of await filesBelow(encoders)) add(encoders, name);
  return files;
}

/**
 * Returns the paths of manifests that the catalog names and the list does not have. An indexes folder that was moved
 * away, or a disk that is not mounted, looks like one without releases.
 */
export function unlistedReleases(snapshot: Snapshot, files: readonly SourceFile[]): readonly string[] {
  const listed = new Set(files.map(({ path }) => path));
  const rows = checkedRows(snapshot).of<{ id: string; slug: string }>('releases');
  return [...rows]
    .map(([, { id, slug }]) => join(releaseDirectory('indexes', slug, id), MANIFEST_FILE))
    .filter((path) => !listed.has(path));
}

/**
 * Relative paths of plain files, without the folders of running commands; none if the folder does not exist.
 * Errors  those of the file system: an unreadable folder is not an empty one, whose earlier copy would be deleted
 */
async function filesBelow(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(ifAbsent([]));
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .filter((path) => !/(^|\/)\.(adding|copy)-/.test(path))
    .sort();
}
