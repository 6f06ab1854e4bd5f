import { copyFile, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { canonicalSha256 } from '../canonical.js';
import { Fault } from '../errors.js';
import { putFolder } from '../files.js';
import { encoderFiles, readEncoderCard, verifyEncoderFiles } from './card.js';
import { encodersFolder, listEncoderFolders, type EncoderFolders } from './find.js';

/** No encoder id begins with a dot, so this folder is never taken for an encoder. */
const KEPT_FOLDER = '.kept';

/**
 * Keeps a copy of the encoder that a release was just built with, under its digest: when an update of the package
 * brings another version of it, the release stays searchable.
 * An encoder that lies in the indexes folder is the lab's own and stays where it is.
 */
export async function storeEncoder(directory: string, { indexesFolder }: EncoderFolders): Promise<void> {
  const own = encodersFolder(indexesFolder);
  if (directory.startsWith(join(own, '/'))) return;
  const card = await readEncoderCard(directory);
  const storedFolder = join(own, KEPT_FOLDER, canonicalSha256(card));
  if ((await readEncoderCard(storedFolder).catch(() => undefined)) !== undefined) return;
  await mkdir(join(own, KEPT_FOLDER), { recursive: true });
  const scratch = await mkdtemp(join(own, KEPT_FOLDER, '.copy-'));
  try {
    for (const file of encoderFiles(card)) await copyFile(join(directory, file), join(scratch, file));
    await putFolder(scratch, storedFolder);
  } catch (cause) {
    await rm(scratch, { recursive: true, force: true });
    // Another build may have kept the very same files a moment ago.
    if ((await readEncoderCard(storedFolder).catch(() => undefined)) === undefined) throw cause;
  }
}

/** A kept copy of an encoder that is not whole. */
export interface KeptEncoderProblem {
  readonly directory: string;
  readonly problem: string;
}

/**
 * Checks every kept copy of an encoder, also one whose version is still installed: after an update of the package it
 * is the only one.
 * Errors  none for damage
 * Cost    one read of each copy
 */
export async function keptEncoderProblems({
  indexesFolder,
}: EncoderFolders): Promise<readonly KeptEncoderProblem[]> {
  const keptFolder = join(encodersFolder(indexesFolder), KEPT_FOLDER);
  const problems: KeptEncoderProblem[] = [];
  for (const digest of (await readdir(keptFolder).catch(() => [])).sort()) {
    // Copies that a build has not finished begin with a dot.
    if (digest.startsWith('.')) continue;
    const directory = join(keptFolder, digest);
    try {
      const card = await readEncoderCard(directory);
      await verifyEncoderFiles(directory, card);
      if (canonicalSha256(card) !== digest)
        problems.push({ directory, problem: `The card has the digest ${canonicalSha256(card)}.` });
    } catch (cause) {
      problems.push({ directory, problem: (cause as Error).message });
    }
  }
  return problems;
}

/**
 * Folder of the encoder in the very version that a release names: the installed one, or the copy that was kept.
 * Errors  Fault where that version is no longer there
 */
export async function findEncoderVersion(
  id: string,
  digest: string,
  folders: EncoderFolders,
): Promise<string> {
  const places = [
    ...listEncoderFolders(id, folders),
    join(encodersFolder(folders.indexesFolder), KEPT_FOLDER, digest),
  ];
  for (const place of places) {
    const card = await readEncoderCard(place).catch(() => undefined);
    if (card !== undefined && canonicalSha256(card) === digest) return place;
  }
  throw new Fault(
    `The release was built with a version of encoder ${id} (digest ${digest}) that is not installed. ` +
      'Install that version again, or build the database anew.',
  );
}
