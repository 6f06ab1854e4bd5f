import { Refusal } from '../../errors.js';
import { IDEMPOTENCY_MAX_BYTES, IDEMPOTENCY_MAX_RESPONSES, IDEMPOTENCY_RETENTION_MS } from '../../limits.js';
import type { ControlStore, Table } from '../control-store.js';

export interface StoredResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The right to execute under a key, or the response of the one who had it first. */
interface Claim {
  /** Present when the request was answered before; then there is nothing to keep or release. */
  readonly stored?: StoredResponse;
  /** Makes the response durable. Errors  those of the disk; then nothing is kept */
  keep(response: StoredResponse, now: Date): Promise<void>;
  /** Lets the next request with this key execute, unless a response was kept. */
  release(): void;
}

interface Row {
  readonly fingerprint: string;
  readonly expiresAtMs: number;
  readonly bytes: number;
  readonly response: StoredResponse;
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
/** Expired rows removed with each claim: more than a claim can add, so that the table never grows by neglect. */
const SWEEP_MAX_ROWS = 4;

/**
 * Responses of keyed requests, for 24 hours. A twin that still runs is known in memory only: after a crash nobody runs,
 * and the retry executes; a response that was kept before the crash is there.
 */
export class IdempotencyTable {
  readonly #store: ControlStore;
  readonly #bounds: IdempotencyBounds;
  readonly #rows: Table<Row>;
  /** `<expiry in ms, 15 digits>:<scope>`, so that the first keys are the first to go. */
  readonly #expiries: Table<string>;
  readonly #totals: Table<Usage>;
  /** Fingerprints of requests that run, by scope. */
  readonly #running = new Map<string, string>();

  constructor(store: ControlStore, bounds = BOUNDS) {
    this.#store = store;
    this.#bounds = bounds;
    this.#rows = store.table<Row>('idempotency');
    this.#expiries = store.table<string>('idempotency-expiries');
    this.#totals = store.table<Usage>('idempotency-usage');
  }

  /**
   * @param scope       SHA-256 of organization, route and key
   * @param fingerprint SHA-256 of what makes two requests the same
   * Errors  Refusal `idempotency_key_reused` for another request under the key; `idempotency_key_in_use` while its twin
   *         runs; `idempotency_storage_full` at the bound: nothing is evicted before its time
   */
  async claim(scope: string, fingerprint: string, now: Date): Promise<Claim> {
    const runningTwin = this.#running.get(scope);
    const row = this.#rows.get(scope);
    const live = row !== undefined && row.expiresAtMs > now.getTime() ? row : undefined;
    requireSame(live?.fingerprint ?? runningTwin ?? fingerprint, fingerprint);
    if (live !== undefined)
      return { stored: live.response, keep: async () => undefined, release: () => undefined };
    if (runningTwin !== undefined) throw inUse();
    // Claimed before anything is awaited: of two twins one comes first.
    this.#running.set(scope, fingerprint);
    try {
      await this.#sweep(now.getTime());
      this.#requireRoom();
    } catch (error) {
      this.#release(scope);
      throw error;
    }
    return {
      keep: (response, at) => this.#keep(scope, fingerprint, response, at),
      release: () => this.#release(scope),
    };
  }

  #release(scope: string): void {
    this.#running.delete(scope);
  }

  #keep(scope: string, fingerprint: string, response: StoredResponse, now: Date): Promise<void> {
    const expiresAtMs = now.getTime() + IDEMPOTENCY_RETENTION_MS;
    const bytes = Buffer.byteLength(response.body);
    return this.#store.transaction(() => {
      const expired = this.#rows.get(scope);
      if (expired !== undefined) this.#remove(scope, expired);
      this.#rows.putSync(scope, { fingerprint, expiresAtMs, bytes, response });
      this.#expiries.putSync(expiryKey(expiresAtMs, scope), scope);
      this.#addUsage(1, bytes);
    });
  }

  async #sweep(nowMs: number): Promise<void> {
    if (this.#due(nowMs).length === 0) return;
    await this.#store.transaction(() => {
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
    this.#expiries.removeSync(expiryKey(row.expiresAtMs, scope));
    this.#addUsage(-1, -row.bytes);
  }

  #usage(): Usage {
    return this.#totals.get(USAGE) ?? { responses: 0, bytes: 0 };
  }

  #addUsage(responses: number, bytes: number): void {
    const before = this.#usage();
    this.#totals.putSync(USAGE, { responses: before.responses + responses, bytes: before.bytes + bytes });
  }

  #requireRoom(): void {
    const { responses, bytes } = this.#usage();
    if (responses < this.#bounds.maxResponses && bytes < this.#bounds.maxBytes) return;
    throw new Refusal(
      'idempotency_storage_full',
      'No further keyed request can be remembered until older ones expire. Send it without a key, or later.',
      { retryAfterSeconds: 60 },
    );
  }
}

function requireSame(first: string, fingerprint: string): void {
  if (first === fingerprint) return;
  throw new Refusal(
    'idempotency_key_reused',
    'The Idempotency-Key was used for another request within 24 hours. Send a new key.',
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
