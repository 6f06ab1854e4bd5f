import { createHash, timingSafeEqual } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { assert, Refusal } from '../errors.js';
import { USUAL_SCOPE, type KeyScope } from '../contract/grammar/key-scopes.js';
import { OPEN_ORGANIZATION } from '../limits.js';
import type { ApiKeyRow, ApiKeyTable } from '../store/tables/api-keys.js';
import { realWorld, type World } from '../world.js';
import type { Principal } from './context.js';

const LETTERS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const KEY_PATTERN = /^glm_([0-9A-Za-z]{8})_([0-9A-Za-z]{32})([0-9A-Za-z]{6})$/;
const ORGANIZATION_PATTERN = /^[a-z0-9][a-z0-9_-]{0,62}$/;
/** Bound on retries. Two of 62⁸ random short parts are practically never equal, so a second try is enough. */
const CREATE_MAX_TRIES = 4;

/** Settings of a new key. */
export interface NewKey {
  readonly isDemo?: boolean;
  /** Default: all rights of the contract. */
  readonly scope?: KeyScope;
  /** ISO 8601 in UTC; default: never. */
  readonly expiresAt?: string;
}

const USE_NOTED_EVERY_MS = 60 * 60 * 1000;

/** Errors  Refusal `invalid_organization` for a malformed or reserved name */
export function checkOrganization(name: string): void {
  if (!ORGANIZATION_PATTERN.test(name)) {
    throw new Refusal(
      'invalid_organization',
      `An organization is named by 1 to 63 lower-case letters, digits, "-" or "_", not "${name}".`,
    );
  }
  // Visitors of the console without a key share this organization. Its bounds and its replay rule are theirs.
  if (name === OPEN_ORGANIZATION) {
    throw new Refusal(
      'invalid_organization',
      `The organization "${OPEN_ORGANIZATION}" is reserved for console visitors without a key; name another.`,
    );
  }
}

/** The API keys of the appliance. Only their digests are stored. */
export class Keys {
  readonly #table: ApiKeyTable;
  readonly #now: () => Date;
  readonly #world: World;
  /** By short part: time of the last use that this process recorded. */
  readonly #noted = new Map<string, string>();

  constructor(table: ApiKeyTable, now: () => Date, world = realWorld) {
    this.#table = table;
    this.#now = now;
    this.#world = world;
  }

  /**
   * Errors  Refusal `invalid_api_key` for a malformed, unknown or revoked key, without a distinction; for an expired
   *         key, with a message that says so, because the client has the key
   */
  authenticate(key: string): Principal {
    const row = isWellFormed(key) ? this.#table.findByShort(key.slice(4, 12)) : undefined;
    // Compares against a constant if there is no row, so that the response time reveals nothing.
    const expected = Buffer.from(row?.sha256 ?? '0'.repeat(64), 'hex');
    const isSame = timingSafeEqual(digestOf(key), expected);
    if (row === undefined || !isSame || row.revokedAt !== undefined) {
      throw new Refusal(
        'invalid_api_key',
        'The API key is malformed, unknown or revoked. Send a key that "gloaming keys create" made.',
      );
    }
    const now = this.#now().toISOString();
    if (isExpired(row, now)) {
      throw new Refusal(
        'invalid_api_key',
        `The API key glm_${row.short}_… has expired on ${row.expiresAt}; "gloaming keys create" creates another.`,
      );
    }
    this.#noteUse(row, now);
    return { keyId: row.id, organizationId: row.organizationId, scope: row.scope };
  }

  /** Records a use, at most hourly and in the background: a disk that accepts no write must not prevent searches. */
  #noteUse({ short, lastUsedAt = '' }: ApiKeyRow, now: string): void {
    const noted = this.#noted.get(short) ?? lastUsedAt;
    if (noted !== '' && Date.parse(now) - Date.parse(noted) < USE_NOTED_EVERY_MS) return;
    this.#noted.set(short, now);
    this.#table.noteUse(short, now).catch(() => undefined);
  }

  /**
   * Creates a key. The key itself is returned here only.
   * Errors  those of checkOrganization and of the disk
   */
  async create(
    name: string,
    organizationId: string,
    { isDemo = false, scope = USUAL_SCOPE, expiresAt }: NewKey = {},
  ): Promise<{ readonly key: string; readonly row: ApiKeyRow }> {
    checkOrganization(organizationId);
    for (let attempt = 0; attempt < CREATE_MAX_TRIES; attempt += 1) {
      const key = mintKey(this.#world);
      const row: ApiKeyRow = {
        id: this.#world.newId('key'),
        short: key.slice(4, 12),
        sha256: digestOf(key).toString('hex'),
        organizationId,
        name,
        scope,
        createdAt: this.#now().toISOString(),
        ...(expiresAt !== undefined && { expiresAt }),
        isDemo,
      };
      if (await this.#table.add(row)) return { key, row };
    }
    throw new Error('No free short part was found for a new API key.');
  }

  list(): readonly ApiKeyRow[] {
    return this.#table.list();
  }

  /** A valid key; undefined if it was revoked, has expired or never existed. */
  live(id: string): ApiKeyRow | undefined {
    const now = this.#now().toISOString();
    return this.#table
      .list()
      .find((row) => row.id === id && row.revokedAt === undefined && !isExpired(row, now));
  }

  /** Revokes by key id or by the short part. Errors  Refusal `api_key_not_found` */
  async revoke(idOrShort: string): Promise<ApiKeyRow> {
    const isMeant = ({ id, short }: ApiKeyRow): boolean => id === idOrShort || short === idOrShort;
    const revoked = await this.#table.revoke(isMeant, this.#now().toISOString());
    if (revoked.length > 0) return revoked[0];
    throw new Refusal(
      'api_key_not_found',
      `No live API key has the id or short part "${idOrShort}"; "gloaming keys list" shows them.`,
    );
  }

  /** Whether the demo key of `gloaming start` exists and is not revoked. */
  hasDemoKey(): boolean {
    return this.#table.list().some(({ isDemo, revokedAt }) => isDemo && revokedAt === undefined);
  }
}

function isExpired({ expiresAt }: ApiKeyRow, now: string): boolean {
  return expiresAt !== undefined && expiresAt <= now;
}

function mintKey(world: World): string {
  const body = `glm_${randomLetters(8, world)}_${randomLetters(32, world)}`;
  return body + checksum(body);
}

/** The checksum detects a mistyped key without a look-up. */
function isWellFormed(key: string): boolean {
  return KEY_PATTERN.test(key) && checksum(key.slice(0, -6)) === key.slice(-6);
}

/** CRC-32 of the key's body in base 62, six characters, as in GitHub's token format. */
function checksum(body: string): string {
  let value = crc32(body);
  let text = '';
  for (let place = 0; place < 6; place += 1) {
    text = LETTERS[value % 62] + text;
    value = Math.floor(value / 62);
  }
  assert(value === 0, 'a CRC-32 fits in six base-62 digits');
  return text;
}

function randomLetters(count: number, world: World): string {
  let text = '';
  while (text.length < count) {
    for (const byte of world.randomBytes(count)) {
      // 248 = 4 × 62. Larger bytes would make the first letters more likely.
      if (byte < 248 && text.length < count) text += LETTERS[byte % 62];
    }
  }
  return text;
}

function digestOf(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}
