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

/* A coordinator with two workers: one real appliance behind two relays, whose behaviour the tests set. */

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
 * @param held   partitions of each relay
 * @param haste  factor by which the coordinator's timers are shortened; without it they never fire
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
  const search = (signal?: AbortSignal, more: Partial<SearchEngine> = {}, settings = SETTINGS()) =>
    searchMany(queries, settings, { ...engine, ...more, scan: coordinator.scan }, signal);
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

/** Relays the worker's response after a change. */
function changing(change: (partialResults: readonly PartialResult[]) => readonly PartialResult[]): Relaying {
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

/** Returns the partial result reduced to the targets at some places. */
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

/** Sums beyond the number of tokens times the largest squared norm. */
const FORGERIES = [
  ['the greatest int32', 'queryToTarget', 2 ** 31 - 1],
  ['the least int32', 'targetToQuery', -(2 ** 31)],
] as const;

describe('a search whose partitions are scanned by workers', () => {
  it('gives the same bits as one machine, by either policy, with filters and any number of partitions', async () => {
    const qualification = qualifiedFor(policyDefinition(3, 2));
    const { release } = engine;
    const filter = compileFilter({ op: 'gt', field: 'length', value: '100' }, release.fields, { place: [] });
    for (const targetSpace of [unfilteredSpace(release), compileTargetSpace(release, filter)]) {
      for (const guarantee of ['exhaustive', 'approximate'] as const) {
        const settings = {
          ...SETTINGS(),
          targetSpace,
          guarantee,
          limit: 3,
          significance: 'if_available',
        } as const;
        const expected = await searchMany(queries, settings, { ...engine, qualification });
        expect(expected[0]!.policy.isExhaustive).toBe(guarantee === 'exhaustive');
        for (const count of [1, 2, 7]) {
          const parts = Array.from({ length: count }, (_, part) => part + 1);
          const held = count === 1 ? [parts] : [parts.slice(0, count >> 1), parts.slice(count >> 1)];
          const { front: coordinator, search } = coordinatorOf(held);
          expect(await search(undefined, { qualification, isLowPriority: true }, settings)).toEqual(expected);
          const answered = coordinator.counts().filter(({ outcome }) => outcome === 'answered');
          expect(answered.reduce((sum, each) => sum + each.count, 0)).toBe(count);
        }
      }
    }
  });

  it('runs on the coordinator if so few targets are eligible that all of them are rescored', async () => {
    const qualification = qualifiedFor(policyDefinition(500, 100));
    const { front: coordinator, search } = coordinatorOf([[1], [2]]);
    const settings = { ...SETTINGS(), guarantee: 'approximate' } as const;
    const expected = await searchMany(queries, settings, { ...engine, qualification });
    expect(await search(undefined, { qualification }, settings)).toEqual(expected);
    expect(coordinator.counts()).toEqual([]);
  });

  it('fails without a partition: the failure names the worker, and the client gets a retry interval', async () => {
    const { failures, search } = coordinatorOf([[1], [2]]);
    relays[1].behave(async ({ response, pass }) => {
      const { bytes } = await pass();
      // The connection breaks in the middle of the response.
      response
        .writeHead(200, { 'Content-Length': bytes.length })
        .write(bytes.subarray(0, 40), () => response.destroy());
    });
    await expect(search()).rejects.toMatchObject({
      code: 'worker_unavailable',
      details: { part: 2, part_count: 2, retryAfterSeconds: 5 },
    });
    expect(failures).toMatchObject([{ worker: relays[1].url, partition: 2 }]);
    relays[1].behave();
    expect(await search()).toEqual(await whole());
  });

  it('is retried at the next worker after a failure, and the failed worker is tried last for a while', async () => {
    const { failures, front: coordinator, search } = coordinatorOf([[1], [1]]);
    relays[0].behave(({ response }) => void response.destroy());
    expect(await search()).toEqual(await whole());
    expect(await search()).toEqual(await whole());
    expect(failures).toHaveLength(1);
    expect(coordinator.counts()).toContainEqual({ worker: relays[1].url, outcome: 'answered', count: 2 });
  });

  it('is hedged: a slow worker gets a second request sent elsewhere, and its own is cancelled', async () => {
    const { failures, front: coordinator, search } = coordinatorOf([[1], [1]], {}, 20);
    const abandoned = relays[0].abandonedCount();
    relays[0].behave(() => undefined);
    expect(await search()).toEqual(await whole());
    expect(coordinator.counts()).toContainEqual({ worker: relays[0].url, outcome: 'outrun', count: 1 });
    await expect.poll(() => relays[0].abandonedCount()).toBe(abandoned + 1);
    expect(failures).toEqual([]);
  });

  it('fails if no worker responds within the time limit', async () => {
    const { failures, search } = coordinatorOf([[1], [2]], { timeoutMs: 20_000 }, 20);
    relays[0].behave(() => undefined);
    await expect(search()).rejects.toMatchObject({ code: 'worker_unavailable' });
    expect(String(failures[0]!.cause)).toContain('has not answered within 20 s');
  });

  it('scans a partition on the coordinator if the settings allow it and no worker responds', async () => {
    const { failures, front: coordinator, search } = coordinatorOf([[1], [2]], { onError: 'serve_locally' });
    relays[0].behave(({ response }) => void response.destroy());
    expect(await search()).toEqual(await whole());
    expect(failures).toHaveLength(1);
    expect(coordinator.counts()).toContainEqual({ worker: 'here', outcome: 'answered', count: 1 });
  });

  it('is cancelled at the workers, too, when its caller cancels it', async () => {
    const { failures, search } = coordinatorOf([[1], [2]]);
    const abandoned = relays[0].abandonedCount();
    const controller = new AbortController();
    relays[0].behave(() => controller.abort(new Error('gone')));
    await expect(search(controller.signal)).rejects.toThrow('gone');
    await expect.poll(() => relays[0].abandonedCount()).toBe(abandoned + 1);
    expect(failures).toEqual([]);
  });

  it('passes its start deadline on to the workers', async () => {
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

describe('a worker that differs from its coordinator', () => {
  it.each([
    ['has another release', { release_id: `dbr_${'0'.repeat(64)}` }, 'release_not_found'],
    ['has other kernels', { kernels_version: 'other' }, 'kernels_changed'],
  ])('refuses the request if it %s', async (_name, change, code) => {
    const { failures, search } = coordinatorOf([[1]]);
    relays[0].behave(async ({ body, response, pass }) => {
      const changed = { ...(JSON.parse(body.toString()) as object), ...change };
      const { status, bytes } = await pass(Buffer.from(JSON.stringify(changed)));
      response.writeHead(status).end(bytes);
    });
    await expect(search()).rejects.toMatchObject({ code: 'worker_unavailable' });
    expect((failures[0]!.cause as WorkerRefusal).code).toBe(code);
  });

  it('is refused if its encoder gives other query tokens', async () => {
    const { failures, search } = coordinatorOf([[1]]);
    relays[0].behave(
      changing(first((partialResult) => ({ ...partialResult, queryTokensSha256: '0'.repeat(64) }))),
    );
    await expect(search()).rejects.toMatchObject({ code: 'worker_unavailable' });
    expect((failures[0]!.cause as Refusal).code).toBe('encoder_changed');
  });
});

describe('an invalid response is refused, and the failure names the worker', () => {
  const responses: readonly (readonly [string, Relaying, string])[] = [
    ['omits a query', changing((partialResults) => partialResults.slice(1)), '2 partial results of 3'],
    [
      'omits a target',
      changing(first((partialResult) => at(partialResult, [0, 1, 2, 3]))),
      '4 targets; 5 to 5',
    ],
    [
      'has a target too many',
      changing(first((partialResult) => at(partialResult, [0, 1, 2, 3, 4, 4]))),
      'more than the',
    ],
    [
      'has a target twice',
      changing(first((partialResult) => at(partialResult, [0, 1, 2, 3, 3]))),
      'not in order',
    ],
    [
      'has targets in another order',
      changing(first((partialResult) => at(partialResult, [1, 0, 2, 3, 4]))),
      'not in order',
    ],
    [
      'is a protocol upgrade',
      ({ response }) => {
        const upgrade = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n';
        response.socket!.write(upgrade);
      },
      'The worker answered 101',
    ],
    [
      'has targets of another partition',
      changing(
        first((partialResult) => ({
          ...partialResult,
          targets: partialResult.targets.map((target) => target + 30),
        })),
      ),
      'outside its partition',
    ],
    [
      'is by another policy',
      changing(
        first((partialResult) => ({ ...at(partialResult, [0, 1, 2]), queryExcess: new Int32Array(3) })),
      ),
      'another policy',
    ],
    ...FORGERIES.map(([name, member, value]): (typeof responses)[number] => [
      `has a sum that no tokens give, under the right digest: ${name}`,
      changing(
        first((partialResult) => ({ ...partialResult, [member]: partialResult[member].map(() => value) })),
      ),
      'no tokens give',
    ]),
    ['is an HTML page', ({ response }) => void response.end('<html>'), 'not partial results'],
    ['is empty', ({ response }) => void response.end(), 'too early'],
    ['is far too long', ({ response }) => void response.end(Buffer.alloc(1 << 22)), 'more than the'],
    [
      'is a redirect',
      ({ response }) => void response.writeHead(307, { Location: `${relays[1].url}/parts/surveys` }).end(),
      '307',
    ],
    [
      'is a refusal that is too long',
      ({ response }) => void response.writeHead(500).end('x'.repeat(1 << 16)),
      'more than',
    ],
    [
      'is a refusal with control characters',
      ({ response }) => void response.writeHead(500).end('{"code":"A\\n","detail":"\\u001b"}'),
      '500 unknown',
    ],
  ];
  it.each(responses)('%s', async (_name, relaying, quoted) => {
    const { failures, search } = coordinatorOf([[1], [2]]);
    relays[0].behave(relaying);
    await expect(search()).rejects.toMatchObject({ code: 'worker_unavailable' });
    expect(failures).toMatchObject([{ worker: relays[0].url, partition: 1 }]);
    const { message } = failures[0]!.cause as Error;
    expect(message).toContain(quoted);
    expect(message).not.toContain('glm_');
    expect(message).toMatch(/^[ -~]*$/);
  });
});

describe('the endpoint of a worker', () => {
  const ask = async (headers: Record<string, string>, body?: string, url = worker.url) => {
    const response = await fetch(`${url}/parts/surveys`, {
      method: body === undefined ? 'GET' : 'POST',
      headers,
      body,
    });
    return { status: response.status, body: await response.text() };
  };

  it('requires an API key and refuses unknown members', async () => {
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
