import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Refusal } from '../errors.js';
import { CARD_FILE, checkEncoderFiles, readEncoderCard, verifyEncoderFiles } from './card.js';
import { ENCODER_ID_PATTERN } from './card-schema.js';
import type { EncoderCard } from './encoder.js';

/** Where encoders are looked up: the user's folder first, then the package's own. */
export interface EncoderFolders {
  readonly indexesFolder: string;
  readonly packageFolder: string;
}

export interface ListedEncoder {
  readonly id: string;
  readonly directory: string;
  /** True where it ships with the package. */
  readonly isShipped: boolean;
  /** Absent where the card is not valid. */
  readonly card?: EncoderCard;
  /** Why the encoder cannot be used. Absent where nothing was found. */
  readonly problem?: string;
}

/**
 * Folder of the encoder with this id.
 * Errors  Refusal `unknown_encoder` listing those there are
 */
export async function findEncoder(id: string, folders: EncoderFolders): Promise<string> {
  for (const directory of listEncoderFolders(id, folders)) {
    if (await isFile(join(directory, CARD_FILE))) return directory;
  }
  const encoderIds = (await listEncoders(folders)).map((encoder) => encoder.id);
  const list = encoderIds.length === 0 ? 'none is installed' : `installed: ${encoderIds.join(', ')}`;
  throw new Refusal('unknown_encoder', `There is no encoder ${JSON.stringify(id)}; ${list}.`, {
    known: encoderIds,
  });
}

/** Folders in which an encoder of this id may lie, in the order in which they are looked through. */
export function listEncoderFolders(id: string, folders: EncoderFolders): readonly string[] {
  return isEncoderId(id) ? searchPath(folders).map(({ folder }) => join(folder, id)) : [];
}

/**
 * Every encoder that findEncoder would find, by id; one of the user's hides a shipped one of the same id.
 * `problem` names a missing file, but no changed byte.
 */
export async function listEncoders(folders: EncoderFolders): Promise<readonly ListedEncoder[]> {
  const encoders = new Map<string, ListedEncoder>();
  for (const { folder, isShipped } of searchPath(folders)) {
    for (const id of await readdir(folder).catch(() => [])) {
      const directory = join(folder, id);
      const isEncoder = isEncoderId(id) && (await isFile(join(directory, CARD_FILE)));
      if (!isEncoder || encoders.has(id)) continue;
      encoders.set(id, { id, directory, isShipped, ...(await describe(id, directory)) });
    }
  }
  return [...encoders.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
}

/**
 * The encoders of listEncoders. `problem` names changed files, too.
 * Errors  none for damage
 * Cost    one read of each encoder
 */
export async function listVerifiedEncoders(folders: EncoderFolders): Promise<readonly ListedEncoder[]> {
  const encoders: ListedEncoder[] = [];
  for (const encoder of await listEncoders(folders)) {
    const { card, directory, problem } = encoder;
    const isChecked = card === undefined || problem !== undefined;
    const damage = isChecked ? {} : await problemOf(verifyEncoderFiles(directory, card));
    encoders.push({ ...encoder, ...damage });
  }
  return encoders;
}

function searchPath({
  indexesFolder,
  packageFolder,
}: EncoderFolders): { folder: string; isShipped: boolean }[] {
  const own = encodersFolder(indexesFolder);
  const shipped = encodersFolder(join(packageFolder, 'indexes'));
  return [
    ...(own === shipped ? [] : [{ folder: own, isShipped: false }]),
    { folder: shipped, isShipped: true },
  ];
}

/** Where the encoders of an indexes folder lie, each in a folder named by its id. */
export function encodersFolder(indexesFolder: string): string {
  return join(indexesFolder, 'encoders');
}

async function describe(id: string, directory: string): Promise<Pick<ListedEncoder, 'card' | 'problem'>> {
  try {
    const card = await readEncoderCard(directory);
    if (card.id !== id) return { problem: `The card of ${directory} is that of ${card.id}.` };
    return { card, ...(await problemOf(checkEncoderFiles(directory, card))) };
  } catch (error) {
    if (error instanceof Refusal) return { problem: error.message };
    throw error;
  }
}

async function problemOf(check: Promise<void>): Promise<Pick<ListedEncoder, 'problem'>> {
  try {
    await check;
    return {};
  } catch (error) {
    return { problem: (error as Error).message };
  }
}

function isEncoderId(name: string): boolean {
  return new RegExp(ENCODER_ID_PATTERN).test(name);
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (status) => status.isFile(),
    () => false,
  );
}
