import type { Tables } from '../../src/composition/tables.js';
import { isFinal, canBecome, type RunStatus } from '../../src/contract/runs/run-states.js';
import type { EventRow } from '../../src/store/tables/events.js';
import type { RunRow } from '../../src/store/tables/runs.js';
import type { UsageEntry } from '../../src/store/tables/usage.js';
import type { WebhookDeliveryRow, WebhookEndpointRow } from '../../src/store/tables/webhooks.js';
import { atOnce } from '../../src/turns.js';
import type { Expectations, Kind } from './expectations.js';
import type { Mirror } from './mirror.js';
import { Broken } from './operator.js';
import type { Receivers } from './receivers.js';

/** A row that a client created. */
interface LabelledRow {
  readonly id: string;
  readonly organizationId: string;
  readonly status?: string;
}

const LABELS: Readonly<Record<Kind, string>> = {
  runs: 'label',
  uploads: 'path',
  'webhook-endpoints': 'description',
  'sql-credentials': 'name',
};
const KINDS = Object.keys(LABELS) as readonly Kind[];

/** Events and deliveries that were seen, over all lives of the server. */
export interface Seen {
  readonly events: Set<string>;
  /** First sighting of each delivery, by its id. */
  readonly deliveries: Map<string, { readonly row: WebhookDeliveryRow; readonly atMs: number }>;
}

interface InvariantDependencies {
  readonly mirror: Mirror;
  readonly expectations: Expectations;
  readonly receivers: Receivers;
  readonly seen: Seen;
  readonly nowMs: () => number;
  /** Time since which the server runs, the disk has room and the clock has not jumped. */
  readonly calmSinceMs: () => number;
}

/** Bound on the time from an event to its first delivery attempt, for a healthy receiver on a healthy machine. */
const FIRST_ATTEMPT_MAX_MS = 8_000;

/** Conditions that hold after every commit, under all faults. */
export class Invariants {
  readonly #mirror: Mirror;
  readonly #expectations: Expectations;
  readonly #receivers: Receivers;
  readonly #seen: Seen;
  readonly #nowMs: () => number;
  readonly #calmSinceMs: () => number;

  constructor({ mirror, expectations, receivers, seen, nowMs, calmSinceMs }: InvariantDependencies) {
    this.#mirror = mirror;
    this.#expectations = expectations;
    this.#receivers = receivers;
    this.#seen = seen;
    this.#nowMs = nowMs;
    this.#calmSinceMs = calmSinceMs;
  }

  /** Checks all invariants. Errors  Broken */
  check(): void {
    for (const kind of KINDS) this.#checkMade(kind);
    this.#checkFiles();
    const runs = this.#rows<RunRow>('runs');
    this.#checkUsage(runs);
    this.#checkEvents(runs);
    this.#checkDeliveries();
  }

  /** No acknowledged object is lost, no key creates two objects, and no object belongs to another organization. */
  #checkMade(kind: Kind): void {
    const byLabel = new Map<string, LabelledRow[]>();
    for (const row of this.#rows<LabelledRow>(kind)) {
      const text = (row as unknown as Readonly<Record<string, string>>)[LABELS[kind]];
      const label = text.replace(/\.txt$/, '');
      byLabel.set(label, [...(byLabel.get(label) ?? []), row]);
    }
    for (const intent of this.#expectations.intents.values()) {
      if (intent.kind !== kind) continue;
      const rows = byLabel.get(intent.label) ?? [];
      byLabel.delete(intent.label);
      const subject = `${intent.label} (${[...intent.ids].join(', ')})`;
      if (intent.isKeyed) require(rows.length <= 1, `${subject} exists ${rows.length} times in ${kind}`);
      require(!intent.isKeyed || intent.ids.size <= 1, `${subject} got more than one id`);
      for (const { organizationId } of rows) {
        require(organizationId === intent.organizationId, `${subject} belongs to ${organizationId}`);
      }
      if (intent.isRemoved)
        require(rows.every(isEnded), `${subject} was removed and still exists in ${kind}`);
      const isThere = (id: string): boolean => rows.some((row) => row.id === id);
      if (intent.isRemovalAsked) continue;
      for (const id of intent.ids) require(isThere(id), `${subject} was acknowledged and lost: ${id}`);
    }
    require(byLabel.size === 0, `${[...byLabel.keys()].join(', ')} in ${kind} was not requested`);
  }

  #checkFiles(): void {
    const there = this.#mirror.rows('files-by-path');
    for (const organizationId of this.#expectations.searches.keys()) {
      for (const path of this.#expectations.filesOf(organizationId)) {
        require(there.has(`${organizationId}/${path}`), `the file ${path} was acknowledged and lost`);
      }
    }
  }

  /** Each completed run has one usage entry with its price. All other entries are of direct searches. */
  #checkUsage(runs: readonly RunRow[]): void {
    const billed = new Map<string, UsageEntry>();
    const direct = new Map<string, number>();
    for (const entry of this.#rows<UsageEntry>('usage')) {
      if (entry.id.startsWith('run_')) billed.set(entry.id, entry);
      else direct.set(entry.organizationId, (direct.get(entry.organizationId) ?? 0) + 1);
    }
    for (const { id, status, billableUnits } of runs) {
      const units = billed.get(id)?.units;
      billed.delete(id);
      if (status === 'completed')
        require(units === billableUnits, `${id} cost ${billableUnits}, billed: ${units}`);
      else require(units === undefined, `${id} is ${status} and was billed`);
    }
    require(billed.size === 0, `${[...billed.keys()].join(', ')} was billed and does not exist`);
    for (const [organizationId, { sentCount }] of this.#expectations.searches) {
      const count = direct.get(organizationId) ?? 0;
      require(count <=
        sentCount, `${organizationId} requested ${sentCount} searches and was billed for ${count}`);
    }
  }

  /** Events of a run are numbered from 1 and follow the transitions of its states up to its current state. */
  #checkEvents(runs: readonly RunRow[]): void {
    const eventsOfRuns = new Map<string, EventRow[]>();
    for (const event of this.#rows<EventRow>('events')) {
      const events = eventsOfRuns.get(event.subjectId) ?? [];
      eventsOfRuns.set(event.subjectId, events);
      events.push(event);
      if (this.#seen.events.has(event.id)) continue;
      this.#seen.events.add(event.id);
      this.#requireDeliveries(event);
    }
    for (const { id, status } of runs) {
      const events = eventsOfRuns.get(id) ?? [];
      const states = events.map(({ type }) => type.slice('run.'.length) as RunStatus);
      const isWalk = states.every((state, index) => index === 0 || canBecome(states[index - 1], state));
      require(states[0] === 'queued' && isWalk, `${id} went through ${states.join(', ')}`);
      require(states.at(-1) === status, `${id} is ${status}, but its events say ${states.join(', ')}`);
      events.forEach(({ sequence }, at) => require(sequence === at + 1, `${id} has events out of order`));
    }
  }

  /** Each endpoint that subscribes to an event has a delivery in the event's commit. */
  #requireDeliveries({ id, type, organizationId }: EventRow): void {
    const addressed = new Set(
      this.#rows<WebhookDeliveryRow>('webhook-deliveries')
        .filter(({ eventId }) => eventId === id)
        .map(({ endpointId }) => endpointId),
    );
    for (const endpoint of this.#rows<WebhookEndpointRow>('webhook-endpoints')) {
      const takes = endpoint.disabledReason === undefined && endpoint.eventTypes.includes(type);
      const isMeant = takes && endpoint.organizationId === organizationId;
      require(addressed.has(endpoint.id) === isMeant, `${type} ${id} and ${endpoint.id}: meant ${isMeant}`);
    }
  }

  /** Every delivery with the status delivered has arrived, and no pending delivery is lost. */
  #checkDeliveries(): void {
    const rows = new Map(this.#rows<WebhookDeliveryRow>('webhook-deliveries').map((row) => [row.id, row]));
    const hosts = new Map(
      this.#rows<WebhookEndpointRow>('webhook-endpoints').map(({ id, url }) => [id, new URL(url).hostname]),
    );
    for (const id of this.#seen.deliveries.keys()) require(rows.has(id), `the delivery ${id} was lost`);
    for (const row of rows.values()) {
      const atMs = this.#seen.deliveries.get(row.id)?.atMs ?? this.#nowMs();
      this.#seen.deliveries.set(row.id, { row, atMs });
      const host = hosts.get(row.endpointId);
      if (host === undefined) continue;
      this.#requirePrompt(row, host, atMs);
      if (row.status !== 'delivered') continue;
      const hasCome = this.#receivers.hasCome(host, row.eventId);
      require(hasCome, `${row.eventId} is marked as delivered to ${host} and never arrived`);
    }
  }

  /** A healthy receiver does not wait for unhealthy ones. */
  #requirePrompt({ id, status, attemptCount }: WebhookDeliveryRow, host: string, atMs: number): void {
    if (status !== 'pending' || attemptCount > 0 || atMs < this.#calmSinceMs()) return;
    if (!this.#receivers.hasBeenGood(host)) return;
    const waitedMs = this.#nowMs() - atMs;
    require(waitedMs <=
      FIRST_ATTEMPT_MAX_MS, `${id} has waited ${Math.round(waitedMs)} ms for ${host}, which is healthy`);
  }

  #rows<Row>(table: string): Row[] {
    return [...this.#mirror.rows<Row>(table).values()];
  }
}

/**
 * Conditions that hold after a period without faults: all runs have ended, all events have arrived, and all searches
 * are billed.
 */
export function checkRest(
  tables: Tables,
  expectations: Expectations,
  seen: Seen,
  receivers: Receivers,
): void {
  const unfinished = tables.runs.unfinished();
  require(unfinished.length === 0, `${unfinished.map(({ id }) => id).join(', ')} never ended`);
  for (const intent of expectations.intents.values()) {
    if (intent.kind !== 'runs') continue;
    for (const id of intent.ids) {
      const status = tables.runs.get(id)?.status;
      const isGood = status === 'completed' || (intent.isRemovalAsked && status === 'cancelled');
      require(status !== undefined && isFinal(status) && isGood, `${intent.label} ${id} is ${status}`);
    }
  }
  for (const { row } of seen.deliveries.values()) {
    const endpoint = tables.webhooks.endpoint(row.endpointId);
    if (endpoint === undefined || endpoint.disabledReason !== undefined) continue;
    const hasCome = receivers.hasCome(new URL(endpoint.url).hostname, row.eventId);
    require(hasCome, `${row.eventId} never arrived at ${endpoint.url}`);
  }
  for (const [organizationId, { answered, mayBeLost }] of expectations.searches) {
    const { calls } = tables.usage.totals(organizationId, 'homology.search');
    const direct = calls - completedRuns(tables, organizationId);
    const count = `${organizationId} got ${answered} search answers (${mayBeLost} during a fault)`;
    require(direct >= answered - mayBeLost, `${count} and was billed for ${direct}`);
  }
}

function completedRuns(tables: Tables, organizationId: string): number {
  return atOnce(tables.runs.list(organizationId, { status: 'completed' }, { limit: 1_000 })).runs.length;
}

function isEnded({ status }: LabelledRow): boolean {
  return status === 'cancelled' || status === 'aborted';
}

function require(condition: boolean, what: string): void {
  if (!condition) throw new Broken(what);
}
