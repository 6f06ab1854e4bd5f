import { Refusal } from '../../errors.js';
import { IDEMPOTENCY_MAX_BYTES, IDEMPOTENCY_MAX_RESPONSES, IDEMPOTENCY_RETENTION_MS } from '../../limits.js';
import type { ControlStore, Table } from '../control-store.js';
import { seal, unseal } from '../sealing.js';
import { isShareFull } from './shares.js';

export interface StoredResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Encoding of the body; absent for text. */
  readonly encoding?: 'base64';
}

/** A request that came with an Idempotency-Key. */
interface KeyedRequest {
  readonly organizationId: string;
  /** The key as the client chose it. It opens the response and is never written. */
  readonly key: string;
  /** SHA-256 of organization, route and key. */
  readonly scope: string;
  /** SHA-256 of the members that two equal requests share. */
  readonly fingerprint: string;
}

/** The right to execute a request under its key, or the stored response of its first execution. */
interface Claim {
  /** Present if an earlier request has a stored response. Then `keep` and `release` are not needed. */
  readonly stored?: StoredResponse;
  /**
   * Stores the response and replaces an earlier one of this claim. Must run inside a transaction, which may also write
   * the resources that the response names.
   */
  put(response: StoredResponse, now: Date): void;
  /**
   * Stores the response in a transaction of its own. `beside` writes in the same transaction.
   * Errors  those of the disk; then no response is stored
   */
  persist(response: StoredResponse, now: Date, beside?: () => void): Promise<void>;
  /** Lets the next request with this key execute, unless a response was stored. */
  release(): void;
}

interface Row {
  readonly fingerprint: string;
  readonly expiresAtMs: number;
  /** Size of the response's body. */
  readonly bytes: number;
  /** Absent if an earlier version stored it. */
  readonly organizationId?: string;
  /** Sealed by the migration to version 3, under the appliance's key alone. Such rows expire within a day. */
  readonly wasInClear?: true;
}

interface Usage {
  readonly responses: number;
  readonly bytes: number;
}

export interface IdempotencyBounds {
  readonly maxResponses: number;
  readonly maxBytes: number;
}

const BOUNDS: IdempotencyBounds = {
  maxResponses: IDEMPOTENCY_MAX_RESPONSES,
  maxBytes: IDEMPOTENCY_MAX_BYTES,
};
const USAGE = 'usage';
const usageKeyOf = (organizationId: string): string => `${USAGE} ${organizationId}`;
const PURPOSE = 'gloaming idempotent response';
const HEAD_END = '\n';
/** Expired rows removed with each claim. A claim adds fewer, so the table cannot grow without bound. */
const SWEEP_MAX_ROWS = 4;

/**
 * Responses of requests with an Idempotency-Key, for 24 hours. Requests in progress are known in memory only. After a
 * crash a retry therefore executes, unless the response was stored before.
 *
 * Responses may contain passwords, secrets and signed URLs. Each is sealed under a key derived from the client's
 * Idempotency-Key, of which only a hash is stored, and from the appliance's key. The control state or a backup reveals
 * none of them. Even with the whole machine, an attacker has to guess the Idempotency-Key.
 */
export class IdempotencyTable {
  readonly #store: ControlStore;
  readonly #bounds: IdempotencyBounds;
  readonly #rows: Table<Row>;
  /** Sealed responses, by scope. */
  readonly #responses: Table<Buffer>;
  /** `<expiry in ms, 15 digits>:<scope>`, so that the first keys expire first. */
  readonly #expiries: Table<string>;
  /** `usage` for all responses, `usage <organization>` for its own ones, without those of earlier versions. */
  readonly #totals: Table<Usage>;
  /** Fingerprints of requests in progress, by scope. */
  readonly #running = new Map<string, string>();

  constructor(store: ControlStore, bounds = BOUNDS) {
    this.#store = store;
    this.#bounds = bounds;
    this.#rows = store.table<Row>('idempotency');
    this.#responses = store.bytes('idempotency-responses');
    this.#expiries = store.table<string>('idempotency-expiries');
    this.#totals = store.table<Usage>('idempotency-usage');
  }

  /**
   * Claims the right to execute a request.
   * Errors  Refusal `idempotency_key_reused` for another request under the key; `idempotency_key_in_use` while an equal
   *         request runs; `idempotency_storage_full` at the bound, or if the organization has its share of it: no
   *         response is evicted before its time
   */
  async claim(request: KeyedRequest, now: Date): Promise<Claim> {
    const { organizationId, scope, fingerprint } = request;
    const runningTwin = this.#running.get(scope);
    const row = this.#rows.get(scope);
    const live = row !== undefined && row.expiresAtMs > now.getTime() ? row : undefined;
    requireSame(live?.fingerprint ?? runningTwin ?? fingerprint, fingerprint);
    if (live !== undefined) return answered(this.#open(request, live));
    if (runningTwin !== undefined) throw inUse();
    // Claimed before the first await, so that of two equal requests one comes first.
    this.#running.set(scope, fingerprint);
    try {
      await this.#sweep(now.getTime());
      this.#requireRoom(organizationId);
    } catch (error) {
      this.#release(scope);
      throw error;
    }
    return {
      put: (response, at) => this.#sealed(request, response)(at),
      persist: (response, at, beside) => this.#persist(request, response, at, beside),
      release: () => this.#release(scope),
    };
  }

  #open({ key, scope, fingerprint }: KeyedRequest, { wasInClear }: Row): StoredResponse {
    const sealed = this.#responses.get(scope) as Buffer;
    const opening = this.#store.keyFor(PURPOSE, scope, wasInClear ? '' : key);
    const content = unseal(opening, sealed, fingerprint);
    const end = content.indexOf(HEAD_END);
    const head = JSON.parse(content.toString('utf8', 0, end)) as Omit<StoredResponse, 'body'>;
    return { ...head, body: content.toString('utf8', end + 1) };
  }

  #release(scope: string): void {
    this.#running.delete(scope);
  }

  #persist(request: KeyedRequest, response: StoredResponse, now: Date, beside = nothing): Promise<void> {
    // Sealed before the transaction: a response may have megabytes, and other writers wait for the transaction.
    const put = this.#sealed(request, response);
    return this.#store.transaction(() => {
      beside();
      put(now);
    });
  }

  /** Returns a function that stores the response, inside a transaction. */
  #sealed(
    { organizationId, key, scope, fingerprint }: KeyedRequest,
    { body, ...head }: StoredResponse,
  ): (now: Date) => void {
    const bytes = Buffer.byteLength(body);
    // JSON escapes line feeds, so the first line feed ends the head.
    const content = Buffer.from(JSON.stringify(head) + HEAD_END + body);
    const sealed = seal(this.#store.keyFor(PURPOSE, scope, key), content, fingerprint);
    return (now) => {
      const expiresAtMs = now.getTime() + IDEMPOTENCY_RETENTION_MS;
      const before = this.#rows.get(scope);
      if (before !== undefined) this.#remove(scope, before);
      this.#rows.putSync(scope, { fingerprint, expiresAtMs, bytes, organizationId });
      this.#responses.putSync(scope, sealed);
      this.#expiries.putSync(expiryKey(expiresAtMs, scope), scope);
      this.#addUsage(1, bytes, organizationId);
    };
  }

  async #sweep(nowMs: number): Promise<void> {
    if (this.#due(nowMs).length === 0) return;
    await this.#store.freeing(() => {
      for (const scope of this.#due(nowMs)) {
        const row = this.#rows.get(scope);
        if (row !== undefined) this.#remove(scope, row);
      }
    });
  }

  #due(nowMs: number): readonly string[] {
    const range = { end: expiryKey(nowMs, ''), limit: SWEEP_MAX_ROWS };
    return [...this.#expiries.getRange(range)].map(({ value }) => value);
  }

  #remove(scope: string, row: Row): void {
    this.#rows.removeSync(scope);
    this.#responses.removeSync(scope);
    this.#expiries.removeSync(expiryKey(row.expiresAtMs, scope));
    this.#addUsage(-1, -row.bytes, row.organizationId);
  }

  #usage(key: string): Usage {
    return this.#totals.get(key) ?? { responses: 0, bytes: 0 };
  }

  #addUsage(responses: number, bytes: number, organizationId: string | undefined): void {
    for (const key of [USAGE, ...(organizationId === undefined ? [] : [usageKeyOf(organizationId)])]) {
      const before = this.#usage(key);
      const after = { responses: before.responses + responses, bytes: before.bytes + bytes };
      if (after.responses === 0) this.#totals.removeSync(key);
      else this.#totals.putSync(key, after);
    }
  }

  #requireRoom(organizationId: string): void {
    const total = this.#usage(USAGE);
    const own = this.#usage(usageKeyOf(organizationId));
    const { maxResponses, maxBytes } = this.#bounds;
    const isFull =
      isShareFull(total.responses, maxResponses, () => own.responses) ||
      isShareFull(total.bytes, maxBytes, () => own.bytes);
    if (!isFull) return;
    throw new Refusal(
      'idempotency_storage_full',
      'No further keyed request of the organization can be stored until older ones expire. Send it without a key, ' +
        'or later.',
      { retryAfterSeconds: 60 },
    );
  }
}

function nothing(): void {}

function answered(stored: StoredResponse): Claim {
  return { stored, put: nothing, persist: async () => undefined, release: nothing };
}

function requireSame(first: string, fingerprint: string): void {
  if (first === fingerprint) return;
  throw new Refusal(
    'idempotency_key_reused',
    'The Idempotency-Key was used on this route for another request within 24 hours. Send a new key.',
    { param: 'Idempotency-Key' },
  );
}

function inUse(): Refusal {
  return new Refusal(
    'idempotency_key_in_use',
    'The first request with this key still runs; ask again in a moment.',
    { param: 'Idempotency-Key', retryAfterSeconds: 1 },
  );
}

function expiryKey(expiresAtMs: number, scope: string): string {
  return `${String(expiresAtMs).padStart(15, '0')}:${scope}`;
}
