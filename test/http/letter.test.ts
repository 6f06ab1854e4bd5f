import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { canonicalSha256 } from '#src/canonical.js';
import { REFUSALS } from '#src/contract/grammar/refusals.js';
import { ROUTES } from '#src/contract/document/routes.js';
import type { Route } from '#src/contract/grammar/route.js';
import { Refusal } from '#src/errors.js';
import { failureOf, renderFailure } from '#src/http/steps/failure.js';
import type { Shell, ShellState } from '#src/http/shell.js';
import type { ContractRefusalCode } from '#src/refusal-codes.js';
import { expectFailure, readResponse, type ReadResponse } from '../tools/expectations.js';
import { KEY, post, searchBody, sendRaw, serve, type Served } from '../tools/serve.js';

/* Sentences of the interface document, each tested literally. */

const RUN = `run_${'0'.repeat(24)}`;
const CANCEL = ROUTES['runs.cancel'];
const PRICING = ROUTES['models.pricing.estimate'];
const SEARCH = ROUTES['homology.search'];

let served: Served;
beforeAll(async () => {
  served = await serve();
});
afterAll(() => served.close());

async function ask(method: string, path: string, init: RequestInit = {}): Promise<ReadResponse> {
  const headers = { authorization: `Bearer ${KEY}`, ...(init.headers as object) };
  return readResponse(await fetch(served.origin + path, { ...init, method, headers }));
}

interface FailureBody {
  readonly provenance: Readonly<Record<string, unknown>>;
  readonly error: {
    readonly code: string;
    readonly param: string;
    readonly errors: readonly Readonly<Record<string, unknown>>[];
  };
}

const parsedBody = ({ body }: ReadResponse): FailureBody => JSON.parse(body) as FailureBody;
const json = { 'content-type': 'application/json' };

describe('a cancellation is refused in the envelope, whatever its fault:', () => {
  const requests: readonly (readonly [string, string, string, RequestInit, ContractRefusalCode])[] = [
    ['a malformed id', 'POST', '/v1/runs/run_x/cancel', {}, 'validation_failed'],
    ['Accept', 'POST', `/v1/runs/${RUN}/cancel`, { headers: { accept: 'image/png' } }, 'not_acceptable'],
    ['the method', 'GET', `/v1/runs/${RUN}/cancel`, {}, 'method_not_allowed'],
    ['a query', 'POST', `/v1/runs/${RUN}/cancel?x=1`, {}, 'validation_failed'],
    ['an escape', 'POST', '/v1/runs/%zz/cancel', {}, 'malformed_path'],
    ['a body of text', 'POST', `/v1/runs/${RUN}/cancel`, { body: 'x' }, 'unsupported_media_type'],
    ['a broken body', 'POST', `/v1/runs/${RUN}/cancel`, { body: '{', headers: json }, 'invalid_json'],
    ['no run', 'POST', `/v1/runs/${RUN}/cancel`, {}, 'run_not_found'],
  ];
  it.each(requests)('%s', async (_what, method, path, init, code) => {
    const response = await ask(method, path, init);
    expectFailure(response, code, CANCEL);
    expect(parsedBody(response)).toMatchObject({ ok: false, error: { code } });
    expect(parsedBody(response).provenance['operation']).toBe('runs.cancel');
  });
});

describe('a pricing estimate is refused in the envelope:', () => {
  const path = PRICING.path;
  const bodies: readonly (readonly [string, string, ContractRefusalCode])[] = [
    ['broken JSON', '{', 'invalid_json'],
    ['no such type', '{"endpoints":{"a":{"call_quantity":1}},"estimate_type":"x"}', 'validation_failed'],
  ];
  it.each(bodies)('%s', async (_what, body, code) => {
    expectFailure(await ask('POST', path, { body, headers: json }), code, PRICING);
  });

  it('with the endpoint name as one step, the value that was sent, and the bound', async () => {
    const body = JSON.stringify({
      endpoints: { 'homology.search': { call_quantity: -1 } },
      estimate_type: 'historical_api_price',
    });
    const { error } = parsedBody(await ask('POST', path, { body, headers: json }));
    expect(error.errors).toEqual([
      expect.objectContaining({
        loc: ['body', 'endpoints', 'homology.search', 'call_quantity'],
        input: -1,
        ctx: { minimum: 0 },
      }),
    ]);
    expect(error.param).toBe('endpoints["homology.search"].call_quantity');
  });
});

describe('the homology route has one format for all failures:', () => {
  it('another method', async () => {
    expectFailure(await ask('GET', '/v1/homology'), 'method_not_allowed', SEARCH);
  });

  const head = `POST /v1/homology HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${KEY}\r\n`;
  const raw: readonly (readonly [string, string, ContractRefusalCode])[] = [
    ['an expectation', `${head}Expect: a-miracle\r\nContent-Length: 0\r\n\r\n`, 'expectation_failed'],
    ['headers that are too large', `${head}X: ${'x'.repeat(20_000)}\r\n\r\n`, 'header_too_large'],
    ['a verb that no parser knows', 'BREW /v1/homology HTTP/1.1\r\nHost: a\r\n\r\n', 'method_not_allowed'],
    [
      'a chunk that is none',
      `${head}Transfer-Encoding: chunked\r\nContent-Type: application/json\r\n\r\nzz\r\n`,
      'malformed_request',
    ],
  ];
  it.each(raw)('%s', async (_what, bytes, code) => {
    const [response] = await sendRaw(served.port, bytes);
    expectFailure(response as ReadResponse, code, SEARCH);
  });

  it('with the violated bounds', async () => {
    const { error } = JSON.parse(
      (await readResponse(await post(served, '/v1/homology', searchBody({ limit: 9999 })))).body,
    ) as {
      readonly error: { readonly details: { readonly errors: readonly unknown[] } };
    };
    expect(error.details.errors).toEqual([
      { location: 'body.limit', message: 'must be <= 5000', value: 9999, ctx: { maximum: 5000 } },
    ]);
  });
});

describe('every failure', () => {
  const state = {
    requestId: `req_${'0'.repeat(24)}`,
    operation: 'x',
    receivedAtMs: 0,
    params: {},
    query: {},
  };
  const shell = {
    baseUrl: () => 'http://a',
    clock: { now: () => new Date(), nowMs: () => 0 },
    serverVersion: '1',
    workerId: 'host:cpu:1',
  } as unknown as Shell;
  const render = (code: string, route?: Route) =>
    renderFailure(shell, { ...state, ...(route && { route }) } as unknown as ShellState, {
      ...failureOf(new Refusal(code as ContractRefusalCode, 'No.', { policy: { name: 'queue', quota: 1 } })),
    });

  it.each(Object.entries(REFUSALS))(
    '%s carries its code, and Retry-After where it is retryable',
    (code, rule) => {
      for (const route of [undefined, SEARCH, CANCEL, ROUTES['runs.get'], ROUTES['sequences.msa.a3m.get']]) {
        const { headers, body } = render(code, route);
        const parsed = JSON.parse(body) as {
          readonly code?: string;
          readonly error?: { readonly code: string };
        };
        expect(parsed.error?.code ?? parsed.code).toBe(headers['Service-Error-Type']);
        expect(headers['Retry-After'] !== undefined).toBe(rule.isRetryable);
      }
    },
  );

  it('of capacity states that the rate is limited', () => {
    const types = Object.values(REFUSALS)
      .filter(({ status }) => status === 429)
      .map(({ type }) => type);
    expect(new Set(types)).toEqual(new Set(['rate_limit_error']));
  });
});

describe('the contract pin', () => {
  it('is checked by every operation', async () => {
    for (const route of Object.values(ROUTES) as Route[]) {
      if (route.access === 'signature' || route.access === 'sql_credential') continue;
      const path = route.path.replace('{run_id}', RUN).replaceAll(/\{\w+\}/g, 'x');
      const response = await ask(route.method, path, { headers: { 'service-contract-pin': '2020-01-01' } });
      expect(response.headers['service-error-type'], route.operationId).toBe('api_version_unsupported');
    }
  });
});

describe('input_hash', () => {
  const hashOf = async (response: Promise<ReadResponse>): Promise<unknown> =>
    parsedBody(await response).provenance['input_hash'];

  it('of a request without key is that of its body', async () => {
    const body = { endpoints: {}, estimate_type: 'unit_price' };
    const init = { body: JSON.stringify(body), headers: { ...json, authorization: '' } };
    expect(await hashOf(ask('POST', PRICING.path, init))).toBe(canonicalSha256(body));
  });

  it('of a body that the operation does not use is that of the body', async () => {
    const init = { body: '{"why":"because"}', headers: json };
    expect(await hashOf(ask('POST', `/v1/runs/${RUN}/cancel`, init))).toBe(
      canonicalSha256({ why: 'because' }),
    );
  });

  it('of an absent optional body is that of null', async () => {
    const url = encodeURIComponent(`/v1/storage/files/fil_${'0'.repeat(24)}/a`);
    expect(await hashOf(ask('POST', `/v1/storage/file-signed-urls?url=${url}`))).toBe(canonicalSha256(null));
  });

  it('is absent if the body was too long to be read', async () => {
    const init = { body: JSON.stringify('x'.repeat(100_000)), headers: { ...json, authorization: '' } };
    expect(await hashOf(ask('POST', PRICING.path, init))).toBe(undefined);
  });
});
