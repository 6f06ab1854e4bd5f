// @module-tag fast

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { canBecome, isFinal, RUN_TRANSITIONS, type RunStatus } from '#src/contract/runs/run-states.js';
import { newId } from '#src/ids.js';
import { RUN_RETENTION_MS, UNFINISHED_RUNS_PER_ORGANIZATION_MAX_COUNT } from '#src/limits.js';
import { openControlStore, type ControlStore } from '#src/store/control-store.js';
import { packRows } from '#src/store/tables/run-rows.js';
import { RunTable, type NewRun, type RunRow } from '#src/store/tables/runs.js';
import { atOnce } from '#src/turns.js';

const seed = Number(process.env.GLOAMING_SEED ?? Math.floor(Math.random() * 2 ** 31));
let folder: string;
let store: ControlStore;
let table: RunTable;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'gloaming-run-store-'));
  store = openControlStore(folder);
  table = new RunTable(store);
});
afterAll(async () => {
  await store.close();
  rmSync(folder, { recursive: true });
});

const PLAN = Buffer.from('plan');
const START = Date.parse('2026-03-01T00:00:00Z');
let clock = START;
const tick = (): Date => new Date((clock += 1_000));

function newRun(more: Partial<NewRun> = {}): NewRun {
  return {
    id: newId('run'),
    organizationId: 'lab',
    keyId: 'key_1',
    requestId: 'req_1',
    endpoint: 'homology.search',
    priority: 'normal',
    isBackground: true,
    inputSha256: 'a',
    createdAt: tick().toISOString(),
    totalCount: 10,
    ...more,
  };
}

const scratchRows = (): number => store.table('runs').getKeysCount();

async function queued(more: Partial<NewRun> = {}): Promise<string> {
  const created = await table.create(newRun(more), PLAN);
  if (!('run' in created)) throw new Error(created.status);
  return created.run.id;
}

const piece = async (rows: readonly unknown[], doneCount: number) => ({
  blocks: await packRows(rows),
  stage: 'searching',
  doneCount,
  workMs: 5,
  checkpoint: { doneCount },
});

type Step =
  | { readonly do: 'claim' }
  | { readonly do: 'persist'; readonly isStale: boolean; readonly rowCount: number }
  | {
      readonly do: 'end';
      readonly to: 'completed' | 'failed' | 'cancelled';
      readonly as: 'owner' | 'stale' | 'unclaimed';
    };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant('claim' as const) }),
  fc.record({ do: fc.constant('persist' as const), isStale: fc.boolean(), rowCount: fc.nat(3) }),
  fc.record({
    do: fc.constant('end' as const),
    to: fc.constantFrom('completed' as const, 'failed' as const, 'cancelled' as const),
    as: fc.constantFrom('owner' as const, 'stale' as const, 'unclaimed' as const),
  }),
);

/** Computes the expected result of the steps from the table of states, and compares it with the store. */
async function replayAgainstModel(steps: readonly Step[]): Promise<void> {
  const id = await queued();
  let status: RunStatus = 'queued';
  let claim: string | undefined;
  let rowCount = 0;
  const visited: RunStatus[] = ['queued'];
  for (const current of steps) {
    const before = table.get(id);
    let isAllowed: boolean;
    let result: unknown;
    if (current.do === 'claim') {
      isAllowed = !isFinal(status);
      claim = isAllowed ? newId('req') : claim;
      result = await table.claim(id, isAllowed ? claim! : 'late', tick());
      if (isAllowed && status === 'queued') visited.push((status = 'running'));
    } else if (current.do === 'persist') {
      isAllowed = status === 'running' && !current.isStale;
      const added = await piece(
        Array.from({ length: current.rowCount }, (_, i) => rowCount + i),
        rowCount,
      );
      result = await table.persist(id, current.isStale ? 'stale' : (claim ?? 'none'), added);
      if (isAllowed) rowCount += current.rowCount;
    } else {
      const holder =
        current.as === 'unclaimed' ? undefined : current.as === 'stale' ? 'stale' : (claim ?? 'none');
      isAllowed = canBecome(status, current.to) && (holder === undefined || holder === claim);
      result = await table.end(id, { to: current.to, at: tick(), ...(holder && { claim: holder }) });
      if (isAllowed) visited.push((status = current.to));
    }
    expect(result !== undefined, JSON.stringify(current)).toBe(isAllowed);
    if (!isAllowed) expect(table.get(id)).toEqual(before);
    expect([table.get(id)!.status, table.get(id)!.rowCount]).toEqual([status, rowCount]);
  }
  expect(table.events.after(id, 0).map(({ type, sequence }) => [sequence, type])).toEqual(
    visited.map((state, index) => [index + 1, `run.${state}`]),
  );
  expect(table.unfinished().some((run) => run.id === id)).toBe(!isFinal(status));
  expect(table.plan(id) !== undefined).toBe(!isFinal(status));
}

describe(`the states of a run (seed ${seed})`, () => {
  it('have no way out of completed, failed and cancelled', () => {
    const statuses = Object.keys(RUN_TRANSITIONS) as RunStatus[];
    expect(statuses.filter(isFinal)).toEqual(['completed', 'failed', 'cancelled']);
    for (const from of statuses)
      for (const to of statuses) if (isFinal(from)) expect(canBecome(from, to)).toBe(false);
  });

  it('follow the table for every sequence of steps, and every change has exactly one event', async () => {
    await fc.assert(fc.asyncProperty(fc.array(step, { maxLength: 12 }), replayAgainstModel), {
      seed,
      numRuns: 60,
    });
  });

  it('have one winner if several callers end a run at once', async () => {
    for (let round = 0; round < 10; round += 1) {
      const id = await queued();
      await table.claim(id, 'owner', tick());
      const ends = await Promise.all([
        table.end(id, { to: 'cancelled', at: tick() }),
        table.end(id, {
          to: 'completed',
          at: tick(),
          claim: 'owner',
          summarise: () => ({}),
          billableUnits: 1,
        }),
        table.end(id, { to: 'failed', at: tick(), claim: 'owner' }),
        table.end(id, { to: 'cancelled', at: tick() }),
      ]);
      expect(ends.filter(Boolean)).toHaveLength(1);
      const types = table.events.after(id, 0).map(({ type }) => type);
      expect(types).toEqual(['run.queued', 'run.running', `run.${table.get(id)!.status}`]);
    }
  });
});

describe('the rows of a run', () => {
  it('are found by position over many blocks, and never change', async () => {
    const id = await queued();
    await table.claim(id, 'owner', tick());
    const rows = Array.from({ length: 1_203 }, (_, index) => ({ index, text: 'x'.repeat(index % 50) }));
    await table.persist(id, 'owner', await piece(rows.slice(0, 700), 1));
    await table.persist(id, 'owner', await piece([], 1));
    await table.end(id, {
      to: 'completed',
      at: tick(),
      claim: 'owner',
      piece: await piece(rows.slice(700), 2),
    });
    for (const position of [0, 1, 499, 500, 699, 700, 1_199, 1_202]) {
      const block = await table.rows.blockAt(id, position);
      expect(block!.rows[position - block!.firstRow]).toEqual(rows[position]);
    }
    expect(await table.rows.blockAt(id, 1_203)).toBeUndefined();
    expect(table.get(id)!.rowCount).toBe(1_203);
  });
});

describe('the table of runs', () => {
  it('accepts no run whose response cannot be stored with it', async () => {
    const run = newRun();
    const refuse = (): void => {
      throw new Error('no room for the answer');
    };
    await expect(table.create(run, PLAN, refuse)).rejects.toThrow('no room for the answer');
    expect(table.get(run.id)).toBeUndefined();
    expect(table.plan(run.id)).toBeUndefined();
  });

  it('lists the newest first, page by page, by state and endpoint', async () => {
    const ids: string[] = [];
    for (let index = 0; index < 7; index += 1) {
      ids.unshift(await queued({ organizationId: 'listing', endpoint: index % 2 ? 'odd' : 'even' }));
    }
    await table.end(ids[0], { to: 'cancelled', at: tick() });
    const pages: string[][] = [];
    let position: string | undefined;
    do {
      const page = atOnce(table.list('listing', {}, { limit: 3 }, position));
      pages.push(page.runs.map(({ id }) => id));
      position = page.position;
    } while (position !== undefined);
    expect(pages.flat()).toEqual(ids);
    expect(pages.map(({ length }) => length)).toEqual([3, 3, 1]);
    const all = (organizationId: string, filter: Parameters<RunTable['list']>[1] = {}) =>
      atOnce(table.list(organizationId, filter, { limit: 9 })).runs.map(({ id }) => id);
    expect(all('listing', { status: 'cancelled' })).toEqual([ids[0]]);
    expect(all('listing', { endpoint: 'odd' })).toHaveLength(3);
    expect(all('listin')).toEqual([]);
  });

  it('ends a page before the first run that is not taken, shows each run once, and skips none', async () => {
    const ids: string[] = [];
    for (let index = 0; index < 5; index += 1) ids.unshift(await queued({ organizationId: 'large' }));
    const pages: string[][] = [];
    let position: string | undefined;
    do {
      const shown: string[] = [];
      const take = ({ id }: RunRow): boolean => {
        shown.push(id);
        return shown.length === 1 || (shown.length === 2 && id !== ids[2] && shown[0] !== ids[2]);
      };
      const page = atOnce(table.list('large', {}, { limit: 9, take }, position));
      expect(new Set(shown).size).toBe(shown.length);
      pages.push(page.runs.map(({ id }) => id));
      position = page.position;
    } while (position !== undefined);
    expect(pages).toEqual([ids.slice(0, 2), [ids[2]], ids.slice(3)]);
  });

  it('pauses after each run that it reads for a page, and lists none that is deleted meanwhile', async () => {
    const ids: string[] = [];
    for (let index = 0; index < 120; index += 1) ids.unshift(await queued({ organizationId: 'paused' }));
    await table.end(ids[50], { to: 'cancelled', at: tick() });
    const listing = table.list('paused', { status: 'cancelled' }, { limit: 9 });
    let pauses = 0;
    let step = listing.next();
    for (; step.done !== true; step = listing.next()) {
      pauses += 1;
      if (pauses !== 10) continue;
      for (const retentions of [2, 4]) {
        while (await table.sweep(new Date(START + retentions * RUN_RETENTION_MS)));
      }
    }
    expect(pauses).toBe(120);
    expect(step.value).toEqual({ runs: [] });
  });

  it('deletes expired results, and the run after the same time again', async () => {
    const id = await queued({ organizationId: 'old' });
    await table.claim(id, 'owner', tick());
    await table.end(id, { to: 'completed', at: tick(), claim: 'owner', piece: await piece([1, 2], 2) });
    const expiry = Date.parse(table.get(id)!.expiresAt!);
    const sweepAll = async (at: number) => {
      while (await table.sweep(new Date(at)));
    };
    await sweepAll(expiry - 1);
    expect(table.get(id)!.areResultsGone).toBe(false);
    await sweepAll(expiry + 1);
    expect(table.get(id)!.areResultsGone).toBe(true);
    expect(await table.rows.blockAt(id, 0)).toBeUndefined();
    await sweepAll(expiry + 2 + RUN_RETENTION_MS);
    expect(table.get(id)).toBeUndefined();
    expect(table.events.after(id, 0)).toEqual([]);
    expect(atOnce(table.list('old', {}, { limit: 9 })).runs).toEqual([]);
  });

  it('refuses more stored runs of one organization than its share, and only of that one', async () => {
    const stored = scratchRows();
    const small = new RunTable(store, {}, stored + 20);
    const create = async (organizationId: string) =>
      (await small.create(newRun({ organizationId }), PLAN)).status;
    for (let at = 0; at < 18; at += 1) expect(await create('hoarder')).toBe('created');
    expect(await create('hoarder')).toBe('storage_full');
    const reopened = new RunTable(store, {}, stored + 20);
    expect((await reopened.create(newRun({ organizationId: 'hoarder' }), PLAN)).status).toBe('storage_full');
    for (let at = 0; at < 2; at += 1) expect(await create('saver')).toBe('created');
    expect(await create('saver')).toBe('storage_full');
  });

  it('refuses more unfinished runs of one organization than its share, and only of that one', async () => {
    const count = UNFINISHED_RUNS_PER_ORGANIZATION_MAX_COUNT;
    const runs = await Promise.all(
      Array.from({ length: count + 3 }, () => table.create(newRun({ organizationId: 'greedy' }), PLAN)),
    );
    expect(runs.filter(({ status }) => status === 'created')).toHaveLength(count);
    expect(runs.at(-1)).toEqual({ status: 'organization_full', quota: count });
    expect((await table.create(newRun({ organizationId: 'modest' }), PLAN)).status).toBe('created');
  });
});
