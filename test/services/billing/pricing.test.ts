// @module-tag fast

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RequestContext } from '#src/services/context.js';
import { Budgets } from '#src/services/billing/budgets.js';
import { Metering } from '#src/services/billing/metering.js';
import { Pricing } from '#src/services/billing/pricing.js';
import { openControlStore, type ControlStore } from '#src/store/control-store.js';
import { UsageTable } from '#src/store/tables/usage.js';

let folder: string;
let store: ControlStore;
let usage: UsageTable;
const prices = {
  currency: 'CHF',
  unit_prices: { 'homology.search': '0.1', 'homology.batch_search': '0.07' },
};

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gloaming-pricing-'));
  store = openControlStore(folder);
  usage = new UsageTable(store);
});
afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true });
});

function contextOf(organizationId: string, requestId = 'req_1'): RequestContext {
  const { signal } = new AbortController();
  return { requestId, organizationId, keyId: 'key', signal, receivedAtMs: 0 };
}

const entry = (id: string, units: number, organizationId = 'lab') => ({
  id,
  organizationId,
  endpoint: 'homology.batch_search',
  units,
  formulaId: 'runs/1',
  createdAt: '2026-01-01T00:00:00.000Z',
});

describe('a pricing estimate', () => {
  it('multiplies explicit units in decimals, not in binary fractions', () => {
    const request = {
      estimate_type: 'unit_price' as const,
      endpoints: { 'homology.search': { unit_quantity: 3 }, 'homology.batch_search': { unit_quantity: 100 } },
    };
    const { value } = new Pricing(prices, usage).estimate(request, contextOf('lab'));
    expect(value).toEqual({ currency: 'CHF', estimate_type: 'unit_price', total_cost: 7.3 });
  });

  it("takes the organization's own mean units of a successful call", async () => {
    await usage.record([entry('run_1', 10)]);
    await usage.record([entry('run_2', 20)]);
    await usage.record([entry('run_3', 5_000, 'rivals')]);
    const request = {
      estimate_type: 'historical_api_price' as const,
      endpoints: { 'homology.batch_search': { call_quantity: 4 } },
    };
    const { value } = new Pricing(prices, usage).estimate(request, contextOf('lab'));
    expect(value.total_cost).toBe(4.2);
  });

  it('refuses unknown endpoints, missing quantities and a history that is not there, each by its name', () => {
    const pricing = new Pricing(prices, usage);
    const attempt = (estimate_type: 'unit_price' | 'historical_api_price', endpoints: object) => () =>
      pricing.estimate({ estimate_type, endpoints: endpoints as never }, contextOf('lab'));
    expect(attempt('unit_price', { 'a.b': { unit_quantity: 1 } })).toThrow(
      expect.objectContaining({ code: 'pricing_endpoint_unknown' }),
    );
    expect(attempt('unit_price', { 'homology.search': { call_quantity: 1 } })).toThrow(
      expect.objectContaining({ code: 'pricing_quantity_missing' }),
    );
    expect(attempt('historical_api_price', { 'homology.search': { call_quantity: 1 } })).toThrow(
      expect.objectContaining({ code: 'pricing_history_missing' }),
    );
  });
});

describe('the usage ledger', () => {
  it('counts an entry once, however often it is added, and survives a restart', async () => {
    await usage.record([entry('run_1', 10)]);
    await usage.record([entry('run_1', 10)]);
    await store.close();
    store = openControlStore(folder);
    expect(new UsageTable(store).totals('lab', 'homology.batch_search')).toEqual({ calls: 1, units: 10 });
  });

  it('adds entries together as it adds them one by one, in their order', async () => {
    await usage.record([entry('run_1', 1)]);
    await usage.record([
      entry('run_2', 2),
      entry('run_1', 1),
      entry('run_3', 4, 'rivals'),
      { ...entry('req_4', 8), endpoint: 'homology.search' },
      entry('run_2', 2),
      entry('run_5', 16),
    ]);
    expect(usage.totals('lab', 'homology.batch_search')).toEqual({ calls: 3, units: 19 });
    expect(usage.totals('lab', 'homology.search')).toEqual({ calls: 1, units: 8 });
    expect(usage.totals('rivals', 'homology.batch_search')).toEqual({ calls: 1, units: 4 });
    expect(usage.list('lab', 0, 9).map(({ id }) => id)).toEqual(['run_1', 'run_2', 'req_4', 'run_5']);
    expect([usage.count('lab'), usage.count('rivals')]).toEqual([4, 1]);
  });

  it('bills each direct response one unit, also cached ones', async () => {
    const metering = new Metering(usage, () => new Date());
    const first = metering.bill({ value: 1 }, contextOf('lab', 'req_1'));
    metering.bill({ value: 1, isCacheHit: true }, contextOf('lab', 'req_2'));
    await metering.settle();
    expect(first.billableUnits).toBe(1);
    expect(usage.totals('lab', 'homology.search')).toEqual({ calls: 2, units: 2 });
    expect(usage.totals('rivals', 'homology.search')).toEqual({ calls: 0, units: 0 });
  });
});

describe('a budget', () => {
  it('refuses with 402 once the prices of what was used reach it, and only that organization', async () => {
    const budgets = new Budgets({ lab: '0.70', rivals: '0.71' }, prices, usage);
    await usage.record([entry('run_1', 9), entry('run_2', 10, 'rivals'), entry('run_3', 10_000, 'others')]);
    budgets.requireFunds('lab');
    await usage.record([entry('run_4', 1)]);
    expect(() => budgets.requireFunds('lab')).toThrow(
      expect.objectContaining({
        code: 'budget_exhausted',
        message: expect.stringContaining('spent 0.7 of its budget of 0.7 CHF') as string,
      }) as Error,
    );
    budgets.requireFunds('rivals');
    budgets.requireFunds('others');
    // Names of inherited members must not count as budgets.
    budgets.requireFunds('constructor');
  });
});
