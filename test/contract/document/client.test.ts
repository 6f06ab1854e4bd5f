import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createClient, ServiceFailure, type Client } from '#src/contract/document/client.js';
import { DIGEST_64, KEY, serve, type Served } from '../../tools/serve.js';

let served: Served;
let client: Client;
beforeAll(async () => {
  served = await serve();
  client = createClient({ baseUrl: served.origin, apiKey: KEY });
});
afterAll(() => served.close());

const query = { kind: 'protein_sequence', sequence: 'MKVLAA' } as const;

async function failure(call: Promise<unknown>): Promise<ServiceFailure> {
  return call.then(
    () => expect.fail('the call must fail'),
    (error: unknown) => error as ServiceFailure,
  );
}

describe('the typed client', () => {
  it('sends what the contract takes and gives what it promises', async () => {
    const { body, status } = await client.call('homology.search', { body: { query, limit: 3 } });
    expect(status).toBe(200);
    expect(body.query.normalized_length).toBe(6);
    const { body: list } = await client.call('homology.databases.list', { query: { limit: 5 } });
    expect(list.data).toEqual([]);
    const { body: receipt } = await client.call('receipts.get', {
      params: { receipt_id: `rcpt_${DIGEST_64}` },
    });
    expect(receipt.data.object).toBe('receipt');
  });

  it('replays with the key that it is given', async () => {
    const input = { body: { query }, headers: { 'Idempotency-Key': 'once' } };
    const [first, second] = [
      await client.call('homology.search', input),
      await client.call('homology.search', input),
    ];
    expect(second.body.request_id).toBe(first.body.request_id);
    expect(second.headers.get('Idempotent-Replayed')).toBe('true');
  });

  it('fails with code, message and retry advice, whatever body the failure had', async () => {
    const homology = await failure(client.call('homology.search', { body: { query, limit: 0 } }));
    expect(homology).toBeInstanceOf(ServiceFailure);
    expect(homology).toMatchObject({ status: 422, code: 'validation_failed', isRetryable: false });
    expect(homology.message).toContain('body.limit must be >= 1');
    const problem = await failure(client.call('receipts.get', { params: { receipt_id: 'no/such' } }));
    expect(problem.message).toContain('path.receipt_id');
    const stranger = createClient({ baseUrl: served.origin, apiKey: 'glm_nobody' });
    const envelope = await failure(stranger.call('homology.databases.list', {}));
    expect(envelope).toMatchObject({ status: 401, code: 'invalid_api_key' });
    expect(envelope.requestId).toMatch(/^req_/);
  });

  it('does not compile with what the contract refuses', () => {
    // Never called: the compiler is the test, and an expectation that finds no error is one itself.
    const never = (): unknown => [
      // @ts-expect-error the query is required
      client.call('homology.search', { body: {} }),
      // @ts-expect-error an unknown member
      client.call('homology.search', { body: { query, evil: 1 } }),
      // @ts-expect-error the path parameter is required
      client.call('receipts.get', {}),
      // @ts-expect-error no such operation
      client.call('teapot.brew', {}),
    ];
    expect(never).toBeTypeOf('function');
  });
});
