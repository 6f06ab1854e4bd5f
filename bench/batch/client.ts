import type { HomologyQueryResult } from '../../src/contract/runs/run-kinds.js';
import type { Run } from '../../src/contract/runs/runs.js';
import { assert } from '../../src/errors.js';
import type { BenchProtein } from '../tools/proteins.js';

/** Address of the server, and credentials. */
export interface BatchClient {
  readonly url: string;
  readonly key: string;
}

/** Submits a batch and follows it to its end, as a client does. */
export async function runBatch(
  client: BatchClient,
  queries: readonly BenchProtein[],
  limit: number,
): Promise<Run> {
  let run = await submitBatch(client, queries, limit);
  while (run.finished_at === undefined) {
    ({ data: run } = (await call(client, 'GET', `/v1/runs/${run.id}`, undefined, 'wait=60')) as {
      data: Run;
    });
  }
  assert(run.status === 'completed', `the batch must complete: ${JSON.stringify(run.error)}`);
  return run;
}

export async function submitBatch(
  client: BatchClient,
  queries: readonly BenchProtein[],
  limit: number,
): Promise<Run> {
  const input = { limit, queries: queries.map(({ id, sequence }) => ({ id, sequence })) };
  const body = { endpoint: 'homology.batch_search', input };
  return ((await call(client, 'POST', '/v1/runs', body)) as { data: Run }).data;
}

export async function cancelRun(client: BatchClient, id: string): Promise<Run> {
  return ((await call(client, 'POST', `/v1/runs/${id}/cancel`)) as { data: Run }).data;
}

/** Returns the digests of all results of a batch, in the order of its queries. */
export async function batchDigests(client: BatchClient, { id }: Run): Promise<readonly string[]> {
  const digests: string[] = [];
  for (let cursor = ''; ;) {
    const page = (await call(client, 'GET', `/v1/runs/${id}/results?limit=20${cursor}`)) as {
      data: HomologyQueryResult[];
      next_cursor: string | null;
    };
    digests.push(...page.data.map(({ result_sha256: digest }) => digest));
    if (page.next_cursor === null) return digests;
    cursor = `&cursor=${page.next_cursor}`;
  }
}

/**
 * Searches one query over the direct route and returns the digest of the result. The answer must not come from the
 * cache.
 */
export async function searchDirect(
  client: BatchClient,
  { sequence }: BenchProtein,
  limit: number,
): Promise<string> {
  const body = { query: { kind: 'protein_sequence', sequence }, limit };
  const answer = (await call(client, 'POST', '/v1/homology', body)) as {
    result_sha256: string;
    performance: { is_cache_hit: boolean };
  };
  assert(!answer.performance.is_cache_hit, 'a search that is timed is not answered from the cache');
  return answer.result_sha256;
}

async function call(
  { url, key }: BatchClient,
  method: string,
  path: string,
  body?: unknown,
  prefer = 'respond-async',
): Promise<unknown> {
  const response = await fetch(url + path, {
    method,
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', Prefer: prefer },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const answer = (await response.json()) as unknown;
  assert(response.ok, `${method} ${path}: ${JSON.stringify(answer).slice(0, 500)}`);
  return answer;
}
