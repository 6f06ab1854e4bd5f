import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createClient, GloamingError } from '#src/clients/typescript/client.js';
import type { HomologyQueryResult } from '#src/clients/typescript/types/runs.js';
import { startSmallAppliance, type SmallAppliance } from '../../tools/small-appliance.js';

let small: SmallAppliance;
let key: string;
const noPause = async (): Promise<void> => undefined;

beforeAll(async () => {
  small = await startSmallAppliance();
  key = await small.keyOf('lab');
});
afterAll(() => small.close());

const query = (index: number) => ({
  kind: 'protein_sequence' as const,
  sequence: small.sequences[index] as string,
});

describe('the TypeScript client', () => {
  it('searches: a protein of the database is nearest to itself', async () => {
    const answer = await createClient({ url: small.url, key }).search({ query: query(3), limit: 5 });
    expect(answer.candidates).toHaveLength(5);
    expect(answer.candidates[0]?.target.sequence).toBe(small.sequences[3]);
  });

  it('lists all pages', async () => {
    const gloaming = createClient({ url: small.url, key });
    const slugs = [];
    for await (const { slug } of gloaming.databases()) slugs.push(slug);
    expect(slugs).toEqual(['demo']);
    for await (const release of gloaming.releases('demo')) expect(release.target_count).toBe(60);
  });

  it('watches a run over lost connections and reads all rows', async () => {
    let connections = 0;
    const breaking: typeof fetch = async (url, init) => {
      const response = await fetch(url, init);
      if (!String(url).endsWith('/events')) return response;
      connections += 1;
      return connections < 3 ? new Response(firstBytesOf(response.body!)) : response;
    };
    const gloaming = createClient({ url: small.url, key, fetch: breaking, pause: noPause });
    const queries = [0, 1, 2].map((index) => ({
      id: `q${index}`,
      sequence: small.sequences[index] as string,
    }));
    const run = await gloaming.submit({
      endpoint: 'homology.batch_search',
      input: { queries, database: 'demo', limit: 4 },
    });
    const types = [];
    for await (const { type } of gloaming.watch(run.id)) if (type !== 'run.progress') types.push(type);
    expect(types).toEqual(['run.queued', 'run.running', 'run.completed']);
    expect(connections).toBeGreaterThanOrEqual(3);
    const rows = [];
    for await (const row of gloaming.results(run.id)) rows.push(row as HomologyQueryResult);
    expect(rows.map(({ query_id, candidates }) => [query_id, candidates.length])).toEqual([
      ['q0', 4],
      ['q1', 4],
      ['q2', 4],
    ]);
  });

  it('creates one run if the first response is lost', async () => {
    let sent = 0;
    const lossy: typeof fetch = async (url, init) => {
      const response = await fetch(url, init);
      sent += 1;
      if (sent === 1) throw new TypeError('the connection broke');
      return response;
    };
    const gloaming = createClient({ url: small.url, key, fetch: lossy, pause: noPause });
    const label = 'asked for once';
    await gloaming.submit({
      endpoint: 'homology.search',
      label,
      input: { query: query(1), database: 'demo' },
    });
    const labels = [];
    for await (const run of createClient({ url: small.url, key }).runs()) labels.push(run.label);
    expect(sent).toBe(2);
    expect(labels.filter((each) => each === label)).toHaveLength(1);
  });

  it('waits for Retry-After before a retry and stops after the configured retries', async () => {
    const pauses: number[] = [];
    const busy: typeof fetch = async () =>
      new Response('{"detail": "The server has too much at work."}', {
        status: 429,
        headers: { 'Service-Error-Type': 'queue_full', 'Service-Retryable': 'true', 'Retry-After': '7' },
      });
    const gloaming = createClient({
      url: small.url,
      key,
      fetch: busy,
      retries: 2,
      pause: async (ms) => void pauses.push(ms),
    });
    await expect(gloaming.search({ query: query(0) })).rejects.toMatchObject({
      code: 'queue_full',
      status: 429,
      isRetryable: true,
    });
    expect(pauses).toEqual([7000, 7000]);
  });

  it('reports code and place of a refusal', async () => {
    const gloaming = createClient({ url: small.url, key });
    const filter = { op: 'eq', field: 'colour', value: 'red' } as const;
    const refusal = await gloaming.search({ query: query(0), filter }).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(GloamingError);
    const { code, status, message, places } = refusal as GloamingError;
    expect({ code, status }).toEqual({ code: 'invalid_filter', status: 422 });
    expect(message).toContain('no field of that name');
    expect(places.map(({ location }) => location)).toEqual(['body.filter.field']);
    const stranger = createClient({ url: small.url, key: 'glm_wrong' });
    await expect(stranger.search({ query: query(0) })).rejects.toMatchObject({ code: 'invalid_api_key' });
  });

  it('builds a multiple sequence alignment from a search', async () => {
    const gloaming = createClient({ url: small.url, key });
    const answer = await gloaming.search({
      query: query(5),
      limit: 10,
      evidence: 'pairwise_sequence_alignment',
    });
    const { msa, a3m } = await gloaming.msa({ receipt_id: answer.receipt.id });
    expect(a3m.split('\n').filter((line) => line.startsWith('>'))).toHaveLength(msa.row_count);
    expect(a3m).toContain(small.sequences[5]);
  });
});

/** The beginning of a stream, which then breaks. */
function firstBytesOf(stream: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  const reader = stream.getReader();
  let isBegun = false;
  return new ReadableStream({
    async pull(controller) {
      if (isBegun) {
        await reader.cancel();
        controller.error(new TypeError('the connection broke'));
        return;
      }
      isBegun = true;
      controller.enqueue((await reader.read()).value!);
    },
  });
}
