import type { Database, RootDatabase } from 'lmdb';
import { keyWithin } from './secret-key.js';
import { keyFrom, seal, sealText } from './sealing.js';

export type ControlRoot = RootDatabase<unknown, string>;

/**
 * Migrates the tables from one version to the next, within a transaction. A failure is reported with its function name.
 */
export type Migration = (root: ControlRoot, dataFolder: string) => void;

/** The first entry migrates from version 1 to version 2, and so on. Entries are only appended, and never change. */
export const MIGRATIONS: readonly Migration[] = [
  dueDeliveriesByEndpoint,
  sealSecrets,
  askForCompaction,
  scopeKeys,
];

/** One sentence for operators on the change of each migration. */
export const MIGRATION_MEANINGS: readonly string[] = [
  'deliveries of webhooks wait in a queue of their endpoint',
  'secrets are sealed under secret.key',
  'the file is rewritten without pages that held secrets in clear',
  'API keys have a scope and may expire; existing keys keep all rights',
];

/** From this version on, the keys of `webhook-deliveries-due` begin with the organization and the endpoint. */
export const DUE_BY_ENDPOINT_VERSION = 2;

/** Key in the settings. It is set while free pages may hold secrets in clear. */
export const COMPACTION_DUE_KEY = 'compaction-due';

type Rows<Row> = Database<Row, string>;

/** To version 2: one queue of all due deliveries, `<time> <id>`, becomes one queue for each endpoint. */
function dueDeliveriesByEndpoint(root: ControlRoot): void {
  const due: Rows<string> = root.openDB({ name: 'webhook-deliveries-due', encoding: 'json' });
  type Delivery = Readonly<Record<'organizationId' | 'endpointId', string>>;
  const deliveries: Rows<Delivery> = root.openDB({ name: 'webhook-deliveries', encoding: 'json' });
  for (const { key, value: id } of [...due.getRange()]) {
    due.removeSync(key);
    const row = deliveries.get(id);
    if (row !== undefined) due.putSync(`${row.organizationId} ${row.endpointId} ${key}`, id);
  }
}

/**
 * To version 3: seals secrets, and drops the table that found runs by their idempotency keys. Responses that were
 * stored in clear are sealed under the appliance's key alone, because their Idempotency-Keys are unknown. The free
 * pages still hold the old secrets. The next version requests a file without them.
 */
function sealSecrets(root: ControlRoot, dataFolder: string): void {
  const key = keyWithin(root, dataFolder);
  const secrets: Rows<string> = root.openDB({ name: 'secrets', encoding: 'json' });
  const sealing = secrets.get('sealing');
  if (sealing !== undefined) secrets.putSync('sealing', sealText(key, sealing, 'sealing'));
  sealWebhooks(root, key);
  sealResponses(root, key);
  root.openDB({ name: 'runs-by-idempotency-key' }).dropSync();
}

/**
 * To version 4: requests a compaction, which removes free pages with secrets in clear, also for data sealed earlier.
 */
function askForCompaction(root: ControlRoot): void {
  const settings: Rows<string> = root.openDB({ name: 'settings', encoding: 'json' });
  settings.putSync(COMPACTION_DUE_KEY, 'secrets were in clear');
}

/**
 * To version 5: keys have a scope and may expire. Existing keys keep their rights. The version grows because an older
 * program would give every key full rights.
 */
function scopeKeys(root: ControlRoot): void {
  const keys: Rows<object> = root.openDB({ name: 'api-keys', encoding: 'json' });
  for (const { key: short, value } of [...keys.getRange()])
    keys.putSync(short, { scope: 'manage', ...value });
}

function sealWebhooks(root: ControlRoot, key: Buffer): void {
  type Endpoint = { readonly secrets: readonly { readonly secret: string; readonly expiresAt?: string }[] };
  const endpoints: Rows<object> = root.openDB({ name: 'webhook-endpoints', encoding: 'json' });
  for (const { key: id, value } of [...endpoints.getRange()]) {
    const secrets = (value as Endpoint).secrets.map(({ secret, ...rest }) => ({
      ...rest,
      sealed: sealText(key, secret, id),
    }));
    endpoints.putSync(id, { ...value, secrets });
  }
}

function sealResponses(root: ControlRoot, key: Buffer): void {
  type Kept = { readonly fingerprint: string; readonly response: { readonly body: string } };
  type Sealed = Pick<Kept, 'fingerprint'> & { readonly wasInClear: true };
  const rows: Rows<Kept | Sealed> = root.openDB({ name: 'idempotency', encoding: 'json' });
  const responses: Rows<Buffer> = root.openDB({ name: 'idempotency-responses', encoding: 'binary' });
  for (const scope of [...rows.getKeys()]) {
    const { response, ...row } = rows.get(scope) as Kept;
    const { body, ...head } = response;
    const content = Buffer.from(`${JSON.stringify(head)}\n${body}`);
    const purpose = 'gloaming idempotent response';
    responses.putSync(scope, seal(keyFrom(key, scope, purpose), content, row.fingerprint));
    rows.putSync(scope, { ...row, wasInClear: true });
  }
}
