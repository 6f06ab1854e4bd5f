import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { policyDefinition } from '#src/recall/policy-card.js';
import { DEMO_SLUG } from '#src/demo/demo.js';
import { Refusal } from '#src/errors.js';
import { compileFilter } from '#src/release/filter/filter.js';
import { compileTargetSpace, unfilteredSpace } from '#src/release/filter/target-space.js';
import { decodePartialResults, encodePartialResults } from '#src/search/partitions/encoding.js';
import type { PartialResult } from '#src/search/partitions/scan.js';
import { searchMany } from '#src/search/search.js';
import type { ProteinQuery, SearchEngine, SearchSettings } from '#src/search/search-types.js';
import { createWorkers, type WorkerFailure, type Workers } from '#src/services/workers/workers.js';
import { WorkerRefusal } from '#src/services/workers/worker-connection.js';
import type { WorkerSettings } from '#src/config.js';
import { realWorld } from '#src/world.js';
import { startRelay, type Relay, type Relaying } from './relay.js';
import { qualifiedFor } from '../../search/qualification.js';
import { startSmallAppliance, type SmallAppliance } from '../../tools/small-appliance.js';

/* A front whose workers are a real appliance behind two relays, which do as they are told. */

const folder = mkdtempSync(join(tmpdir(), 'gloaming-workers-'));
const keyFile = join(folder, 'worker.key');
let worker: SmallAppliance;
let relays: readonly [Relay, Relay];
let engine: SearchEngine;
let queries: readonly ProteinQuery[];

beforeAll(async () => {
  worker = await startSmallAppliance({ serve_parts: true });
  relays = [await startRelay(worker.url), await startRelay(worker.url)];
  writeFileSync(
    keyFile,
    `${(await worker.appliance.keys.create('front', 'default', { scope: 'search' })).key}\n`,
  );
  const { catalog, engines } = worker.appliance;
  engine = await engines.open(catalog.defaultRelease(DEMO_SLUG, 'default').releaseId);
  queries = worker.sequences.slice(0, 3).map((sequence) => ({ sequence, normalizationId: 'test' }));
});
afterAll(async () => {
  for (const relay of relays) await relay.close();
  await worker.close();
  rmSync(folder, { recursive: true });
});

const coordinators: Workers[] = [];
afterEach(() => {
  relays.forEach((relay) => relay.behave());
  coordinators.splice(0).forEach((coordinator) => coordinator.close());
});

/**
 * @param held   parts of each relay
 * @param haste  how much faster than its settings the time of the front goes; by default it stands still
 */
function coordinatorOf(
  held: readonly (readonly number[])[],
  settings: Partial<WorkerSettings> = {},
  haste?: number,
) {
  const setTimer: typeof realWorld.setTimer = (ms, work) =>
    haste === undefined ? () => undefined : realWorld.setTimer(ms / haste, work);
  const coordinator = createWorkers(
    {
      nodes: held.map((parts, index) => ({ url: relays[index]!.url, keyFile, parts })),
      partCount: Math.max(...held.flat()),
      onError: 'fail',
      timeoutMs: 200_000,
      ...settings,
    },
    { ...realWorld, setTimer },
  );
  const failures: WorkerFailure[] = [];
  coordinator.watch((failure) => failures.push(failure));
  coordinators.push(coordinator);
  const search = (signal?: AbortSignal, more: Partial<SearchEngine> = {}, asked = SETTINGS()) =>
    searchMany(queries, asked, { ...engine, ...more, scan: coordinator.scan }, signal);
  return { front: coordinator, failures, search };
}

const SETTINGS = (): SearchSettings => ({
  targetSpace: unfilteredSpace(engine.release),
  limit: 5,
  evidence: 'pairwise_sequence_alignment',
  guarantee: 'exhaustive',
  significance: 'not_requested',
});
const whole = () => searchMany(queries, SETTINGS(), engine);

/** Answers with what the worker says, changed. */
function lying(change: (partialResults: readonly PartialResult[]) => readonly PartialResult[]): Relaying {
  return async ({ response, pass }) => {
    const { bytes } = await pass();
    response.end(encodePartialResults(change(decodePartialResults(bytes))));
  };
}

const first =
  (change: (partialResult: PartialResult) => PartialResult) =>
  ([partialResult, ...rest]: readonly PartialResult[]): readonly PartialResult[] => [
    change(partialResult!),
    ...rest,
  ];

/** Some of a survey's targets, with their sums. */
function at(
  { queryTokensSha256, targets, queryToTarget, targetToQuery }: PartialResult,
  places: readonly number[],
): PartialResult {
  return {
    queryTokensSha256,
    targets: Uint32Array.from(places, (place) => targets[place]!),
    queryToTarget: Int32Array.from(places, (place) => queryToTarget[place]!),
    targetToQuery: Int32Array.from(places, (place) => targetToQuery[place]!),
  };
}

describe('a search whose parts are looked at by workers', () => {
  it('gives what one machine gives, to the bit, by either policy, with filters and any number of parts', async () => {
    const qualification = qualifiedFor(policyDefinition(3, 2));
    const { release } = engine;
    const filter = compileFilter({ op: 'gt', field: 'length', value: '100' }, release.fields, { place: [] });
    for (const targetSpace of [unfilteredSpace(release), compileTargetSpace(release, filter)]) {
      for (const guarantee of ['exhaustive', 'approximate'] as const) {
        const asked = {
          ...SETTINGS(),
          targetSpace,
          guarantee,
          limit: 3,
          significance: 'if_available',
        } as const;
        const expected = await searchMany(queries, asked, { ...engine, qualification });
        expect(expected[0]!.policy.isExhaustive).toBe(guarantee === 'exhaustive');
        for (const count of [1, 2, 7]) {
          const parts = Array.from({ length: count }, (_, part) => part + 1);
          const held = count === 1 ? [parts] : [parts.slice(0, count >> 1), parts.slice(count >> 1)];
          const { front: coordinator, search } = coordinatorOf(held);
          expect(await search(undefined, { qualification, isLowPriority: true }, asked)).toEqual(expected);
          const answered = coordinator.counts().filter(({ outcome }) => outcome === 'answered');
          expect(answered.reduce((sum, each) => sum + each.count, 0)).toBe(count);
        }
      }
    }
  });

  it('is measured here where so few targets are eligible that all are finalists', async () => {
    const qualification = qualifiedFor(policyDefinition(500, 100));
    const { front: coordinator, search } = coordinatorOf([[1], [2]]);
    const asked = { ...SETTINGS(), guarantee: 'approximate' } as const;
    const expected = await searchMany(queries, asked, { ...engine, qualification });
    expect(await search(undefined, { qualification }, asked)).toEqual(expected);
    expect(coordinator.counts()).toEqual([]);
  });

  it('has no answer without a part: the operator is told who holds it, the client to come again', async () => {
    const { failures, search } = coordinatorOf([[1], [2]]);
    relays[1].behave(async ({ response, pass }) => {
      const { bytes } = await pass();
      // It dies in the middle of its answer.
      response
        .writeHead(200, { 'Content-Length': bytes.length })
        .write(bytes.subarray(0, 40), () => response.destroy());
    });
    await expect(search()).rejects.toMatchObject({
      code: 'worker_unavailable',
      details: { part: 2, part_count: 2, retryAfterSeconds: 5 },
    });
    expect(failures).toMatchObject([{ worker: relays[1].url, part: 2 }]);
    relays[1].behave();
    expect(await search()).toEqual(await whole());
  });

  it('is asked of the next who holds the part where one has gone, who is asked last for a while', async () => {
    const { failures, front: coordinator, search } = coordinatorOf([[1], [1]]);
    relays[0].behave(({ response }) => void response.destroy());
    expect(await search()).toEqual(await whole());
    expect(await search()).toEqual(await whole());
    expect(failures).toHaveLength(1);
    expect(coordinator.counts()).toContainEqual({ worker: relays[1].url, outcome: 'answered', count: 2 });
  });

  it('is hedged: the next is asked, too, where one says nothing, who is told that nobody waits', async () => {
    const { failures, front: coordinator, search } = coordinatorOf([[1], [1]], {}, 20);
    const abandoned = relays[0].abandonedCount();
    relays[0].behave(() => undefined);
    expect(await search()).toEqual(await whole());
    expect(coordinator.counts()).toContainEqual({ worker: relays[0].url, outcome: 'outrun', count: 1 });
    await expect.poll(() => relays[0].abandonedCount()).toBe(abandoned + 1);
    expect(failures).toEqual([]);
  });

  it('is given up where nobody answers in time', async () => {
    const { failures, search } = coordinatorOf([[1], [2]], { timeoutMs: 20_000 }, 20);
    relays[0].behave(() => undefined);
    await expect(search()).rejects.toMatchObject({ code: 'worker_unavailable' });
    expect(String(failures[0]!.cause)).toContain('has not answered within 20 s');
  });

  it('looks at a part itself where the settings say so', async () => {
    const { failures, front: coordinator, search } = coordinatorOf([[1], [2]], { onError: 'serve_locally' });
    relays[0].behave(({ response }) => void response.destroy());
    expect(await search()).toEqual(await whole());
    expect(failures).toHaveLength(1);
    expect(coordinator.counts()).toContainEqual({ worker: 'here', outcome: 'answered', count: 1 });
  });

  it('ends with whoever asked, at the workers, too', async () => {
    const { failures, search } = coordinatorOf([[1], [2]]);
    const abandoned = relays[0].abandonedCount();
    const controller = new AbortController();
    relays[0].behave(() => controller.abort(new Error('gone')));
    await expect(search(controller.signal)).rejects.toThrow('gone');
    await expect.poll(() => relays[0].abandonedCount()).toBe(abandoned + 1);
    expect(failures).toEqual([]);
  });

  it('has its start deadline at the workers, too', async () => {
    const { search } = coordinatorOf([[1]]);
    relays[0].behave(({ response }) => {
      expect(Number(response.req.headers['service-request-timeout'])).toBeGreaterThan(20);
      response.writeHead(504).end(JSON.stringify({ code: 'start_deadline_exceeded', detail: 'Too late.' }));
    });
    const startDeadlineMs = performance.now() + 30_000;
    await expect(search(undefined, { startDeadlineMs })).rejects.toMatchObject({
      code: 'start_deadline_exceeded',
    });
  });
});

describe('a worker that is not like the front', () => {
  it.each([
    ['has another release', { release_id: `dbr_${'0'.repeat(64)}` }, 'release_not_found'],
    ['has other kernels', { kernels_version: 'other' }, 'kernels_changed'],
  ])('%s, and refuses', async (_name, change, code) => {
    const { failures, search } = coordinatorOf([[1]]);
    relays[0].behave(async ({ body, response, pass }) => {
      const asked = { ...(JSON.parse(body.toString()) as object), ...change };
      const { status, bytes } = await pass(Buffer.from(JSON.stringify(asked)));
      response.writeHead(status).end(bytes);
    });
    await expect(search()).rejects.toMatchObject({ code: 'worker_unavailable' });
    expect((failures[0]!.cause as WorkerRefusal).code).toBe(code);
  });

  it('has encoded a query otherwise, and is not believed', async () => {
    const { failures, search } = coordinatorOf([[1]]);
    relays[0].behave(
      lying(first((partialResult) => ({ ...partialResult, queryTokensSha256: '0'.repeat(64) }))),
    );
    await expect(search()).rejects.toMatchObject({ code: 'worker_unavailable' });
    expect((failures[0]!.cause as Refusal).code).toBe('encoder_changed');
  });
});

describe('a worker that lies is not believed, and named', () => {
  const lies: readonly (readonly [string, Relaying, string])[] = [
    ['leaves a query out', lying((partialResults) => partialResults.slice(1)), '2 partial results of 3'],
    [
      'leaves a target out',
      lying(first((partialResult) => at(partialResult, [0, 1, 2, 3]))),
      '4 targets; 5 to 5',
    ],
    [
      'names one more',
      lying(first((partialResult) => at(partialResult, [0, 1, 2, 3, 4, 4]))),
      'more than the',
    ],
    ['names one twice', lying(first((partialResult) => at(partialResult, [0, 1, 2, 3, 3]))), 'not in order'],
    [
      'names them in another order',
      lying(first((partialResult) => at(partialResult, [1, 0, 2, 3, 4]))),
      'not in order',
    ],
    [
      'changes the protocol',
      ({ response }) => {
        const upgrade = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n';
        response.socket!.write(upgrade);
      },
      'It answered 101',
    ],
    [
      'names those of another part',
      lying(
        first((partialResult) => ({
          ...partialResult,
          targets: partialResult.targets.map((target) => target + 30),
        })),
      ),
      'outside its partition',
    ],
    [
      'answers by another policy',
      lying(first((partialResult) => ({ ...at(partialResult, [0, 1, 2]), queryExcess: new Int32Array(3) }))),
      'another policy',
    ],
    ['says something else', ({ response }) => void response.end('<html>'), 'not partial results'],
    ['says nothing', ({ response }) => void response.end(), 'too early'],
    ['says far too much', ({ response }) => void response.end(Buffer.alloc(1 << 22)), 'more than the'],
    [
      'sends us elsewhere',
      ({ response }) => void response.writeHead(307, { Location: `${relays[1].url}/parts/surveys` }).end(),
      '307',
    ],
    [
      'refuses at length',
      ({ response }) => void response.writeHead(500).end('x'.repeat(1 << 16)),
      'more than',
    ],
    [
      'lies about why',
      ({ response }) => void response.writeHead(500).end('{"code":"A\\n","detail":"\\u001b"}'),
      '500 unknown',
    ],
  ];
  it.each(lies)('%s', async (_name, relaying, said) => {
    const { failures, search } = coordinatorOf([[1], [2]]);
    relays[0].behave(relaying);
    await expect(search()).rejects.toMatchObject({ code: 'worker_unavailable' });
    expect(failures).toMatchObject([{ worker: relays[0].url, part: 1 }]);
    const { message } = failures[0]!.cause as Error;
    expect(message).toContain(said);
    expect(message).not.toContain('glm_');
    expect(message).toMatch(/^[ -~]*$/);
  });
});

describe('the page of a worker', () => {
  const ask = async (headers: Record<string, string>, body?: string, url = worker.url) => {
    const response = await fetch(`${url}/parts/surveys`, {
      method: body === undefined ? 'GET' : 'POST',
      headers,
      body,
    });
    return { status: response.status, body: await response.text() };
  };

  it('is asked with a key, and takes nothing that it does not know', async () => {
    expect(await ask({})).toMatchObject({ status: 401 });
    expect(await ask({}, '{}')).toMatchObject({ status: 401 });
    const key = await worker.keyOf('default');
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    expect(await ask(headers)).toEqual({ status: 200, body: '{"status":"ok"}' });
    const good = {
      release_id: engine.release.id,
      kernels_version: engine.backend.version,
      part: 1,
      part_count: 1,
      filter: null,
      limit: 1,
      sampled: null,
      relatives: 'as_release',
      is_background: false,
      sequences: ['MKV'],
    };
    expect(await ask(headers, JSON.stringify(good))).toMatchObject({ status: 200 });
    const bad: readonly (readonly [object, string])[] = [
      [{ part: 2 }, 'validation_failed'],
      [{ part_count: 1e9 }, 'validation_failed'],
      [{ limit: 10_001 }, 'validation_failed'],
      [{ sampled: { nearest_count: 1e6, striking_count: 1 } }, 'validation_failed'],
      [{ sequences: [] }, 'validation_failed'],
      [{ sequences: new Array(257).fill('MKV') }, 'validation_failed'],
      [{ sequences: ['M1'] }, 'invalid_sequence'],
      [{ filter: { op: 'eq', field: 'nothing', value: 'x' } }, 'invalid_filter'],
      [{ release_id: `dbr_${'0'.repeat(64)}` }, 'release_not_found'],
      [{ more: 1 }, 'validation_failed'],
    ];
    for (const [change, code] of bad) {
      const { status, body } = await ask(headers, JSON.stringify({ ...good, ...change }));
      expect([status, JSON.parse(body).code], JSON.stringify(change)).toEqual([status, code]);
    }
    expect(await ask(headers, '[')).toMatchObject({ status: 400 });
  });
});
