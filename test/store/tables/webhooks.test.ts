// @module-tag fast

import { describe, expect, it } from 'vitest';
import { WEBHOOK_DELIVERY_RETENTION_MS } from '#src/limits.js';
import type { EventRow } from '#src/store/tables/events.js';
import { WebhookTable, type WebhookEndpointRow } from '#src/store/tables/webhooks.js';
import { useScratchStore } from '../scratch-store.js';

const scratch = useScratchStore();

const START = Date.parse('2026-01-01T00:00:00.000Z');
const at = (seconds: number): string => new Date(START + seconds * 1000).toISOString();

function endpoint(id: string, more: Partial<WebhookEndpointRow> = {}): WebhookEndpointRow {
  return {
    id: `whe_${id}`,
    organizationId: 'lab',
    url: 'https://lab.example/hook',
    eventTypes: ['run.completed'],
    secrets: [],
    createdAt: at(0),
    updatedAt: at(0),
    ...more,
  };
}

function event(seconds: number, more: Partial<EventRow> = {}): EventRow {
  const subjectId = 'run_a';
  const id = `evt_${seconds}`;
  const type = 'run.completed';
  return {
    id,
    sequence: 1,
    type,
    organizationId: 'lab',
    subjectId,
    timestamp: at(seconds),
    data: {},
    ...more,
  };
}

async function tableWith(...endpoints: readonly WebhookEndpointRow[]): Promise<WebhookTable> {
  const table = new WebhookTable(scratch.store);
  for (const row of endpoints) await table.addEndpoint(row, 10);
  return table;
}

const enqueue = (table: WebhookTable, ...events: readonly EventRow[]): Promise<void> =>
  scratch.store.transaction(() => {
    for (const each of events) table.enqueue(each);
  });
/** Due delivery of the endpoint `whe_a`. */
const due = (table: WebhookTable, seconds: number, atWork: readonly string[] = []) =>
  table.due({ organizationId: 'lab', endpointId: 'whe_a' }, new Date(at(seconds)), new Set(atWork));
const all = (table: WebhookTable) => table.deliveries('lab', {}, 100).deliveries;

describe('an event', () => {
  it('is delivered to each enabled endpoint of its organization that subscribes to its type or is named', async () => {
    const table = await tableWith(
      endpoint('takes'),
      endpoint('other', { eventTypes: ['file.completed'] }),
      endpoint('told', { eventTypes: [] }),
      endpoint('off', { disabledReason: 'gone' }),
      endpoint('rival', { organizationId: 'rival' }),
    );
    await enqueue(table, event(1, { toldEndpointId: 'whe_told' }));
    expect(all(table).map(({ endpointId }) => endpointId)).toEqual(
      expect.arrayContaining(['whe_takes', 'whe_told']),
    );
    expect(all(table)).toHaveLength(2);
    expect([...table.listeners('run.completed')].sort()).toEqual(['lab', 'rival']);
  });

  it('has no delivery if its transaction fails', async () => {
    const table = await tableWith(endpoint('a'));
    const failing = scratch.store.transaction(() => {
      table.enqueue(event(1));
      throw new Error('refused');
    });
    await expect(failing).rejects.toThrow('refused');
    expect(all(table)).toEqual([]);
    expect([...table.waiting()]).toEqual([]);
  });
});

describe('a delivery', () => {
  it('is due from its time on, the longest waiting first, and not after its end', async () => {
    const table = await tableWith(endpoint('a'));
    await enqueue(table, event(2), event(1), event(3));
    expect(due(table, 0)).toBeUndefined();
    const first = due(table, 2)!;
    expect(first.eventId).toBe('evt_1');
    expect(due(table, 2, [first.id])?.eventId).toBe('evt_2');
    const { nextAttemptAt: _, ...ended } = first;
    await table.settle({ ...ended, status: 'delivered', attemptCount: 1 }, { lastSuccessAt: at(2) });
    expect(due(table, 9)?.eventId).toBe('evt_2');
    expect(table.endpoint('whe_a')?.lastSuccessAt).toBe(at(2));
    expect(table.deliveries('lab', { status: 'delivered' }, 10).deliveries).toHaveLength(1);
  });

  it('waits in the queue of its endpoint, which has the due time of its first delivery', async () => {
    const table = await tableWith(
      endpoint('a'),
      endpoint('b'),
      endpoint('rival', { organizationId: 'lab2' }),
      endpoint('idle', { eventTypes: [] }),
    );
    await enqueue(table, event(3), event(2), event(5, { organizationId: 'lab2' }));
    expect([...table.waiting()]).toEqual([
      { organizationId: 'lab', endpointId: 'whe_a', dueAt: at(2) },
      { organizationId: 'lab', endpointId: 'whe_b', dueAt: at(2) },
      { organizationId: 'lab2', endpointId: 'whe_rival', dueAt: at(5) },
    ]);
  });

  it('whose schedule was restarted during an attempt only counts that attempt', async () => {
    const table = await tableWith(endpoint('a'));
    await enqueue(table, event(1));
    const [before] = all(table);
    const restarted = { ...before, scheduleStartedAt: at(9), nextAttemptAt: at(9) };
    await table.startAnew(restarted, {}, () => undefined);
    await table.settle({ ...before, status: 'failed', attemptCount: 4, nextAttemptAt: undefined }, {});
    expect(all(table)[0]).toMatchObject({ status: 'pending', attemptCount: 4, nextAttemptAt: at(9) });
  });

  it('is listed newest first, page by page', async () => {
    const table = await tableWith(endpoint('a'));
    await enqueue(table, event(1), event(2), event(3));
    const first = table.deliveries('lab', {}, 2);
    expect(first.deliveries.map(({ eventId }) => eventId)).toEqual(['evt_3', 'evt_2']);
    const second = table.deliveries('lab', {}, 2, first.position);
    expect(second.deliveries.map(({ eventId }) => eventId)).toEqual(['evt_1']);
    expect(second.position).toBeUndefined();
  });

  it('is deleted when its time is over, in any state, and a later outcome writes nothing', async () => {
    const table = await tableWith(endpoint('a'));
    await enqueue(table, event(1), event(100));
    const old = all(table)[1];
    expect(await table.sweep(new Date(START + WEBHOOK_DELIVERY_RETENTION_MS + 50_000))).toBe(false);
    await table.settle({ ...old, status: 'failed' }, {});
    expect(all(table).map(({ eventId }) => eventId)).toEqual(['evt_100']);
    expect(table.delivery(old.id)).toBeUndefined();
    expect(due(table, 100)?.eventId).toBe('evt_100');
    expect(due(table, 99)).toBeUndefined();
  });
});

describe('an endpoint', () => {
  it('is not added beyond the limit, and is absent after its removal', async () => {
    const table = await tableWith(endpoint('b', { createdAt: at(2) }), endpoint('a', { createdAt: at(1) }));
    expect(await table.addEndpoint(endpoint('c'), 2)).toBe(false);
    expect(table.endpoints('lab').map(({ id }) => id)).toEqual(['whe_a', 'whe_b']);
    await table.removeEndpoint('whe_a');
    expect(table.endpoint('whe_a')).toBeUndefined();
    expect(
      await table.changeEndpoint('whe_a', { url: 'https://other.example' }, (row) => row),
    ).toBeUndefined();
  });
});
