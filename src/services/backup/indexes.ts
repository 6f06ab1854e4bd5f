import { realpath } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { calibrationDirectory } from '../../significance/card.js';
import { neighboursDirectory } from '../../neighbours/card.js';
import { verifyNeighbours } from '../../neighbours/sidecar.js';
import { verifyEvidence } from '../../recall/evidence.js';
import { Refusal } from '../../errors.js';
import { releaseDirectory, scanReleases } from '../../release/catalog.js';
import { listNames } from '../../release/list-names.js';
import { MANIFEST_FILE } from '../../release/format.js';
import { listedFiles } from '../../release/manifest.js';
import { keptEncoderProblems } from '../../encoder/encoder-store.js';
import { encodersFolder, type EncoderFolders } from '../../encoder/find.js';
import { checkedRows } from '../../store/check/rows.js';
import type { Snapshot } from '../../store/snapshot.js';
import type { ReleaseRow } from '../../store/tables/releases.js';
import type { NamedBytes } from './bytes.js';
import { encoderProblems, namedEvidence } from './fsck-indexes.js';

/** A file to be backed up, with its digest if it is already known. */
export interface SourceFile {
  /** Path in the backup. */
  readonly path: string;
  readonly source: string;
  readonly bytes?: NamedBytes;
}

/** Files of the indexes folder, and paths of what is damaged. */
interface IndexFiles {
  readonly files: readonly SourceFile[];
  /** Damaged calibrations, neighbours and kept encoders, and encoders of releases that are missing or damaged. */
  readonly damaged: readonly string[];
}

/**
 * Lists the releases with their calibrations and neighbours, and the encoders of the indexes folder, without unfinished
 * builds.
 * Errors  Refusal `backup_source_damaged` for a release that cannot be read
 */
export async function listIndexFiles(folders: EncoderFolders): Promise<IndexFiles> {
  const { indexesFolder } = folders;
  const { releases, damaged: unreadable } = await scanReleases(indexesFolder);
  if (unreadable.length > 0) {
    const [{ directory, problem }] = unreadable;
    throw new Refusal('backup_source_damaged', `The release ${directory} cannot be backed up: ${problem}`);
  }
  const files: SourceFile[] = [];
  const damaged: string[] = [];
  const pathOf = (source: string): string => join('indexes', relative(indexesFolder, source));
  const add = (folder: string, name: string, bytes?: NamedBytes): void => {
    const source = join(folder, name);
    files.push({ path: pathOf(source), source, ...(bytes && { bytes }) });
  };
  for (const { id, directory, manifest } of releases) {
    add(directory, MANIFEST_FILE);
    for (const { path, sha256, size_bytes: sizeBytes } of listedFiles(manifest)) {
      add(directory, path, { sha256, sizeBytes });
    }
    const [calibration, neighbours] = [calibrationDirectory(directory), neighboursDirectory(directory)];
    for (const folder of [calibration, neighbours]) {
      for (const name of await filesBelow(folder)) add(folder, name);
    }
    if ((await verifyEvidence(directory)).length > 0) damaged.push(pathOf(calibration));
    if ((await verifyNeighbours(directory, id)).length > 0) damaged.push(pathOf(neighbours));
  }
  const encoders = encodersFolder(indexesFolder);
  for (const name of await filesBelow(encoders)) add(encoders, name);
  for (const { id } of await encoderProblems(releases, folders)) damaged.push(pathOf(join(encoders, id)));
  for (const { directory } of await keptEncoderProblems(folders)) damaged.push(pathOf(directory));
  return { files, damaged };
}

/**
 * Returns the paths of manifests, calibrations and policies that the catalog names and the list does not have. An
 * indexes folder that was moved away, or a disk that is not mounted, looks like one without releases.
 */
export function unlistedIndexFiles(snapshot: Snapshot, files: readonly SourceFile[]): readonly string[] {
  const listed = new Set(files.map(({ path }) => path));
  const rows = checkedRows(snapshot).of<ReleaseRow>('releases');
  return [...rows].flatMap(([, row]) => namedFiles(row)).filter((path) => !listed.has(path));
}

function namedFiles(row: ReleaseRow): readonly string[] {
  const directory = releaseDirectory('indexes', row.slug, row.id);
  return [join(directory, MANIFEST_FILE), ...namedEvidence(directory, row)];
}

/**
 * Relative paths of plain files, without the folders of running commands; none if the folder does not exist. Symbolic
 * links are followed, except to a folder that the link is in.
 * Errors  those of the file system: an unreadable folder is not an empty one, whose earlier copy would be deleted
 */
async function filesBelow(folder: string, above: readonly string[] = []): Promise<readonly string[]> {
  const { folders, files } = await listNames(folder);
  const found = [...files];
  for (const name of folders) {
    if (/^\.(adding|copy)-/.test(name)) continue;
    const path = join(folder, name);
    const real = await realpath(path);
    if (above.includes(real)) continue;
    const below = await filesBelow(path, [...above, real]);
    found.push(...below.map((file) => join(name, file)));
  }
  return found.sort();
}
