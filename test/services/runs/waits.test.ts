import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RunRequest } from '#src/contract/runs/runs.js';
import { Refusal } from '#src/errors.js';
import { Pages } from '#src/services/pages.js';
import { defineRunKind } from '#src/services/runs/run-kind.js';
import { Runs } from '#src/services/runs/runs.js';
import { openControlStore, type ControlStore } from '#src/store/control-store.js';
import { RunTable } from '#src/store/tables/runs.js';
import { SOON } from '../../tools/expectations.js';
import { context } from './hands.js';
import { heldWorld } from './held-world.js';

/* Runs that wait for the disk or for workers, with timers that the test fires. */

const FULL = new Refusal('storage_full', 'Not now.');
const PIECES = 2;

let folder: string;
let store: ControlStore;
let runs: Runs;
let timers: ReturnType<typeof heldWorld>['held']['timers'];
let executed: number[];
let startCount: number;
let faults: unknown[];
let waits: unknown[];
/** Refusals of the second piece, in order. */
let refusals: Refusal[];
/** Whether the work itself waits. Otherwise it throws the refusal. */
let isWaitingItself: boolean;

async function startRuns(): Promise<void> {
  const { held, world } = heldWorld();
  timers = held.timers;
  const kind = defineRunKind<'homology.batch_search', null>({
    key: 'homology.batch_search',
    prepare: async () => ({ plan: null, totalCount: PIECES }),
    async *execute(_, { checkpoint }) {
      startCount += 1;
      for (let piece = (checkpoint as number | undefined) ?? 0; piece < PIECES; piece += 1) {
        for (let refusal; piece === 1 && (refusal = refusals.shift()) !== undefined;) {
          if (!isWaitingItself) throw refusal;
          yield { rows: [], stage: 'waiting', doneCount: piece, checkpoint: 0, waitsFor: refusal };
        }
        executed.push(piece);
        yield { rows: [piece], stage: 'searching', doneCount: piece + 1, checkpoint: piece + 1 };
      }
      return { rows: [], doneCount: PIECES, summarise: () => ({}), billableUnits: PIECES };
    },
  });
  runs = new Runs({
    table: new RunTable(store),
    kinds: [kind],
    pages: new Pages(Buffer.alloc(32, 1)),
    receipts: { get: () => expect.fail('no run here has a receipt') },
    now: () => new Date(),
    concurrency: 1,
    requireWebhookEndpoint: () => undefined,
    world,
  });
  await runs.start(
    (error) => faults.push(error),
    (cause, runId) => waits.push([runId, cause]),
  );
}

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gloaming-run-waits-'));
  store = openControlStore(folder);
  [executed, faults, waits, refusals] = [[], [], [], []];
  [startCount, isWaitingItself] = [0, false];
  await startRuns();
});
afterEach(async () => {
  await runs.stop();
  await store.close();
  rmSync(folder, { recursive: true });
});

async function create(): Promise<string> {
  const request = {
    endpoint: 'homology.batch_search',
    input: { queries: [{ sequence: 'MK' }], limit: 1 },
    priority: 'normal',
    background: true,
  } as RunRequest;
  return (await runs.create(request, {}, context())).value.id;
}

const end = async (id: string) => (await runs.get(id, { Prefer: 'wait=20' }, context())).value;
const untilWaiting = (): Promise<void> => expect.poll(() => timers.size, SOON).toBe(1);

async function fire(): Promise<void> {
  await untilWaiting();
  const [timer] = timers;
  timers.clear();
  timer.work();
}

describe('a run', () => {
  it.each(['worker_unavailable', 'storage_unavailable', 'storage_full'] as const)(
    'waits at the refusal %s, which is reported once, and not as an internal failure',
    async (code) => {
      const refusal = new Refusal(code, 'Not now.');
      refusals = [refusal, refusal];
      const id = await create();
      await fire();
      await fire();
      expect(await end(id)).toMatchObject({ status: 'completed', attempt_count: 1 });
      expect(waits).toEqual([[id, refusal]]);
      expect(faults).toEqual([]);
      expect([executed, startCount]).toEqual([[0, 1], 3]);
    },
  );

  it('keeps its work while the work itself waits, and stores no step of the wait', async () => {
    isWaitingItself = true;
    refusals = [FULL, FULL];
    const id = await create();
    await fire();
    await untilWaiting();
    expect((await runs.get(id, {}, context())).value.progress.stage).toBe('searching');
    await fire();
    expect(await end(id)).toMatchObject({ status: 'completed', attempt_count: 1 });
    expect(waits).toEqual([[id, FULL]]);
    expect([executed, startCount]).toEqual([[0, 1], 1]);
  });
});

describe.each([false, true])('a run that waits for room on the disk (itself: %s)', (itself) => {
  let id: string;

  beforeEach(async () => {
    isWaitingItself = itself;
    refusals = Array.from({ length: 9 }, () => FULL);
    id = await create();
    await untilWaiting();
  });

  it('can be cancelled', async () => {
    expect((await runs.cancel(id, context())).value.status).toBe('cancelled');
    await fire();
    expect(await end(id)).toMatchObject({ status: 'cancelled' });
    expect(executed).toEqual([0]);
  });

  it('continues after a restart', async () => {
    await runs.stop();
    refusals = [];
    await startRuns();
    expect(await end(id)).toMatchObject({ status: 'completed', attempt_count: 2 });
    expect(executed).toEqual([0, 1]);
  });
});
