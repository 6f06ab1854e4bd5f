import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Database, RootDatabase } from 'lmdb';
import { Refusal } from '../errors.js';
import { keyFrom } from './sealing.js';

/*
 * Key that seals the readable secrets of the control state: webhook secrets, the key of seals, and stored responses. It
 * is in a file beside the control state and in no backup. A backup or the control state alone therefore gives no access
 * and signs nothing. The price, named at every backup and restore: operators must store the file elsewhere, like a TLS
 * key. Rejected: the key in the backup, which would defeat the seal; a key under a passphrase, because servers start
 * unattended.
 *
 * After a loss of the file, the operator creates an empty one. The server then discards all sealed values once. A
 * missing file alone never discards anything, because it may be on an unmounted disk.
 */

export const SECRET_KEY_FILE = 'secret.key';

const KEY_BYTES = 32;
const SECRETS_TABLE = 'secrets';
/** Name of the derived id of a key. The id distinguishes keys and reveals nothing of them. */
const KEY_ID = 'key-id';
/** Tables that hold only sealed values, or counts of them. */
const SEALED_TABLES = ['idempotency', 'idempotency-expiries', 'idempotency-responses', 'idempotency-usage'];

type Root = RootDatabase<unknown, string>;
type Rows<Row> = Database<Row, string>;

/**
 * Returns the key under which this control state is sealed. Creates it with the first state.
 * Errors  Refusal `secret_key_missing` if the file is missing or holds another key; those of the file system
 */
export function openSecretKey(root: Root, dataFolder: string): Buffer {
  const path = join(dataFolder, SECRET_KEY_FILE);
  const keyId = secretsOf(root).get(KEY_ID);
  const key = readKey(path);
  if (key !== undefined && keyId === idOf(key)) return key;
  // A transaction ensures that only one of two processes creates the key.
  return root.transactionSync(() => keyWithin(root, dataFolder));
}

/** Returns the same key for a migration, inside its transaction. */
export function keyWithin(root: Root, dataFolder: string): Buffer {
  const path = join(dataFolder, SECRET_KEY_FILE);
  const secrets = secretsOf(root);
  const keyId = secrets.get(KEY_ID);
  const stored = readKey(path);
  if (keyId !== undefined && keyId === (stored && idOf(stored))) return stored as Buffer;
  if (keyId !== undefined && stored?.length !== 0) throw missing(path, stored !== undefined);
  if (keyId !== undefined) giveUp(root);
  const key = stored === undefined || stored.length === 0 ? makeKey(path) : stored;
  secrets.putSync(KEY_ID, idOf(key));
  return key;
}

function secretsOf(root: Root): Rows<string> {
  return root.openDB<string, string>({ name: SECRETS_TABLE, encoding: 'json' });
}

/** Key of zero bytes if the file is empty; undefined if there is no file. */
function readKey(path: string): Buffer | undefined {
  try {
    const text = readFileSync(path, 'utf8').trim();
    const key = Buffer.from(text, 'base64');
    if (key.length === (text === '' ? 0 : KEY_BYTES)) return key;
    throw missing(path, true);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Writes the key durably before a value is sealed under it. */
function makeKey(path: string): Buffer {
  const key = randomBytes(KEY_BYTES);
  const incoming = `${path}.incoming`;
  const file = openSync(incoming, 'w', 0o600);
  writeSync(file, `${key.toString('base64')}\n`);
  fsyncSync(file);
  closeSync(file);
  renameSync(incoming, path);
  const folder = openSync(join(path, '..'), 'r');
  fsyncSync(folder);
  closeSync(folder);
  return key;
}

/** Discards sealed values. Endpoints remain without secrets, and get no messages until a new secret is set. */
function giveUp(root: Root): void {
  secretsOf(root).clearSync();
  for (const name of SEALED_TABLES) root.openDB({ name }).clearSync();
  const endpoints: Rows<object> = root.openDB({ name: 'webhook-endpoints', encoding: 'json' });
  for (const { key, value } of [...endpoints.getRange()]) endpoints.putSync(key, { ...value, secrets: [] });
}

function idOf(key: Buffer): string {
  return keyFrom(key, '', 'gloaming key id').toString('hex');
}

function missing(path: string, isOther: boolean): Refusal {
  return new Refusal(
    'secret_key_missing',
    `${path} ${isOther ? 'holds another key than that' : 'is missing: the key'} under which this control state is ` +
      'sealed. Put back the file of the appliance (no backup holds it); if it is lost, put an empty file there: ' +
      'signed URLs and stored responses are discarded then, and webhook endpoints need new secrets.',
  );
}
