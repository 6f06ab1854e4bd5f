import { WEBHOOK_DELIVERY_RETENTION_MS } from '../../limits.js';
import type { EventRow } from './events.js';
import type { ControlStore, Table } from '../control-store.js';

interface WebhookSecret {
  /** `whsec_…`. */
  readonly secret: string;
  /** Absent for the newest secret. */
  readonly expiresAt?: string;
}

export interface WebhookEndpointRow {
  /** `whe_…`. */
  readonly id: string;
  readonly organizationId: string;
  readonly url: string;
  readonly eventTypes: readonly string[];
  readonly description?: string;
  /** Newest first. Empty if the appliance's key was lost. */
  readonly secrets: readonly WebhookSecret[];
  readonly disabledReason?: 'gone' | 'lasting_failure';
  readonly lastSuccessAt?: string;
  /** Start and number of the attempts without a response. No attempt is made before `retryAt`. */
  readonly silence?: { readonly since: string; readonly attemptCount: number; readonly retryAt: string };
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** An endpoint as stored: secrets are sealed, so that a reader of the table cannot sign messages. */
type StoredEndpoint = Omit<WebhookEndpointRow, 'secrets'> & {
  readonly secrets: readonly (Omit<WebhookSecret, 'secret'> & { readonly sealed: string })[];
};

export interface WebhookDeliveryRow {
  /** `whd_…`. */
  readonly id: string;
  readonly organizationId: string;
  readonly endpointId: string;
  readonly eventId: string;
  /** Body of the message, identical to the byte at every attempt. */
  readonly body: string;
  readonly status: 'pending' | 'delivered' | 'failed';
  readonly attemptCount: number;
  /** Time of the last start of the schedule, and the attempts since then. */
  readonly scheduleStartedAt: string;
  readonly scheduledAttemptCount: number;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly deliveredAt?: string;
  readonly failedAt?: string;
  readonly nextAttemptAt?: string;
  readonly lastError?: string;
  readonly responseStatusCode?: number;
}

/** An endpoint with pending deliveries. */
interface WaitingEndpoint {
  readonly organizationId: string;
  readonly endpointId: string;
  /** When the first delivery is due. */
  readonly dueAt: string;
}

interface DeliveryFilter {
  readonly endpointId?: string;
  readonly status?: WebhookDeliveryRow['status'];
}

interface DeliveryPage {
  readonly deliveries: readonly WebhookDeliveryRow[];
  readonly position?: string;
}

const LIST_MAX_SCANNED = 2_000;
const SWEEP_MAX_DELIVERIES = 256;
const GIVEN_UP_AT_ONCE = 256;

/**
 * Endpoints and deliveries: the tables `webhook-…`. A delivery is written in the transaction of its event, or not at
 * all.
 */
export class WebhookTable {
  readonly #store: ControlStore;
  readonly #endpoints: Table<StoredEndpoint>;
  readonly #deliveries: Table<WebhookDeliveryRow>;
  /** `<organization> <time> <id>`. */
  readonly #byOrganization: Table<string>;
  /** `<organization> <endpoint> <time of the next attempt> <id>`. */
  readonly #due: Table<string>;
  /** `<time of the creation> <id>`. */
  readonly #byAge: Table<string>;

  constructor(store: ControlStore) {
    this.#store = store;
    this.#endpoints = store.table<StoredEndpoint>('webhook-endpoints');
    this.#deliveries = store.table<WebhookDeliveryRow>('webhook-deliveries');
    this.#byOrganization = store.table<string>('webhook-deliveries-by-organization');
    this.#due = store.table<string>('webhook-deliveries-due');
    this.#byAge = store.table<string>('webhook-deliveries-by-age');
  }

  /** Returns false if the organization has the maximum number. @param beside writes in the same transaction */
  addEndpoint(
    endpoint: WebhookEndpointRow,
    maxCount: number,
    beside: () => void = () => undefined,
  ): Promise<boolean> {
    return this.#store.transaction(() => {
      if (this.#endpointsOf(endpoint.organizationId).length >= maxCount) return false;
      this.#endpoints.putSync(endpoint.id, this.#sealed(endpoint));
      beside();
      return true;
    });
  }

  endpoint(id: string): WebhookEndpointRow | undefined {
    const row = this.#endpoints.get(id);
    return row && this.#opened(row);
  }

  /** Oldest first. */
  endpoints(organizationId: string): readonly WebhookEndpointRow[] {
    return this.#endpointsOf(organizationId).map((row) => this.#opened(row));
  }

  /**
   * Changes an endpoint, and returns the value that `answer` computes in the same transaction. undefined if it was
   * deleted.
   */
  changeEndpoint<Answer>(
    id: string,
    change: Partial<WebhookEndpointRow>,
    answer: (changed: WebhookEndpointRow) => Answer,
  ): Promise<Answer | undefined> {
    return this.#store.transaction(() => {
      const changed = this.#change(id, change);
      return changed && answer(changed);
    });
  }

  removeEndpoint(id: string): Promise<void> {
    return this.#store.freeing(() => void this.#endpoints.removeSync(id));
  }

  /**
   * Writes the end of pending deliveries of one endpoint, GIVEN_UP_AT_ONCE at a time. Returns true if there are more.
   * @param ended  the row of a delivery that is given up
   */
  giveUp(
    { organizationId, endpointId }: Pick<WaitingEndpoint, 'organizationId' | 'endpointId'>,
    ended: (delivery: WebhookDeliveryRow) => WebhookDeliveryRow,
  ): Promise<boolean> {
    return this.#store.freeing(() => {
      const start = `${organizationId} ${endpointId} `;
      const ids = this.#due.getRange({
        start,
        end: `${organizationId} ${endpointId}!`,
        limit: GIVEN_UP_AT_ONCE,
      });
      const pending = [...ids].map(({ value: id }) => this.#deliveries.get(id) as WebhookDeliveryRow);
      for (const delivery of pending) this.#put(ended(delivery));
      return pending.length === GIVEN_UP_AT_ONCE;
    });
  }

  /** Organizations with an endpoint that takes events of this type. */
  listeners(type: string): readonly string[] {
    const rows = [...this.#endpoints.getRange().map(({ value }) => value)];
    const taking = rows.filter((row) => takes(row, type));
    return [...new Set(taking.map(({ organizationId }) => organizationId))];
  }

  /**
   * Adds a pending delivery of each event for each subscribed or named endpoint. Must run in the transaction of the
   * events.
   * Cost    one decoding of all endpoints for each organization, however many events it has
   */
  enqueue(...events: readonly EventRow[]): void {
    const endpoints = new Map<string, readonly StoredEndpoint[]>();
    for (const event of events) {
      const { organizationId } = event;
      const own = endpoints.get(organizationId) ?? this.#endpointsOf(organizationId);
      endpoints.set(organizationId, own);
      for (const endpoint of own) this.#enqueueFor(endpoint, event);
    }
  }

  #enqueueFor(endpoint: StoredEndpoint, event: EventRow): void {
    const { organizationId, timestamp } = event;
    const isNotified = endpoint.id === event.toldEndpointId && endpoint.disabledReason === undefined;
    if (!isNotified && !takes(endpoint, event.type)) return;
    const delivery = firstDelivery(this.#store.world.newId('whd'), event, endpoint.id);
    this.#put(delivery);
    this.#byOrganization.putSync(`${organizationId} ${timestamp} ${delivery.id}`, delivery.id);
    this.#byAge.putSync(`${timestamp} ${delivery.id}`, delivery.id);
  }

  delivery(id: string): WebhookDeliveryRow | undefined {
    return this.#deliveries.get(id);
  }

  /** Newest first, after the position of an earlier page. */
  deliveries(organizationId: string, filter: DeliveryFilter, limit: number, position?: string): DeliveryPage {
    const deliveries: WebhookDeliveryRow[] = [];
    const start = position ?? `${organizationId}!`;
    const range = { start, end: `${organizationId} `, reverse: true, exclusiveStart: true };
    let scanned = 0;
    let last: string | undefined;
    for (const { key, value: id } of this.#byOrganization.getRange(range)) {
      if (deliveries.length === limit || scanned === LIST_MAX_SCANNED)
        return { deliveries: deliveries, position: last };
      const row = this.#deliveries.get(id) as WebhookDeliveryRow;
      if (matches(row, filter)) deliveries.push(row);
      scanned += 1;
      last = key;
    }
    return { deliveries: deliveries };
  }

  /**
   * Endpoints with pending deliveries, whether due or not.
   * Cost    one look-up for each of them, however many deliveries wait
   */
  *waiting(): Generator<WaitingEndpoint> {
    let start = '';
    for (;;) {
      const [key] = this.#due.getKeys({ start, limit: 1 });
      if (key === undefined) return;
      const [organizationId, endpointId, dueAt] = key.split(' ');
      yield { organizationId, endpointId, dueAt };
      start = `${organizationId} ${endpointId}!`;
    }
  }

  /**
   * Returns the longest waiting due delivery of an endpoint that is not in progress. A delivery that is due later than
   * `waitMaxMs` from now has waited since before the clock was set back, and is due.
   */
  due(
    { organizationId, endpointId }: Pick<WaitingEndpoint, 'organizationId' | 'endpointId'>,
    now: Date,
    atWork: ReadonlySet<string>,
    waitMaxMs = Infinity,
  ): WebhookDeliveryRow | undefined {
    const start = `${organizationId} ${endpointId} `;
    const ranges = [{ start, end: `${start}${now.toISOString()}!` }];
    if (Number.isFinite(waitMaxMs)) {
      const latest = new Date(now.getTime() + waitMaxMs).toISOString();
      ranges.push({ start: `${start}${latest}!`, end: `${organizationId} ${endpointId}!` });
    }
    for (const range of ranges) {
      for (const { value: id } of this.#due.getRange(range)) {
        if (!atWork.has(id)) return this.#deliveries.get(id);
      }
    }
    return undefined;
  }

  /**
   * Writes the outcome of an attempt to the delivery and its endpoint. If the schedule was restarted meanwhile, only
   * the attempt is recorded. A deleted delivery stays deleted.
   */
  settle(delivery: WebhookDeliveryRow, endpoint: Partial<WebhookEndpointRow>): Promise<void> {
    return this.#store.freeing(() => this.#settle(delivery, endpoint));
  }

  /** Restarts the schedule of a delivery at a caller's request. @param beside writes in the same transaction */
  startAnew(
    delivery: WebhookDeliveryRow,
    endpoint: Partial<WebhookEndpointRow>,
    beside: () => void,
  ): Promise<void> {
    return this.#store.transaction(() => {
      if (this.#deliveries.get(delivery.id) !== undefined) this.#put(delivery);
      this.#change(delivery.endpointId, endpoint);
      beside();
    });
  }

  /** Deletes deliveries whose time is over. Returns true if there are more. */
  sweep(now: Date): Promise<boolean> {
    return this.#store.freeing(() => {
      const before = new Date(now.getTime() - WEBHOOK_DELIVERY_RETENTION_MS).toISOString();
      const old = [...this.#byAge.getRange({ end: before, limit: SWEEP_MAX_DELIVERIES })];
      for (const { key, value: id } of old) {
        this.#byAge.removeSync(key);
        const row = this.#deliveries.get(id) as WebhookDeliveryRow;
        this.#forgetDue(row);
        this.#byOrganization.removeSync(`${row.organizationId} ${row.createdAt} ${id}`);
        this.#deliveries.removeSync(id);
      }
      return old.length === SWEEP_MAX_DELIVERIES;
    });
  }

  #settle(delivery: WebhookDeliveryRow, endpoint: Partial<WebhookEndpointRow>): void {
    const { id, endpointId, attemptCount, scheduleStartedAt } = delivery;
    const stored = this.#deliveries.get(id);
    // The clock may have been set back between the two starts.
    const isAnew = stored !== undefined && stored.scheduleStartedAt !== scheduleStartedAt;
    if (stored !== undefined) this.#put(isAnew ? { ...stored, attemptCount } : delivery);
    this.#change(endpointId, endpoint);
  }

  #put(row: WebhookDeliveryRow): void {
    this.#forgetDue(this.#deliveries.get(row.id));
    if (row.nextAttemptAt !== undefined) this.#due.putSync(dueKeyOf(row, row.nextAttemptAt), row.id);
    this.#deliveries.putSync(row.id, row);
  }

  #forgetDue(row: WebhookDeliveryRow | undefined): void {
    if (row?.nextAttemptAt !== undefined) this.#due.removeSync(dueKeyOf(row, row.nextAttemptAt));
  }

  #change(id: string, change: Partial<WebhookEndpointRow>): WebhookEndpointRow | undefined {
    const row = this.endpoint(id);
    if (row === undefined) return undefined;
    const changed = { ...row, ...change };
    this.#endpoints.putSync(id, this.#sealed(changed));
    return changed;
  }

  #endpointsOf(organizationId: string): readonly StoredEndpoint[] {
    return [...this.#endpoints.getRange().map(({ value }) => value)]
      .filter((row) => row.organizationId === organizationId)
      .sort((a, b) => (a.createdAt + a.id < b.createdAt + b.id ? -1 : 1));
  }

  #sealed({ secrets, ...row }: WebhookEndpointRow): StoredEndpoint {
    const seal = ({ secret, ...rest }: WebhookSecret) => ({
      ...rest,
      sealed: this.#store.seal(secret, row.id),
    });
    return { ...row, secrets: secrets.map(seal) };
  }

  #opened({ secrets, ...row }: StoredEndpoint): WebhookEndpointRow {
    const open = ({ sealed, ...rest }: StoredEndpoint['secrets'][number]) => ({
      ...rest,
      secret: this.#store.unseal(sealed, row.id),
    });
    return { ...row, secrets: secrets.map(open) };
  }
}

function dueKeyOf({ organizationId, endpointId, id }: WebhookDeliveryRow, time: string): string {
  return `${organizationId} ${endpointId} ${time} ${id}`;
}

/** A delivery that is due at once. */
function firstDelivery(
  id: string,
  { id: eventId, type, organizationId, timestamp, data }: EventRow,
  endpointId: string,
): WebhookDeliveryRow {
  return {
    id,
    organizationId,
    endpointId,
    eventId,
    body: JSON.stringify({ type, timestamp, data }),
    status: 'pending',
    attemptCount: 0,
    scheduleStartedAt: timestamp,
    scheduledAttemptCount: 0,
    createdAt: timestamp,
    updatedAt: timestamp,
    nextAttemptAt: timestamp,
  };
}

function takes({ disabledReason, eventTypes }: StoredEndpoint, type: string): boolean {
  return disabledReason === undefined && eventTypes.includes(type);
}

function matches(row: WebhookDeliveryRow, { endpointId, status }: DeliveryFilter): boolean {
  return (
    (endpointId === undefined || row.endpointId === endpointId) &&
    (status === undefined || row.status === status)
  );
}
