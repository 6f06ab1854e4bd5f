import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Check } from './rows.js';
import { INCOMING_FOLDER, OBJECTS_FOLDER } from '../objects/objects.js';
import type { Snapshot } from '../snapshot.js';

interface ObjectCheck extends Check {
  readonly snapshot: Snapshot;
  readonly dataFolder: string;
  readonly onBytes?: (bytes: number) => void;
}

const READ_BYTES = 1 << 20;
/** A running server counts the reference to new bytes well within this time after it has renamed the file. */
const SETTLE_MS = 2_000;

/**
 * Checks that the file of every object exists, is complete and has the hash in its name, and that there is no other
 * file.
 * Cost    one read of all of them
 */
export async function checkObjectFiles(check: ObjectCheck): Promise<void> {
  const { rows, report, dataFolder } = check;
  const folder = join(dataFolder, OBJECTS_FOLDER);
  for (const [sha256, { sizeBytes }] of rows.of<{ sizeBytes: number }>('objects')) {
    await checkObject(check, join(folder, sha256.slice(0, 2), sha256), sha256, sizeBytes);
  }
  for (const name of await list(join(folder, INCOMING_FOLDER))) {
    report(
      'object_half',
      join(OBJECTS_FOLDER, INCOMING_FOLDER, name),
      'Bytes on their way in, or what is left of them.',
    );
  }
  const strangers: string[] = [];
  for (const shelf of await list(folder)) {
    if (shelf === INCOMING_FOLDER) continue;
    for (const name of await list(join(folder, shelf))) {
      if (name.slice(0, 2) === shelf && rows.has('objects', name)) continue;
      // Garbage whose file is absent is a row that the next collection removes. A restored backup has such rows.
      if (!rows.has('object-garbage', name)) strangers.push(join(shelf, name));
      else report('object_garbage', name, 'No row refers to these bytes any more.');
    }
  }
  await reportStrangers(check, strangers);
}

async function checkObject(
  check: ObjectCheck,
  path: string,
  sha256: string,
  sizeBytes: number,
): Promise<void> {
  const { report, snapshot } = check;
  const content = await hashFile(path, check.onBytes);
  if (content?.sha256 === sha256 && content.sizeBytes === sizeBytes) return;
  // The object was deleted during the check.
  if (!snapshot.isThereNow('objects', sha256)) return;
  if (content === undefined) report('object_missing', sha256, `${path} does not exist.`);
  else if (content.sizeBytes !== sizeBytes) {
    report('object_size_wrong', sha256, `${path} has ${content.sizeBytes} bytes; ${sizeBytes} were stored.`);
  } else report('object_changed', sha256, `${path} has the SHA-256 ${content.sha256} now.`);
}

async function reportStrangers(
  { report, snapshot, dataFolder }: ObjectCheck,
  paths: readonly string[],
): Promise<void> {
  if (paths.length === 0) return;
  await pause(SETTLE_MS);
  for (const path of paths) {
    const [shelf, name] = path.split('/');
    const isCounted = name.slice(0, 2) === shelf && snapshot.isThereNow('objects', name);
    const isThere = (await stat(join(dataFolder, OBJECTS_FOLDER, path)).catch(() => undefined)) !== undefined;
    if (isThere && !isCounted) {
      report('object_unreferenced', join(OBJECTS_FOLDER, path), 'No row knows of this file.');
    }
  }
}

/** undefined if the file cannot be read. */
async function hashFile(
  path: string,
  onBytes: (bytes: number) => void = () => undefined,
): Promise<{ readonly sha256: string; readonly sizeBytes: number } | undefined> {
  const hash = createHash('sha256');
  let sizeBytes = 0;
  try {
    for await (const chunk of createReadStream(path, {
      highWaterMark: READ_BYTES,
    }) as AsyncIterable<Buffer>) {
      hash.update(chunk);
      sizeBytes += chunk.length;
      onBytes(chunk.length);
    }
  } catch {
    return undefined;
  }
  return { sha256: hash.digest('hex'), sizeBytes };
}

async function list(folder: string): Promise<readonly string[]> {
  return (await readdir(folder).catch(() => [])).sort();
}
