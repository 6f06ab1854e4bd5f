import { newId } from '../../ids.js';
import { WEBHOOK_DELIVERY_RETENTION_MS } from '../../limits.js';
import type { EventRow } from './events.js';
import type { ControlStore } from '../control-store.js';

export interface WebhookSecret {
  /** `whsec_…`. */
  readonly secret: string;
  /** Absent for the one that was given last. */
  readonly expiresAt?: string;
}

export interface WebhookEndpointRow {
  /** `whe_…`. */
  readonly id: string;
  readonly organizationId: string;
  readonly url: string;
  readonly eventTypes: readonly string[];
  readonly description?: string;
  readonly secrets: readonly WebhookSecret[];
  readonly disabledReason?: 'gone' | 'lasting_failure';
  readonly lastSuccessAt?: string;
  readonly createdAt: string;
  readonly updatedAt: string;
}

export interface WebhookDeliveryRow {
  /** `whd_…`. */
  readonly id: string;
  readonly organizationId: string;
  readonly endpointId: string;
  readonly eventId: string;
  /** What is sent, the same to the byte at every attempt. */
  readonly body: string;
  readonly status: 'pending' | 'delivered' | 'failed';
  readonly attemptCount: number;
  /** When the schedule was started, or started anew, and the attempts since. */
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

export interface DeliveryFilter {
  readonly endpointId?: string;
  readonly status?: WebhookDeliveryRow['status'];
}

/** Endpoints and deliveries. A delivery is written in the transaction of its event, or not at all. */
export interface WebhookTable {
  /** False where the organization has this many already. */
  addEndpoint(endpoint: WebhookEndpointRow, maxCount: number): Promise<boolean>;
  endpoint(id: string): WebhookEndpointRow | undefined;
  /** Oldest first. */
  endpoints(organizationId: string): readonly WebhookEndpointRow[];
  /** Undefined where it has gone meanwhile. */
  changeEndpoint(id: string, change: Partial<WebhookEndpointRow>): Promise<WebhookEndpointRow | undefined>;
  removeEndpoint(id: string): Promise<void>;
  /** Organizations with an endpoint that takes events of this type. */
  listeners(type: string): readonly string[];
  /** A pending delivery for each endpoint that takes the event or is told of it. Only in the event's transaction. */
  enqueue(event: EventRow): void;
  delivery(id: string): WebhookDeliveryRow | undefined;
  /** Newest first, behind the position of an earlier page. */
  deliveries(organizationId: string, filter: DeliveryFilter, limit: number, position?: string): DeliveryPage;
  /** Pending deliveries whose time has come, the longest waiting first. */
  due(now: Date, limit: number): readonly WebhookDeliveryRow[];
  /** When the next delivery is due. */
  nextDue(): string | undefined;
  /**
   * Writes what became of a delivery, for it and its endpoint together. Where its schedule was started anew during
   * the attempt, only the attempt counts; where it was forgotten, it stays so.
   */
  settle(delivery: WebhookDeliveryRow, endpoint: Partial<WebhookEndpointRow>): Promise<void>;
  /** Forgets deliveries whose time is over; true while there are more. */
  sweep(now: Date): Promise<boolean>;
}

export interface DeliveryPage {
  readonly deliveries: readonly WebhookDeliveryRow[];
  readonly position?: string;
}

const LIST_MAX_SCANNED = 2_000;
const SWEEP_MAX_DELIVERIES = 256;

export function webhookTable(store: ControlStore): WebhookTable {
  const endpoints = store.table<WebhookEndpointRow>('webhook-endpoints');
  const deliveries = store.table<WebhookDeliveryRow>('webhook-deliveries');
  /** `<organization> <time> <id>`. */
  const byOrganization = store.table<string>('webhook-deliveries-by-organization');
  /** `<time> <id>` of the next attempt, and of the creation. */
  const due = store.table<string>('webhook-deliveries-due');
  const byAge = store.table<string>('webhook-deliveries-by-age');

  const of = (organizationId: string): readonly WebhookEndpointRow[] =>
    [...endpoints.getRange().map(({ value }) => value)]
      .filter((row) => row.organizationId === organizationId)
      .sort((a, b) => (a.createdAt + a.id < b.createdAt + b.id ? -1 : 1));
  const put = (row: WebhookDeliveryRow): void => {
    const before = deliveries.get(row.id);
    if (before?.nextAttemptAt !== undefined) due.removeSync(`${before.nextAttemptAt} ${row.id}`);
    if (row.nextAttemptAt !== undefined) due.putSync(`${row.nextAttemptAt} ${row.id}`, row.id);
    deliveries.putSync(row.id, row);
  };
  const change = (id: string, changed: Partial<WebhookEndpointRow>): WebhookEndpointRow | undefined => {
    const row = endpoints.get(id);
    if (row === undefined) return undefined;
    const after = { ...row, ...changed };
    endpoints.putSync(id, after);
    return after;
  };

  return {
    addEndpoint: (endpoint, maxCount) =>
      store.transaction(() => {
        if (of(endpoint.organizationId).length >= maxCount) return false;
        endpoints.putSync(endpoint.id, endpoint);
        return true;
      }),
    endpoint: (id) => endpoints.get(id),
    endpoints: of,
    changeEndpoint: (id, changed) => store.transaction(() => change(id, changed)),
    listeners: (type) => [
      ...new Set(
        [...endpoints.getRange().map(({ value }) => value)]
          .filter((row) => takes(row, type))
          .map(({ organizationId }) => organizationId),
      ),
    ],
    removeEndpoint: async (id) => void (await endpoints.remove(id)),
    enqueue({ id: eventId, type, organizationId, timestamp, data, toldEndpointId }) {
      for (const endpoint of of(organizationId)) {
        const isTold = endpoint.id === toldEndpointId && endpoint.disabledReason === undefined;
        if (!isTold && !takes(endpoint, type)) continue;
        const id = newId('whd');
        put({
          id,
          organizationId,
          endpointId: endpoint.id,
          eventId,
          body: JSON.stringify({ type, timestamp, data }),
          status: 'pending',
          attemptCount: 0,
          scheduleStartedAt: timestamp,
          scheduledAttemptCount: 0,
          createdAt: timestamp,
          updatedAt: timestamp,
          nextAttemptAt: timestamp,
        });
        byOrganization.putSync(`${organizationId} ${timestamp} ${id}`, id);
        byAge.putSync(`${timestamp} ${id}`, id);
      }
    },
    delivery: (id) => deliveries.get(id),
    deliveries(organizationId, filter, limit, position) {
      const found: WebhookDeliveryRow[] = [];
      const start = position ?? `${organizationId}!`;
      const range = { start, end: `${organizationId} `, reverse: true, exclusiveStart: true };
      let scanned = 0;
      let last: string | undefined;
      for (const { key, value: id } of byOrganization.getRange(range)) {
        if (found.length === limit || scanned === LIST_MAX_SCANNED)
          return { deliveries: found, position: last };
        const row = deliveries.get(id) as WebhookDeliveryRow;
        if (matches(row, filter)) found.push(row);
        scanned += 1;
        last = key;
      }
      return { deliveries: found };
    },
    due: (now, limit) =>
      [...due.getRange({ end: `${now.toISOString()}!`, limit })].map(
        ({ value }) => deliveries.get(value) as WebhookDeliveryRow,
      ),
    nextDue: () => [...due.getKeys({ limit: 1 })].map((key) => key.split(' ', 1)[0]).at(0),
    settle: (delivery, changed) =>
      store.transaction(() => {
        const { id, endpointId, attemptCount, scheduleStartedAt } = delivery;
        const known = deliveries.get(id);
        const isAnew = known !== undefined && known.scheduleStartedAt > scheduleStartedAt;
        if (known !== undefined) put(isAnew ? { ...known, attemptCount } : delivery);
        change(endpointId, changed);
      }),
    sweep: (now) =>
      store.transaction(() => {
        const before = new Date(now.getTime() - WEBHOOK_DELIVERY_RETENTION_MS).toISOString();
        const old = [...byAge.getRange({ end: before, limit: SWEEP_MAX_DELIVERIES })];
        for (const { key, value: id } of old) {
          byAge.removeSync(key);
          const row = deliveries.get(id) as WebhookDeliveryRow;
          if (row.nextAttemptAt !== undefined) due.removeSync(`${row.nextAttemptAt} ${id}`);
          byOrganization.removeSync(`${row.organizationId} ${row.createdAt} ${id}`);
          deliveries.removeSync(id);
        }
        return old.length === SWEEP_MAX_DELIVERIES;
      }),
  };
}

function takes({ disabledReason, eventTypes }: WebhookEndpointRow, type: string): boolean {
  return disabledReason === undefined && eventTypes.includes(type);
}

function matches(row: WebhookDeliveryRow, { endpointId, status }: DeliveryFilter): boolean {
  return (
    (endpointId === undefined || row.endpointId === endpointId) &&
    (status === undefined || row.status === status)
  );
}
