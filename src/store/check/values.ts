import { canonicalJson, sha256Hex } from '../../canonical.js';
import { valueId } from '../../ids.js';
import { WEBHOOK_DELIVERY_RETENTION_MS } from '../../limits.js';
import { checkIndex, type Check } from './rows.js';
import type { DividedRow } from '../tables/divided-rows.js';
import type { EventRow } from '../tables/events.js';
import type { ReceiptRow } from '../tables/receipts.js';
import type { DatabaseRow } from '../tables/releases.js';
import type { TargetSpaceRow } from '../tables/target-spaces.js';
import type { UsageEntry, UsageTotals } from '../tables/usage.js';
import type { WebhookDeliveryRow } from '../tables/webhooks.js';
import { DUE_BY_ENDPOINT_VERSION } from '../migrations.js';
import { SETTINGS_TABLE, VERSION_KEY, versionOf } from '../version.js';

/* Checks that content has the hash that names it, that totals are sums, and that index entries lead to rows. */

export function checkNamedValues(check: Check): void {
  const { rows, report } = check;
  for (const [id, { content }] of rows.of<ReceiptRow>('receipts')) {
    const sha256 = sha256Hex(canonicalJson(content));
    if (id !== `rcpt_${sha256}`)
      report('value_changed', `receipts ${id}`, `Its content has the SHA-256 ${sha256}.`);
  }
  for (const [id, row] of rows.of<TargetSpaceRow>('target-spaces')) {
    const named = valueId('htsp', {
      database_release_id: row.databaseReleaseId,
      canonical_filter: row.canonicalFilter,
      filter_schema_id: row.filterSchemaId,
    });
    if (id !== named) report('value_changed', `target-spaces ${id}`, `Its content has the id ${named}.`);
  }
  for (const name of ['receipts', 'msas', 'msa-components']) checkDividedIndexes(check, name);
  for (const [id] of rows.of<number>('receipts-sizes')) {
    if (!rows.has('receipts', id))
      report('index_dangling', `receipts-sizes ${id}`, 'No receipt has this id.');
  }
}

/** A row has a share of each of its organizations, or it is in the index of an earlier version. */
function checkDividedIndexes(check: Check, name: string): void {
  const { rows, report } = check;
  const shares = new Set<string>();
  const divided = new Set<string>();
  for (const [key] of rows.of<number>(`${name}-by-organization`)) {
    const [organizationId, , id] = key.split(' ');
    const isWhole = rows.get<DividedRow>(name, id)?.organizationIds.includes(organizationId);
    shares.add(`${organizationId} ${id}`);
    divided.add(id);
    // An undecodable row has a finding of its own.
    if (isWhole === true || (isWhole === undefined && rows.has(name, id))) continue;
    report('index_dangling', `${name}-by-organization ${key}`, 'The organization has no such row.');
  }
  for (const [id, { organizationIds }] of rows.of<DividedRow>(name)) {
    if (!divided.has(id) || organizationIds.every((each) => shares.has(`${each} ${id}`))) continue;
    report('index_missing', `${name} ${id}`, `It is not in ${name}-by-organization for all organizations.`);
  }
  const earlierPlaceOf = ({ createdAt, id }: DividedRow): string | undefined =>
    divided.has(id) ? undefined : `${createdAt} ${id}`;
  checkIndex(check, `${name}-by-age`, name, earlierPlaceOf, true);
}

/** Checks databases, SQL credentials and the indexes of both. */
export function checkCatalog(check: Check): void {
  const { rows, report } = check;
  for (const [slug, { defaultReleaseId }] of rows.of<DatabaseRow>('databases')) {
    if (rows.has('releases', `${defaultReleaseId} ${slug}`)) continue;
    report(
      'reference_dangling',
      `databases ${slug}`,
      `Its default release ${defaultReleaseId} does not exist.`,
    );
  }
  for (const [key, { slug }] of rows.of<{ slug: string }>('releases')) {
    if (rows.has('databases', slug)) continue;
    report('reference_dangling', `releases ${key}`, `Its database ${slug} does not exist.`);
  }
  const standing = rows.get<string>('settings', 'default-database');
  if (standing !== undefined && !rows.has('databases', standing)) {
    report('reference_dangling', 'settings default-database', `The database ${standing} does not exist.`);
  }
  type Login = { readonly id: string; readonly username: string };
  checkIndex<Login>(check, 'sql-credentials-by-username', 'sql-credentials', ({ username }) => username);
  for (const [short, row] of rows.of<{ id: string; short: string }>('api-keys')) {
    if (row.short !== short) report('index_dangling', `api-keys ${short}`, `It holds the key ${row.id}.`);
  }
}

export function checkTotals({ rows, report }: Check): void {
  const sums = new Map<string, UsageTotals>();
  for (const [, { organizationId, endpoint, units }] of rows.of<UsageEntry>('usage')) {
    const key = `${organizationId} ${endpoint}`;
    const sum = sums.get(key) ?? { calls: 0, units: 0 };
    sums.set(key, { calls: sum.calls + 1, units: sum.units + units });
  }
  const totalsOfKeys = new Map(rows.of<UsageTotals>('usage-totals'));
  for (const key of new Set([...sums.keys(), ...totalsOfKeys.keys()])) {
    const [sum, total] = [sums.get(key), totalsOfKeys.get(key)];
    if (sum?.calls === total?.calls && sum?.units === total?.units) continue;
    const totals = `${total?.calls ?? 0} calls of ${total?.units ?? 0} units`;
    const counted = `${sum?.calls ?? 0} of ${sum?.units ?? 0}`;
    report('total_wrong', `usage-totals ${key}`, `It has ${totals}, but the ledger has ${counted}.`);
  }
  checkUsageOrder({ rows, report });
  checkIdempotency({ rows, report });
}

/** Checks that each entry of the ledger has one number in its organization, and that numbers have no gap. */
function checkUsageOrder({ rows, report }: Check): void {
  const placed = new Set<string>();
  const counts = new Map<string, number>();
  for (const [key, entryId] of rows.of<string>('usage-order')) {
    const [organizationId, place] = key.split(' ');
    const id = `${organizationId} ${entryId}`;
    const count = counts.get(organizationId) ?? 0;
    if (!rows.has('usage', id) || placed.has(id) || Number(place) !== count) {
      report(
        'index_dangling',
        `usage-order ${key}`,
        `It should be place ${count}, of an entry that has no other.`,
      );
    }
    placed.add(id);
    counts.set(organizationId, Number(place) + 1);
  }
  for (const [id] of rows.of<UsageEntry>('usage')) {
    if (!placed.has(id)) report('index_missing', `usage ${id}`, 'It is not in usage-order.');
  }
}

interface StoredResponseRow {
  readonly expiresAtMs: number;
  readonly bytes: number;
  readonly organizationId?: string;
  /** Rows that were written before version 3. */
  readonly response?: object;
}

function checkIdempotency({ rows, report }: Check): void {
  const sums = new Map<string, { responses: number; bytes: number }>();
  for (const [scope, row] of rows.of<StoredResponseRow>('idempotency')) {
    for (const key of [
      'usage',
      ...(row.organizationId === undefined ? [] : [`usage ${row.organizationId}`]),
    ]) {
      const { responses, bytes } = sums.get(key) ?? { responses: 0, bytes: 0 };
      sums.set(key, { responses: responses + 1, bytes: bytes + row.bytes });
    }
    const place = `${String(row.expiresAtMs).padStart(15, '0')}:${scope}`;
    if (!rows.has('idempotency-expiries', place)) {
      report('index_missing', `idempotency ${scope}`, 'It is not in idempotency-expiries.');
    }
    if (row.response === undefined && !rows.has('idempotency-responses', scope)) {
      report('reference_dangling', `idempotency ${scope}`, 'Its response is missing.');
    }
  }
  for (const [scope] of rows.of<Buffer>('idempotency-responses')) {
    if (rows.has('idempotency', scope)) continue;
    report('index_dangling', `idempotency-responses ${scope}`, 'No request is known that it answered.');
  }
  for (const [key, scope] of rows.of<string>('idempotency-expiries')) {
    if (rows.has('idempotency', scope)) continue;
    report('index_dangling', `idempotency-expiries ${key}`, 'There is no such response.');
  }
  const totals = new Map(rows.of<{ responses: number; bytes: number }>('idempotency-usage'));
  for (const key of new Set([...sums.keys(), ...totals.keys()])) {
    const [sum, total] = [sums.get(key), totals.get(key)].map((each) => each ?? { responses: 0, bytes: 0 });
    if (sum.responses === total.responses && sum.bytes === total.bytes) continue;
    const stored = `${total.responses} responses of ${total.bytes} bytes`;
    const counted = `${sum.responses} of ${sum.bytes}`;
    report('total_wrong', `idempotency-usage ${key}`, `It has ${stored}, but there are ${counted}.`);
  }
}

/** A delivery is deleted before its event. The check ignores deliveries and events of about the last hour. */
const EVENT_MARGIN_MS = 60 * 60 * 1000;

export function checkDeliveries(check: Check, now: Date): void {
  const { rows, report } = check;
  const oldest = new Date(now.getTime() - WEBHOOK_DELIVERY_RETENTION_MS + EVENT_MARGIN_MS).toISOString();
  const expected = new Map<string, string[]>();
  for (const [id, { eventId, body, createdAt, status, nextAttemptAt }] of rows.of<WebhookDeliveryRow>(
    'webhook-deliveries',
  )) {
    // The events of a release are deleted with it, at once.
    const mayOutlive = body.startsWith('{"type":"release.');
    if (createdAt >= oldest && !mayOutlive) expected.set(eventId, [...(expected.get(eventId) ?? []), id]);
    if ((status === 'pending') === (nextAttemptAt !== undefined)) continue;
    report(
      'index_missing',
      `webhook-deliveries ${id}`,
      `It is ${status}, and its next attempt is ${nextAttemptAt}.`,
    );
  }
  for (const [, { id }] of rows.of<EventRow>('events')) expected.delete(id);
  for (const [eventId, ids] of expected) {
    for (const id of ids) {
      report('delivery_without_event', `webhook-deliveries ${id}`, `Its event ${eventId} does not exist.`);
    }
  }
  const table = 'webhook-deliveries';
  checkIndex<WebhookDeliveryRow>(
    check,
    `${table}-by-organization`,
    table,
    (row) => `${row.organizationId} ${row.createdAt} ${row.id}`,
  );
  checkIndex<WebhookDeliveryRow>(check, `${table}-by-age`, table, (row) => `${row.createdAt} ${row.id}`);
  const version = versionOf(rows.get<string>(SETTINGS_TABLE, VERSION_KEY));
  checkIndex<WebhookDeliveryRow>(
    check,
    `${table}-due`,
    table,
    ({ organizationId, endpointId, nextAttemptAt, id }) => {
      if (nextAttemptAt === undefined) return undefined;
      const place = `${nextAttemptAt} ${id}`;
      return version < DUE_BY_ENDPOINT_VERSION ? place : `${organizationId} ${endpointId} ${place}`;
    },
  );
}
