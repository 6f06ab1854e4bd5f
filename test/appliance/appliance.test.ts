import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openAppliance, type Appliance } from '#src/appliance.js';
import { simulateProteins } from '#src/demo/simulate.js';
import { serve, type RunningServer } from '#src/cli/serve/serve.js';
import { loadConfig } from '#src/config.js';
import type { HomologyCandidateSet } from '#src/contract/search/candidate-set.js';
import { nativeVariants } from '#src/kernels/native.js';
import { openDemoAppliance, type DemoAppliance } from '../tools/demo-appliance.js';

/* The whole appliance on a small simulated database: build, serve, search over a real socket. */

const PROTEINS = { seed: 7, proteins: 300 };
const demo = simulateProteins(PROTEINS.seed, PROTEINS.proteins);
const query = demo.proteins.find(({ family, sequence }) => family !== undefined && sequence.length > 150)!;
let opened: DemoAppliance;
let key: string;

const environment = (more: Record<string, string> = {}) => ({ ...opened.environment, ...more });

beforeAll(async () => {
  opened = await openDemoAppliance(PROTEINS);
  key = await opened.keyOf('lab');
  await opened.appliance.close();
});
afterAll(() => opened.remove());

interface Session {
  readonly appliance: Appliance;
  readonly server: RunningServer;
  readonly post: (
    path: string,
    body: unknown,
  ) => Promise<{ status: number; headers: Headers; body: HomologyCandidateSet }>;
  readonly end: () => Promise<void>;
}

async function session(more: Record<string, string> = {}): Promise<Session> {
  const appliance = await openAppliance(loadConfig(environment(more)));
  const server = await serve(appliance, pino({ level: 'silent' }), { isResponseChecked: true });
  return {
    appliance,
    server,
    async post(path, body) {
      const response = await fetch(server.url + path, {
        method: 'POST',
        headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
        body: JSON.stringify(body),
      });
      return {
        status: response.status,
        headers: response.headers,
        body: (await response.json()) as HomologyCandidateSet,
      };
    },
    async end() {
      await server.stop(1_000);
      await appliance.close();
    },
  };
}

const request = (more: object = {}): object => ({
  query: { kind: 'protein_sequence', sequence: query.sequence },
  limit: 40,
  evidence: 'pairwise_sequence_alignment',
  ...more,
});

describe('the appliance', () => {
  it('ranks a protein itself first, at a distance of zero up to rounding', async () => {
    const { post, end } = await session();
    const { status, body } = await post('/v1/homology', request());
    expect(status).toBe(200);
    expect(body.candidates[0].target.id).toBe(query.id);
    expect(Math.abs(body.candidates[0].measurements.maxsim.bidirectional)).toBeLessThan(0.01);
    expect(body.candidates[0].alignment?.cigar).toBe(`${query.sequence.length}=`);
    expect(body.candidates.map(({ rank }) => rank)).toEqual(body.candidates.map((_, at) => at + 1));
    expect(body.warnings.map(({ code }) => code)).toEqual(['simulated_database']);
    await end();
  });

  it('returns the same result digest with any threads and kernels, and after a restart', async () => {
    const digests = new Map<string, string>();
    const variants = nativeVariants().filter(({ isRunnable }) => isRunnable);
    expect(variants.length).toBeGreaterThanOrEqual(1);
    for (const { name } of variants) {
      for (const threads of ['1', '2']) {
        process.env.GLOAMING_KERNELS = name;
        const { appliance, post, end } = await session({ GLOAMING_THREADS: threads });
        expect(appliance.backend.variant).toBe(name);
        const { body } = await post('/v1/homology', request());
        digests.set(`${name} ${threads}`, body.result_sha256);
        await end();
      }
    }
    delete process.env.GLOAMING_KERNELS;
    expect(new Set(digests.values()).size, JSON.stringify([...digests])).toBe(1);
  });

  it('answers an equal request from the cache, with a new request id and the same receipt', async () => {
    const { post, end } = await session();
    const first = await post('/v1/homology', request());
    const second = await post('/v1/homology', request());
    const other = await post('/v1/homology', request({ limit: 39 }));
    expect([first, second, other].map(({ body }) => body.performance.is_cache_hit)).toEqual([
      false,
      true,
      false,
    ]);
    expect(second.body.request_id).not.toBe(first.body.request_id);
    expect(second.body.receipt).toEqual(first.body.receipt);
    expect(second.body.execution.created_at).toBe(first.body.execution.created_at);
    expect(other.body.receipt.id).not.toBe(first.body.receipt.id);
    await end();
  });

  it('searches only the targets that pass a filter, and finds the target space by id after a restart', async () => {
    const filter = { op: 'eq', field: 'reviewed', value: 'true' };
    const before = await session();
    const filtered = await before.post('/v1/homology', request({ filter, limit: 300 }));
    await before.end();
    const reviewed = demo.proteins.filter((protein) => protein.reviewed);
    expect(filtered.body.database.searched_target_count).toBe(reviewed.length);
    expect(filtered.body.candidates.map(({ target }) => target.id).sort()).toEqual(
      reviewed.map(({ id }) => id).sort(),
    );
    expect(filtered.body.is_result_limit_reached).toBe(false);

    const after = await session();
    const id = filtered.body.database.target_space_id;
    const again = await after.post('/v1/homology', request({ target_space_id: id, limit: 300 }));
    expect(again.body.result_sha256).toBe(filtered.body.result_sha256);
    const compiled = await after.post('/v1/homology/target-space-compilations', {
      DatabaseReleaseID: filtered.body.database.release_id,
      Filter: { op: 'and', filters: [filter, filter] },
    });
    expect(compiled.status).toBe(201);
    expect((compiled.body as unknown as { data: { target_space_id: string } }).data.target_space_id).toBe(id);
    await after.end();
  });

  it('hides a target space from every other organization', async () => {
    const { appliance, post, server, end } = await session();
    const filter = { op: 'eq', field: 'reviewed', value: 'false' };
    const { body } = await post('/v1/homology', request({ filter }));
    const { key: otherKey } = await appliance.keys.create('other', 'rivals');
    const response = await fetch(`${server.url}/v1/homology`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${otherKey}`, 'Content-Type': 'application/json' },
      body: JSON.stringify(request({ target_space_id: body.database.target_space_id })),
    });
    expect(response.status).toBe(403);
    expect(response.headers.get('service-error-type')).toBe('permission_denied');
    await end();
  });

  it('answers a filter that no target passes with no candidates and a warning', async () => {
    const { post, end } = await session();
    const filter = { op: 'eq', field: 'organism', value: 'Nessiteras rhombopteryx' };
    const { status, body } = await post('/v1/homology', request({ filter }));
    expect(status).toBe(200);
    expect(body.candidates).toEqual([]);
    expect(body.warnings.map(({ code }) => code)).toContain('target_space_empty');
    await end();
  });
});
