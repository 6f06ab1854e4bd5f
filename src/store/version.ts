import { join } from 'node:path';
import type { Database } from 'lmdb';
import { Fault, Refusal } from '../errors.js';
import { MIGRATIONS, type ControlRoot, type Migration } from './migrations.js';
import { CONTROL_FILE, CONTROL_FOLDER } from './prepare.js';
import { keepCopy } from './copy.js';

/*
 * The version of the control state: which tables there are, how their keys are made, what their rows mean. It grows
 * when a program that knows only the version before would misread or damage what is written; a table or a member that
 * such a program can do without needs no new version. Data of before there was a version is version 1.
 *
 * Releases and calibrations have no part in it. They are named by the hash of what they hold and travel between
 * machines, so that nothing may rewrite them: each carries its own format, in manifest.json (release/format.ts) and in
 * card.json (significance/card.ts). Of another format, a release is refused and is to be built again; a calibration of
 * a superseded one counts as none until it is measured again, and of an unknown one it is refused.
 */

const FIRST_VERSION = 1;
export const SETTINGS_TABLE = 'settings';
export const VERSION_KEY = 'data-version';

export function latestVersion(migrations: readonly Migration[] = MIGRATIONS): number {
  return FIRST_VERSION + migrations.length;
}

/**
 * Brings the control state to the latest version, all in one transaction, after a copy was put aside (upgrade/copy.ts);
 * one without any table starts there.
 * Errors  Refusal `data_folder_newer` where a later program has written it; Fault where a migration fails, and then
 *         nothing has changed
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
    // Looked at again: another process may have been faster.
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

/** @param text what stands at VERSION_KEY. Errors  Fault where it is no version */
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
 * The version is still the one that this program writes. A program that was started later may have migrated the data
 * meanwhile: then this one must not write any more.
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
