import { Refusal } from '../../errors.js';
import { IDEMPOTENCY_MAX_BYTES, IDEMPOTENCY_MAX_RESPONSES, IDEMPOTENCY_RETENTION_MS } from '../../limits.js';
import type { ControlStore } from '../control-store.js';

export interface StoredResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The right to execute under a key, or the response of the one who had it first. */
export interface Claim {
  /** Present when the request was answered before; then there is nothing to keep or release. */
  readonly stored?: StoredResponse;
  /** Makes the response durable. Errors  those of the disk; then nothing is kept */
  keep(response: StoredResponse, now: Date): Promise<void>;
  /** Lets the next request with this key execute, unless a response was kept. */
  release(): void;
}

export interface IdempotencyTable {
  /**
   * @param scope       SHA-256 of organization, route and key
   * @param fingerprint SHA-256 of what makes two requests the same
   * Errors  Refusal `idempotency_key_reused` for another request under the key; `idempotency_key_in_use` while its twin
   *         runs; `idempotency_storage_full` at the bound: nothing is evicted before its time
   */
  claim(scope: string, fingerprint: string, now: Date): Promise<Claim>;
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

const USAGE = 'usage';
/** Expired rows removed with each claim: more than a claim can add, so that the table never grows by neglect. */
const SWEEP_MAX_ROWS = 4;

/**
 * Responses of keyed requests, for 24 hours. A twin that still runs is known in memory only: after a crash nobody runs,
 * and the retry executes; a response that was kept before the crash is there.
 */
export function createIdempotencyTable(
  store: ControlStore,
  bounds: IdempotencyBounds = { maxResponses: IDEMPOTENCY_MAX_RESPONSES, maxBytes: IDEMPOTENCY_MAX_BYTES },
): IdempotencyTable {
  const rows = store.table<Row>('idempotency');
  /** `<expiry in ms, 15 digits>:<scope>`, so that the first keys are the first to go. */
  const expiries = store.table<string>('idempotency-expiries');
  const totals = store.table<Usage>('idempotency-usage');
  const running = new Map<string, string>();

  const usage = (): Usage => totals.get(USAGE) ?? { responses: 0, bytes: 0 };
  const addUsage = (responses: number, bytes: number): void => {
    const before = usage();
    totals.putSync(USAGE, { responses: before.responses + responses, bytes: before.bytes + bytes });
  };
  const remove = (scope: string, row: Row): void => {
    rows.removeSync(scope);
    expiries.removeSync(expiryKey(row.expiresAtMs, scope));
    addUsage(-1, -row.bytes);
  };
  const sweep = async (nowMs: number): Promise<void> => {
    const end = expiryKey(nowMs, '');
    const due = () => [...expiries.getRange({ end, limit: SWEEP_MAX_ROWS })];
    if (due().length === 0) return;
    await store.transaction(() => {
      for (const { value: scope } of due()) {
        const row = rows.get(scope);
        if (row !== undefined) remove(scope, row);
      }
    });
  };
  const keep = (scope: string, fingerprint: string, response: StoredResponse, now: Date): Promise<void> => {
    const expiresAtMs = now.getTime() + IDEMPOTENCY_RETENTION_MS;
    const bytes = Buffer.byteLength(response.body);
    return store.transaction(() => {
      const expired = rows.get(scope);
      if (expired !== undefined) remove(scope, expired);
      rows.putSync(scope, { fingerprint, expiresAtMs, bytes, response });
      expiries.putSync(expiryKey(expiresAtMs, scope), scope);
      addUsage(1, bytes);
    });
  };

  return {
    async claim(scope, fingerprint, now) {
      const runningTwin = running.get(scope);
      const row = rows.get(scope);
      const live = row !== undefined && row.expiresAtMs > now.getTime() ? row : undefined;
      const first = live?.fingerprint ?? runningTwin;
      if (first !== undefined && first !== fingerprint) {
        throw new Refusal(
          'idempotency_key_reused',
          'The Idempotency-Key was used for another request within 24 hours. Send a new key.',
          { param: 'Idempotency-Key' },
        );
      }
      if (live !== undefined)
        return { stored: live.response, keep: async () => undefined, release: () => undefined };
      if (runningTwin !== undefined) {
        throw new Refusal(
          'idempotency_key_in_use',
          'The first request with this key still runs; ask again in a moment.',
          {
            param: 'Idempotency-Key',
            retryAfterSeconds: 1,
          },
        );
      }
      // Claimed before anything is awaited: of two twins one comes first.
      running.set(scope, fingerprint);
      const release = (): void => void running.delete(scope);
      try {
        await sweep(now.getTime());
        requireRoom(usage(), bounds);
      } catch (error) {
        release();
        throw error;
      }
      return { keep: (response, at) => keep(scope, fingerprint, response, at), release };
    },
  };
}

function requireRoom(usage: Usage, bounds: IdempotencyBounds): void {
  if (usage.responses < bounds.maxResponses && usage.bytes < bounds.maxBytes) return;
  throw new Refusal(
    'idempotency_storage_full',
    'No further keyed request can be remembered until older ones expire. Send it without a key, or later.',
    { retryAfterSeconds: 60 },
  );
}

function expiryKey(expiresAtMs: number, scope: string): string {
  return `${String(expiresAtMs).padStart(15, '0')}:${scope}`;
}
