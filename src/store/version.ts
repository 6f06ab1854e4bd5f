import { join } from 'node:path';
import type { Database } from 'lmdb';
import { Fault, Refusal } from '../errors.js';
import { MIGRATIONS, type ControlRoot, type Migration } from './migrations.js';
import { CONTROL_FILE, CONTROL_FOLDER } from './prepare.js';
import { keepCopy } from './copy.js';

/*
 * The version of the control state: its tables, the format of their keys and the meaning of their rows. The version
 * grows when a program that knows only the previous one would misread or damage the data. A table or a member that such
 * a program can ignore needs no new version. Data from before versions existed are version 1.
 *
 * Releases and calibrations have versions of their own. They are named by the hash of their content and travel between
 * machines, so that they cannot be rewritten. Each has its own format, in manifest.json (release/format.ts) and in
 * card.json (significance/card.ts). A release of another format is refused and has to be built again. A calibration of
 * a superseded format counts as absent until it is measured again. A calibration of an unknown format is refused.
 */

const FIRST_VERSION = 1;
export const SETTINGS_TABLE = 'settings';
export const VERSION_KEY = 'data-version';

export function latestVersion(migrations: readonly Migration[] = MIGRATIONS): number {
  return FIRST_VERSION + migrations.length;
}

/**
 * Migrates the control state to the latest version in one transaction, after a copy was stored (copy.ts). A control
 * state without tables starts at the latest version.
 * Errors  Refusal `data_folder_newer` if a later program has written it; Fault if a migration fails, and then nothing
 *         has changed
 */
export function migrate(
  root: ControlRoot,
  dataFolder: string,
  migrations: readonly Migration[] = MIGRATIONS,
): void {
  const latest = latestVersion(migrations);
  const isFresh = [...root.getKeys({ limit: 1 })].length === 0;
  const settings = settingsOf(root);
  if (settings.get(VERSION_KEY) === String(latest)) return;
  root.transactionSync(() => {
    // Read again, because another process may have migrated meanwhile.
    const start = isFresh ? latest : versionOf(settings.get(VERSION_KEY));
    requireReadable(start, dataFolder, latest);
    if (start < latest) keepCopy(join(dataFolder, CONTROL_FOLDER, CONTROL_FILE), dataFolder, start);
    for (let version = start; version < latest; version += 1) {
      step(root, dataFolder, version, migrations[version - FIRST_VERSION]);
    }
    settings.putSync(VERSION_KEY, String(latest));
  });
}

function step(root: ControlRoot, dataFolder: string, version: number, migration: Migration): void {
  try {
    migration(root, dataFolder);
  } catch (cause) {
    throw new Fault(
      `The control state could not be brought from version ${version} to ${version + 1} (${migration.name}); ` +
        'nothing has changed.',
      { cause },
    );
  }
}

export function settingsOf(root: ControlRoot): Database<string, string> {
  return root.openDB<string, string>({ name: SETTINGS_TABLE, encoding: 'json' });
}

/** @param text value at VERSION_KEY. Errors  Fault if it is no version */
export function versionOf(text: string | undefined): number {
  const version = text === undefined ? FIRST_VERSION : Number(text);
  if (Number.isSafeInteger(version) && version >= FIRST_VERSION) return version;
  throw new Fault(`The control state has ${JSON.stringify(text)} for a version.`);
}

/** Errors  Refusal `data_folder_newer` */
export function requireReadable(version: number, dataFolder: string, latest = latestVersion()): void {
  if (version <= latest) return;
  throw new Refusal(
    'data_folder_newer',
    `${dataFolder} was written by a newer Gloaming: its control state has version ${version}, and this program knows ` +
      `${latest} at most; install that newer one, or restore a backup of before into an empty data folder.`,
  );
}

/**
 * Checks that the version is still the one that this program writes. A newer program may have migrated the data
 * meanwhile, and then this one must not write.
 * Errors  Fault
 */
export function requireLatest(settings: Database<string, string>): void {
  const version = versionOf(settings.get(VERSION_KEY));
  if (version === latestVersion()) return;
  throw new Fault(
    `The control state has version ${version} now, and this process writes ${latestVersion()}: it is to be ` +
      'started again, with the program that migrated the data.',
  );
}
