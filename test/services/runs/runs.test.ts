import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { RunRequest } from '#src/contract/runs/runs.js';
import { Refusal } from '#src/errors.js';
import {
  RUN_ATTEMPT_WAIT_MAX_MS,
  RUN_MAX_FRUITLESS_ATTEMPTS,
  RUN_PROMPT_ATTEMPTS_MAX_COUNT,
} from '#src/limits.js';
import { Pages } from '#src/services/pages.js';
import { defineRunKind, type RunWork } from '#src/services/runs/run-kind.js';
import { Runs } from '#src/services/runs/runs.js';
import { openControlStore, type ControlStore } from '#src/store/control-store.js';
import { RunTable } from '#src/store/tables/runs.js';
import type { World } from '#src/world.js';
import { context, gate } from './hands.js';
import { heldWorld } from './held-world.js';

/* Runs on a real LMDB, with a stub kind whose pieces the test controls. */

/** Behaviour of the stub kind at each piece, selected by the label of the run. */
interface Plan {
  readonly pieces: number;
  readonly label: string;
}

let folder: string;
let store: ControlStore;
let runs: Runs;
let executed: string[];
/** Labels of runs whose work has cleaned up. */
let cleaned: string[];
let faults: unknown[];
let waits: unknown[];
let onPiece: (label: string, piece: number, work: RunWork) => Promise<void>;

function openRuns(hands: { readonly now?: () => Date; readonly world?: World } = {}): Runs {
  const kind = defineRunKind<'homology.batch_search', Plan>({
    key: 'homology.batch_search',
    async prepare({ queries = [] }) {
      if (queries[0].sequence === 'X') throw new Refusal('invalid_sequence', 'Not a protein.');
      return { plan: { pieces: queries.length, label: queries[0].id ?? '' }, totalCount: queries.length };
    },
    async *execute({ pieces, label }, work) {
      const { done } = (work.checkpoint as { done: number } | undefined) ?? { done: 0 };
      try {
        for (let piece = done; piece < pieces; piece += 1) {
          await onPiece(label, piece, work);
          executed.push(`${label}${piece}`);
          yield {
            rows: [`${label}${piece}`],
            stage: 'searching',
            doneCount: piece + 1,
            checkpoint: { done: piece + 1 },
          };
        }
        return { rows: ['last'], doneCount: pieces, summarise: () => ({ label }), billableUnits: pieces };
      } finally {
        // Waits past the turn that ends the run, unless that turn is held.
        await nextTurn();
        cleaned.push(label);
      }
    },
  });
  return new Runs({
    table: new RunTable(store),
    kinds: [kind],
    pages: new Pages(Buffer.alloc(32, 1)),
    receipts: { get: () => expect.fail('no run here has a receipt') },
    now: () => new Date(),
    concurrency: 1,
    requireWebhookEndpoint: () => undefined,
    ...hands,
  });
}

async function startRuns(world?: World): Promise<void> {
  runs = openRuns({ world });
  await runs.start(
    (error) => faults.push(error),
    (cause, runId) => waits.push([runId, cause]),
  );
}

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gloaming-run-service-'));
  store = openControlStore(folder);
  executed = [];
  cleaned = [];
  faults = [];
  waits = [];
  onPiece = async () => undefined;
  await startRuns();
});
afterEach(async () => {
  await runs.stop();
  await store.close();
  rmSync(folder, { recursive: true });
});

async function create(label: string, pieces: number, organizationId = 'lab', more: Partial<RunRequest> = {}) {
  const queries = Array.from({ length: pieces }, () => ({ id: label, sequence: 'MK' }));
  const request = {
    endpoint: 'homology.batch_search',
    input: {
      queries,
      limit: 1,
      evidence: 'candidate_measurement',
      guarantee: 'exhaustive',
      significance: 'not_requested',
    },
    priority: 'normal',
    background: true,
    ...more,
  } as RunRequest;
  return (await runs.create(request, {}, context(organizationId))).value;
}

const end = async (id: string, organizationId = 'lab') =>
  (await runs.get(id, { Prefer: 'wait=20' }, context(organizationId))).value;
const rowsOf = async (id: string) => (await runs.results(id, { limit: 100 }, context())).value;

async function eventsOf(id: string): Promise<string[]> {
  const types: string[] = [];
  for await (const text of runs.events(id, undefined, context()).stream!) {
    types.push(...[...text.matchAll(/^event: (.*)$/gm)].map(([, type]) => type));
  }
  return types;
}

describe('a run', () => {
  it('executes its steps in order and ends with its result and events', async () => {
    const { id } = await create('a', 3);
    const run = await end(id);
    expect(run).toMatchObject({ status: 'completed', attempt_count: 1, usage: { billable_units: 3 } });
    expect(run.result).toEqual({ row_count: 4, summary: { label: 'a' } });
    expect((await rowsOf(id)).data).toEqual(['a0', 'a1', 'a2', 'last']);
    const types = await eventsOf(id);
    expect(types).toEqual(['run.queued', 'run.running', 'run.completed']);
  });

  it('shows rows and progress during its execution, and announces further rows', async () => {
    const { reached, reach, open, release } = gate();
    onPiece = async (_, piece) => {
      await pause(2);
      if (piece !== 2) return;
      reach();
      await open;
    };
    const { id } = await create('a', 4);
    await reached;
    const { value: run } = await runs.get(id, {}, context());
    expect(run).toMatchObject({
      status: 'running',
      progress: { stage: 'searching', done_count: 2, fraction: 0.5 },
    });
    expect(run.progress.rate_per_second).toBeGreaterThan(0);
    expect(run.progress.seconds_left).toBeCloseTo(2 / run.progress.rate_per_second!, 6);
    const partial = await rowsOf(id);
    expect(partial).toMatchObject({ data: ['a0', 'a1'], has_more: true });
    const types = eventsOf(id);
    release();
    expect(await types).toContain('run.progress');
    const rest = await runs.results(id, { limit: 100, cursor: partial.next_cursor! }, context());
    expect(rest.value).toMatchObject({ data: ['a2', 'a3', 'last'], has_more: false, next_cursor: null });
  });

  it('fails with the code of a refusal, and keeps its results so far', async () => {
    onPiece = async (_, piece) => {
      if (piece === 1) throw new Refusal('release_not_found', 'The release has gone.', { param: 'x' });
    };
    const run = await end((await create('a', 3)).id);
    expect(run).toMatchObject({
      status: 'failed',
      error: { code: 'release_not_found', message: 'The release has gone.', details: { param: 'x' } },
      usage: { billable_units: 0 },
    });
    expect(await rowsOf(run.id)).toMatchObject({ data: ['a0'], has_more: false });
    expect(faults).toEqual([]);
  });

  it('fails without details of an internal failure, which is logged', async () => {
    onPiece = async () => {
      throw new Error('secret disk');
    };
    const run = await end((await create('a', 1)).id);
    expect(run).toMatchObject({ status: 'failed', error: { code: 'internal_error' } });
    expect(JSON.stringify(run)).not.toContain('secret');
    expect(faults.map(String)).toEqual(['Error: secret disk']);
  });

  it('lets its work clean up before the server stops if a piece cannot be stored', async () => {
    const persist = vi.spyOn(RunTable.prototype, 'persist').mockRejectedValueOnce(new Error('secret row'));
    const run = await end((await create('a', 2)).id);
    persist.mockRestore();
    expect(run).toMatchObject({ status: 'failed', error: { code: 'internal_error' } });
    await runs.stop();
    expect([executed, cleaned]).toEqual([['a0'], ['a']]);
    expect(faults.map(String)).toEqual(['Error: secret row']);
  });

  it('fails with details that have the names of the contract', async () => {
    onPiece = async () => {
      throw new Refusal('release_not_found', 'The release has gone.', { param: 'x', retryAfterSeconds: 3 });
    };
    const { error } = await end((await create('a', 1)).id);
    expect(error?.details).toEqual({ param: 'x', retry_after_seconds: 3 });
  });

  it('is not created if its input is refused', async () => {
    const input = { queries: [{ sequence: 'X' }] };
    await expect(create('a', 1, 'lab', { input } as never)).rejects.toThrow('Not a protein.');
    expect((await runs.list({ limit: 10 }, context())).value.data).toEqual([]);
  });
});

describe('cancelling', () => {
  it('ends a running run, whose later pieces are discarded', async () => {
    const { reached, reach, open, release } = gate();
    let reason: unknown;
    onPiece = async (_, piece, { context: { signal } }) => {
      if (piece !== 1) return;
      signal.addEventListener('abort', () => (reason = signal.reason));
      reach();
      await open;
    };
    const { id } = await create('a', 3);
    await reached;
    const { value: cancelled } = await runs.cancel(id, context());
    expect(cancelled.status).toBe('cancelled');
    expect(String(reason)).toContain('Interrupted');
    release();
    await pause(30);
    expect((await runs.get(id, {}, context())).value).toEqual(cancelled);
    expect(await rowsOf(id)).toMatchObject({ data: ['a0'], has_more: false });
    expect(await eventsOf(id)).toEqual(['run.queued', 'run.running', 'run.cancelled']);
  });

  it('twice returns the same run and writes nothing', async () => {
    onPiece = () => pause(10);
    await create('first', 5);
    const { id } = await create('second', 1);
    const once = await runs.cancel(id, context());
    const twice = await runs.cancel(id, context());
    expect(twice.value).toEqual(once.value);
    expect(once.value).toMatchObject({ status: 'cancelled', attempt_count: 0 });
    expect(await eventsOf(id)).toEqual(['run.queued', 'run.cancelled']);
  });

  it('is refused for a run that has completed or failed', async () => {
    const { id } = await create('a', 1);
    await end(id);
    await expect(runs.cancel(id, context())).rejects.toMatchObject({ code: 'run_already_finished' });
  });
});

describe('a restarted server', () => {
  it('continues after the last stored piece, and repeats no piece', async () => {
    const { reached, reach } = gate();
    onPiece = async (_, piece, { context: { signal } }) => {
      if (piece !== 2) return;
      reach();
      await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    };
    const { id } = await create('a', 4);
    const { id: second } = await create('b', 1);
    await reached;
    await runs.stop();
    expect(executed).toEqual(['a0', 'a1']);
    onPiece = async () => undefined;
    await startRuns();
    expect(await end(id)).toMatchObject({ status: 'completed', attempt_count: 2 });
    expect(await end(second)).toMatchObject({ status: 'completed', attempt_count: 1 });
    expect(executed.filter((piece) => piece.startsWith('a'))).toEqual(['a0', 'a1', 'a2', 'a3']);
    expect((await rowsOf(id)).data).toEqual(['a0', 'a1', 'a2', 'a3', 'last']);
    expect(faults).toEqual([]);
  });

  it('fails a run that ended the server repeatedly before a piece was stored', async () => {
    const table = new RunTable(store);
    await runs.stop();
    runs = openRuns();
    const { id } = await create('a', 1);
    for (let attempt = 0; attempt <= RUN_MAX_FRUITLESS_ATTEMPTS; attempt += 1) {
      await table.claim(id, `crash ${attempt}`, new Date(Date.now() - RUN_ATTEMPT_WAIT_MAX_MS));
    }
    await runs.start((error) => faults.push(error));
    expect(await end(id)).toMatchObject({ status: 'failed', error: { code: 'run_interrupted' } });
    expect(executed).toEqual([]);
  });

  it('prefers other runs to one that was running when several servers ended', async () => {
    const table = new RunTable(store);
    await runs.stop();
    const at = new Date('2026-01-02T03:04:05Z');
    const { held, world } = heldWorld();
    runs = openRuns({ now: () => at, world });
    const { id } = await create('a', 1);
    const { id: other } = await create('b', 1);
    for (let attempt = 0; attempt <= RUN_PROMPT_ATTEMPTS_MAX_COUNT; attempt += 1) {
      await table.claim(id, `crash ${attempt}`, at);
    }
    await runs.start((error) => faults.push(error));
    const [timer] = held.timers;
    expect([held.timers.size, timer.ms]).toEqual([1, 2_000]);
    expect(await end(other)).toMatchObject({ status: 'completed' });
    expect(executed).toEqual(['b0']);
    timer.work();
    expect(await end(id)).toMatchObject({ status: 'completed' });
  });

  it('serves, and fails no run, if expired runs cannot be removed', async () => {
    await runs.stop();
    const failure = new Error('no room');
    const sweep = vi.spyOn(RunTable.prototype, 'sweep').mockRejectedValueOnce(failure);
    const notices: unknown[][] = [];
    runs = openRuns();
    await runs.start((...facts) => notices.push(facts));
    sweep.mockRestore();
    expect(notices).toEqual([[failure]]);
    const { id } = await create('a', 1);
    expect(await end(id)).toMatchObject({ status: 'completed' });
  });

  it('does not touch a run that another process has taken over', async () => {
    const table = new RunTable(store);
    const { reached, reach, open, release } = gate();
    onPiece = async (_, piece) => {
      if (piece !== 1) return;
      reach();
      await open;
    };
    const { id } = await create('a', 3);
    await reached;
    await table.claim(id, 'the other process', new Date());
    release();
    await pause(30);
    expect((await rowsOf(id)).data).toEqual(['a0']);
    expect((await runs.get(id, {}, context())).value).toMatchObject({ status: 'running', attempt_count: 2 });
  });
});

describe('turns', () => {
  it('go round between organizations after every piece', async () => {
    const { reached, reach, open, release } = gate();
    onPiece = async (label, piece) => {
      if (label !== 'a' || piece !== 0) return;
      reach();
      await open;
    };
    const long = await create('a', 4);
    await reached;
    const short = await create('b', 2, 'other');
    release();
    await end(long.id);
    await end(short.id, 'other');
    // b waits for at most one piece of a.
    expect(executed.join(' ')).toMatch(/^a0 (a1 )?b0 a\d b1/);
  });

  it('are awaited with Prefer, no longer than requested', async () => {
    await runs.stop();
    const { held, world } = heldWorld();
    await startRuns(world);
    const { reached, reach, open, release } = gate();
    onPiece = () => {
      reach();
      return open;
    };
    const { id } = await create('a', 1);
    await reached;
    const early = await runs.get(id, { Prefer: 'respond-async, wait=0' }, context());
    expect([early.value.status, held.timers.size]).toEqual(['running', 0]);
    const late = runs.get(id, { Prefer: 'wait=10' }, context());
    const [timer] = held.timers;
    expect(timer.ms).toBe(10_000);
    held.atMs = 10_000;
    timer.work();
    expect((await late).value.status).toBe('running');
    const waiting = runs.get(id, { Prefer: 'wait=10' }, context());
    release();
    const waited = await waiting;
    expect(waited.value.status).toBe('completed');
    expect(waited.headers).toEqual({ 'Preference-Applied': 'wait=10' });
  });
});
