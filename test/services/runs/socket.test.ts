import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildBench, type Bench, type Json, type Serving } from './runs-served.js';

/* Runs over a real socket, on the real kernels and the untrained encoder. */

let bench: Bench;
let serving: Serving;

beforeAll(async () => {
  bench = await buildBench();
  serving = await bench.start();
});
afterAll(async () => {
  await serving.stop();
  bench.remove();
});

const query = (index: number) => ({ kind: 'protein_sequence', sequence: bench.sequences[index] });
const searchRun = (index: number, more: Json = {}) => ({
  endpoint: 'homology.search',
  input: { query: query(index), limit: 50, evidence: 'pairwise_sequence_alignment' },
  ...more,
});

/** Uploads a small file as a client does, and returns its URL. */
async function upload(name: string, bytes: Uint8Array): Promise<string> {
  const path = '/v1/storage/uploads';
  const body = { file_name: name, size_bytes: bytes.length };
  const { id } = (await serving.call('POST', path, { body })).body.data;
  const urls = await serving.call('POST', `${path}/${id}/part-urls`, { body: { part_numbers: [1] } });
  const put = await fetch(urls.body.data.urls[0].url, {
    method: 'PUT',
    headers: { 'x-amz-checksum-sha256': createHash('sha256').update(bytes).digest('base64') },
    body: bytes as never,
  });
  expect(put.status, await put.text()).toBe(200);
  await serving.call('POST', `${path}/${id}/parts/1/acknowledge`);
  const completed = await serving.call('POST', `${path}/${id}/complete`);
  return completed.body.data.url;
}

async function rowsOf(runId: string, limit: number): Promise<Json[]> {
  const rows: Json[] = [];
  let cursor = '';
  for (;;) {
    const { status, body } = await serving.call('GET', `/v1/runs/${runId}/results?limit=${limit}${cursor}`);
    expect(status).toBe(200);
    rows.push(...body.data);
    if (!body.has_more) return rows;
    cursor = `&cursor=${body.next_cursor}`;
  }
}

describe('a search run', () => {
  it('finds the candidates and the result digest of the direct route', async () => {
    const { input } = searchRun(3);
    const direct = await serving.call('POST', '/v1/homology', { body: input });
    const waited = await serving.call('POST', '/v1/runs', { body: searchRun(3, { background: false }) });
    expect(waited.status, JSON.stringify(waited.body)).toBe(200);
    const { data: run } = waited.body;
    expect(run.status).toBe('completed');
    const { summary } = run.result;
    expect(summary.result_sha256).toBe(direct.body.result_sha256);
    expect(summary.receipt).toEqual(direct.body.receipt);
    expect(summary.database).toEqual(direct.body.database);
    expect(summary.evidence_summary).toEqual(direct.body.evidence_summary);
    expect(await rowsOf(run.id, 7)).toEqual(direct.body.candidates);
    expect(waited.headers.get('X-Service-Billable-Units')).toBe('1');
  });

  it('is acknowledged at once, with its address in Location', async () => {
    const created = await serving.call('POST', '/v1/runs', { body: searchRun(4) });
    expect(created.status).toBe(202);
    expect(created.headers.get('Retry-After')).toBe('1');
    const location = created.headers.get('Location')!;
    const ended = await serving.call('GET', location, { headers: { Prefer: 'wait=30' } });
    expect(ended.body.data.status).toBe('completed');
    expect(ended.headers.get('Preference-Applied')).toBe('wait=30');
    const again = await serving.call('GET', location);
    expect(again.body.data).toEqual(ended.body.data);
  });

  it('refuses at creation what the direct route refuses', async () => {
    const wrong: readonly (readonly [Json, number, string])[] = [
      [{ query: { kind: 'protein_sequence', sequence: 'MK1' } }, 422, 'invalid_sequence'],
      [{ query: query(0), database: 'nowhere' }, 404, 'database_not_found'],
      [{ query: query(0), significance: 'required' }, 422, 'significance_unavailable'],
      [{ query: query(0), limit: 10_001 }, 422, 'validation_failed'],
      [{ query: query(0), filter: { op: 'eq', field: 'nothing', value: '1' } }, 422, 'invalid_filter'],
    ];
    for (const [input, status, code] of wrong) {
      const refused = await serving.call('POST', '/v1/runs', {
        body: { endpoint: 'homology.search', input },
      });
      expect([refused.status, refused.headers.get('Service-Error-Type')]).toEqual([status, code]);
    }
    expect((await serving.call('GET', '/v1/runs?status=failed')).body.data).toEqual([]);
  });

  it('is created once per Idempotency-Key', async () => {
    const headers = { 'Idempotency-Key': 'once' };
    const first = await serving.call('POST', '/v1/runs', { body: searchRun(5), headers });
    const second = await serving.call('POST', '/v1/runs', { body: searchRun(5), headers });
    expect(second.body.data.id).toBe(first.body.data.id);
    expect(second.headers.get('Idempotent-Replayed')).toBe('true');
    const other = await serving.call('POST', '/v1/runs', { body: searchRun(6), headers });
    expect(other.headers.get('Service-Error-Type')).toBe('idempotency_key_reused');
  });

  it('is seen by its organization only', async () => {
    const { body } = await serving.call('POST', '/v1/runs', { body: searchRun(7) });
    for (const path of [body.data.id, `${body.data.id}/results`, `${body.data.id}/events`]) {
      const refused = await serving.call('GET', `/v1/runs/${path}`, { as: 'other' });
      expect(refused.headers.get('Service-Error-Type')).toBe('permission_denied');
    }
    const cancelled = await serving.call('POST', `/v1/runs/${body.data.id}/cancel`, { as: 'other' });
    expect(cancelled.status).toBe(403);
    expect((await serving.call('GET', '/v1/runs', { as: 'other' })).body.data).toEqual([]);
    const unknown = await serving.call('GET', `/v1/runs/run_${'0'.repeat(24)}`);
    expect([unknown.status, unknown.headers.get('Service-Error-Type')]).toEqual([404, 'run_not_found']);
  });

  it('sends its end to the webhook endpoint that it names, regardless of subscriptions', async () => {
    const register = async (as: 'lab' | 'other'): Promise<string> => {
      const body = { url: 'http://127.0.0.1:9/', event_types: ['release.published'] };
      return (await serving.call('POST', '/v1/webhooks/endpoints', { body, as })).body.data.id;
    };
    const [named, silent, foreign] = [await register('lab'), await register('lab'), await register('other')];
    const create = (id: string) =>
      serving.call('POST', '/v1/runs', {
        body: searchRun(6, { background: false, webhook_endpoint_id: id }),
      });
    const { body } = await create(named);
    expect(body.data).toMatchObject({ status: 'completed', webhook_endpoint_id: named });
    const deliveriesTo = async (id: string): Promise<Json[]> =>
      (await serving.call('GET', `/v1/webhooks/deliveries?endpoint_id=${id}`)).body.data;
    expect(await deliveriesTo(named)).toHaveLength(1);
    expect(await deliveriesTo(silent)).toEqual([]);
    expect((await create(foreign)).body.error.code).toBe('permission_denied');
    const absent = await create(`whe_${'0'.repeat(24)}`);
    expect(absent.body.error).toMatchObject({ code: 'webhook_endpoint_not_found' });
    expect(absent.status).toBe(404);
  });

  it('cannot be cancelled once it has completed', async () => {
    const { body } = await serving.call('POST', '/v1/runs', { body: searchRun(8, { background: false }) });
    const refused = await serving.call('POST', `/v1/runs/${body.data.id}/cancel`);
    expect([refused.status, refused.headers.get('Service-Error-Type')]).toEqual([
      409,
      'run_already_finished',
    ]);
  });
});

describe('a batch', () => {
  it('answers each query as the direct route would', async () => {
    const queries = bench.sequences.slice(0, 40).map((sequence, index) => ({ id: `q${index}`, sequence }));
    const input = { queries, limit: 5 };
    const created = await serving.call('POST', '/v1/runs', {
      body: { endpoint: 'homology.batch_search', input, background: false },
    });
    expect(created.status, JSON.stringify(created.body)).toBe(200);
    const { result, usage, progress } = created.body.data;
    expect(usage.billable_units).toBe(40);
    expect([progress.fraction, progress.done_count, progress.total_count]).toEqual([1, 40, 40]);
    expect(result.summary).toMatchObject({ query_count: 40, candidate_count: 200 });
    const rows = await rowsOf(created.body.data.id, 9);
    expect(rows.map(({ query_id }) => query_id)).toEqual(queries.map(({ id }) => id));
    for (const index of [0, 17, 39]) {
      const direct = await serving.call('POST', '/v1/homology', { body: { query: query(index), limit: 5 } });
      for (const member of ['result_sha256', 'receipt', 'candidates', 'query', 'evidence_summary']) {
        expect(rows[index][member], member).toEqual(direct.body[member]);
      }
    }
  });

  it('takes an uploaded FASTA file by its URL, and no other URL', async () => {
    const bytes = gzipSync(`>one\n${bench.sequences[0]}\n>two\n${bench.sequences[1]}\n`);
    const url = await upload('queries.fasta.gz', bytes);
    const batch = (fasta_url: string, more: object = {}) =>
      serving.call('POST', '/v1/runs', {
        body: { endpoint: 'homology.batch_search', input: { fasta_url, limit: 1 }, background: false },
        ...more,
      });
    const accepted = await batch(url);
    expect(accepted.status, JSON.stringify(accepted.body)).toBe(200);
    expect((await rowsOf(accepted.body.data.id, 10)).map(({ query_id }) => query_id)).toEqual(['one', 'two']);
    expect((await batch(url, { as: 'other' })).status).toBe(403);
    const foreign = await batch('http://127.0.0.1:1/queries.fasta');
    expect(foreign.headers.get('Service-Error-Type')).toBe('file_not_managed');
  });

  it('takes FASTA, and lists every record that cannot be searched', async () => {
    const fasta = `>one first\n${bench.sequences[0]}\n>two\nMK1LV\n>three\n\n`;
    const refused = await serving.call('POST', '/v1/runs', {
      body: { endpoint: 'homology.batch_search', input: { fasta } },
    });
    expect(refused.headers.get('Service-Error-Type')).toBe('invalid_queries');
    expect(
      refused.body.error.errors.map(({ loc, msg }: Json) => [loc.join('.'), msg.split(': ')[0]]),
    ).toEqual([
      ['body.input.fasta', 'fasta:3'],
      ['body.input.fasta', 'fasta:5'],
    ]);
    const accepted = await serving.call('POST', '/v1/runs', {
      body: {
        endpoint: 'homology.batch_search',
        input: { fasta: `>one first\n${bench.sequences[0]}\n`, limit: 1 },
        background: false,
      },
    });
    const [row] = await rowsOf(accepted.body.data.id, 10);
    expect([row.query_id, row.candidates.length]).toEqual(['one', 1]);
  });
});

describe('the events of a run', () => {
  it('contain every state change once, and continue after Last-Event-ID', async () => {
    const { body } = await serving.call('POST', '/v1/runs', { body: searchRun(9) });
    const path = `${serving.server.url}/v1/runs/${body.data.id}/events`;
    const headers = { Authorization: `Bearer ${bench.keys.lab}`, Accept: 'text/event-stream' };
    const all = await fetch(path, { headers });
    expect(all.headers.get('Content-Type')).toBe('text/event-stream');
    const types = [...(await all.text()).matchAll(/^event: (.*)$/gm)].map(([, type]) => type);
    expect(types.filter((type) => type !== 'run.progress')).toEqual([
      'run.queued',
      'run.running',
      'run.completed',
    ]);
    const rest = await fetch(path, { headers: { ...headers, 'Last-Event-ID': '2' } });
    const text = await rest.text();
    expect(text).toMatch(/^id: 3\nevent: run\.completed\ndata: \{.*"run_id":"run_/);
    expect(text.match(/^id:/gm)).toHaveLength(1);
  });
});

describe('the list of runs', () => {
  it('gives every run once, newest first, and by state', async () => {
    const ids: string[] = [];
    let cursor = '';
    do {
      const { body } = await serving.call('GET', `/v1/runs?limit=3${cursor}`);
      ids.push(...body.data.map(({ id }: Json) => id));
      cursor = body.has_more ? `&cursor=${body.next_cursor}` : '';
    } while (cursor !== '');
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.length).toBeGreaterThanOrEqual(8);
    const first = await serving.call('GET', '/v1/runs?limit=100');
    expect(first.body.data.map(({ id }: Json) => id)).toEqual(ids);
    const times = first.body.data.map(({ created_at }: Json) => created_at);
    expect([...times].sort().reverse()).toEqual(times);
    const batches = await serving.call('GET', '/v1/runs?endpoint=homology.batch_search&status=completed');
    expect(batches.body.data).toHaveLength(3);
    const forged = await serving.call('GET', '/v1/runs?cursor=AAAA');
    expect(forged.headers.get('Service-Error-Type')).toBe('cursor_invalid');
  });
});
