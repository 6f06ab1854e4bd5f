import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { canonicalSha256 } from '../../canonical.js';
import { Fault, Refusal } from '../../errors.js';
import { replaceFile } from '../../files.js';

const BACKUP_FILE = 'backup.json';
const FORMAT = 'gloaming-backup/1';

export interface BackupFile {
  /** `data/…` or `indexes/…`; plain names between slashes. */
  readonly path: string;
  readonly size_bytes: number;
  readonly sha256: string;
}

/** Content of a backup, with the names on disk. */
interface BackupManifest {
  readonly format: typeof FORMAT;
  readonly created_at: string;
  readonly files: readonly BackupFile[];
}

/** Errors  Fault for a path that `readManifest` would refuse, so that the earlier backup stays */
export async function writeManifest(
  folder: string,
  content: Pick<BackupManifest, 'created_at' | 'files'>,
): Promise<void> {
  const wrong = content.files.find(({ path }) => !isPath(path));
  if (wrong !== undefined) throw new Fault(`A backup cannot hold ${JSON.stringify(wrong.path)}.`);
  const manifest: BackupManifest = { format: FORMAT, ...content };
  const text = JSON.stringify({ ...manifest, sha256: canonicalSha256(manifest) }, undefined, 1);
  await replaceFile(join(folder, BACKUP_FILE), `${text}\n`);
}

/**
 * Reads the manifest of a finished backup.
 * Errors  Refusal `backup_not_found`; `backup_damaged` if it was changed or has a path outside of the folders
 */
export async function readManifest(folder: string): Promise<BackupManifest> {
  const path = join(folder, BACKUP_FILE);
  const text = await readFile(path, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    throw new Refusal('backup_not_found', `${folder} holds no finished backup (${String(cause.code)}).`);
  });
  try {
    const { sha256, ...manifest } = JSON.parse(text) as BackupManifest & { sha256: string };
    const isWhole = canonicalSha256(manifest) === sha256 && manifest.format === FORMAT;
    if (isWhole && manifest.files.every((file) => isPath(file.path))) return manifest;
  } catch {
    // Refused below, like every other change.
  }
  throw new Refusal('backup_damaged', `${path} was changed or is of another version.`);
}

const PATH = /^(data|indexes)(\/[^/\0]+)+$/;

function isPath(path: string): boolean {
  return PATH.test(path) && path.split('/').every((part) => part !== '.' && part !== '..');
}
