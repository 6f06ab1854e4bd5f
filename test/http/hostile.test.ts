import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ContractRefusalCode } from '#src/refusal-codes.js';
import { ROUTES } from '#src/contract/document/routes.js';
import { expectFailure, expectSuccess, locationsOf, readResponse } from '../tools/expectations.js';
import { DIGEST_64, get, KEY, post, searchBody, sendRaw, serve, type Served } from '../tools/serve.js';

const SEARCH = ROUTES['homology.search'];
const COMPILE = ROUTES['homology.target_space_compilations.create'];
const RELEASE = `dbr_${DIGEST_64}`;
const SPACE = `htsp_${DIGEST_64}`;
const eq = { op: 'eq', field: 'organism', value: 'Homo sapiens' };

let served: Served;
beforeAll(async () => {
  served = await serve();
});
afterAll(() => served.close());

function nested(depth: number): string {
  return `${'['.repeat(depth)}${']'.repeat(depth)}`;
}

/** Refused bodies of `POST /v1/homology`, with error code and the places that the refusal names. */
const BODIES: readonly (readonly [string, string | Buffer, ContractRefusalCode, (readonly string[])?])[] = [
  ['an empty body text', ' ', 'invalid_json'],
  ['half an object', '{"query":', 'invalid_json'],
  ['single quotes', "{'query':{}}", 'invalid_json'],
  ['a trailing comma', '{"limit":1,}', 'invalid_json'],
  ['two values', `${searchBody()}{}`, 'invalid_json'],
  ['NaN', '{"limit":NaN}', 'invalid_json'],
  ['a byte order mark', `\ufeff${searchBody()}`, 'invalid_json'],
  ['bytes that are not UTF-8', Buffer.from([0x22, 0xff, 0xfe, 0x22]), 'invalid_json'],
  ['an overlong UTF-8 form', Buffer.from([0x22, 0xc0, 0xaf, 0x22]), 'invalid_json'],
  ['UTF-16', Buffer.from(searchBody(), 'utf16le'), 'invalid_json'],
  ['a raw NUL byte in a string', '{"database":"a\u0000b"}', 'invalid_json'],
  ['a member that stands twice', '{"limit":1,"limit":2}', 'invalid_json'],
  ['a member that stands twice in disguise', '{"limit":1,"\\u006cimit":2}', 'invalid_json'],
  ['__proto__', '{"__proto__":{"limit":1}}', 'invalid_json'],
  ['__proto__ in disguise', '{"\\u005f_proto__":1}', 'invalid_json'],
  ['an unpaired surrogate', '{"database":"\\ud800"}', 'invalid_json'],
  ['a number past a double', '{"limit":1e999}', 'invalid_json'],
  ['an array 10,000 deep', nested(10_000), 'invalid_json'],
  ['a million values', `[${'0,'.repeat(400_000)}0]`, 'body_too_large'],
  [
    'a sequence of 2 MB',
    searchBody({ query: { kind: 'protein_sequence', sequence: 'M'.repeat(2_000_000) } }),
    'body_too_large',
  ],
  ['a number as body', '1', 'validation_failed', ['body']],
  ['null as body', 'null', 'validation_failed', ['body']],
  ['an array as body', '[]', 'validation_failed', ['body']],
  ['no query', '{}', 'validation_failed', ['body.query']],
  ['an unknown field', searchBody({ evil: 1 }), 'validation_failed', ['body.evil']],
  [
    'constructor as a field',
    searchBody({ constructor: { prototype: {} } }),
    'validation_failed',
    ['body.constructor'],
  ],
  ['a limit of 0', searchBody({ limit: 0 }), 'validation_failed', ['body.limit']],
  ['a limit of 5,001', searchBody({ limit: 5_001 }), 'validation_failed', ['body.limit']],
  ['a limit as text', searchBody({ limit: '10' }), 'validation_failed', ['body.limit']],
  ['a fraction as limit', searchBody({ limit: 1.5 }), 'validation_failed', ['body.limit']],
  ['an empty database', searchBody({ database: '' }), 'validation_failed', ['body.database']],
  [
    'a database of 257 letters',
    searchBody({ database: 'x'.repeat(257) }),
    'validation_failed',
    ['body.database'],
  ],
  [
    'a malformed release id',
    searchBody({ database_release_id: 'dbr_1' }),
    'validation_failed',
    ['body.database_release_id'],
  ],
  ['an unknown evidence', searchBody({ evidence: 'all' }), 'validation_failed', ['body.evidence']],
  ['null for an optional member', searchBody({ filter: null }), 'validation_failed', ['body.filter']],
  [
    'a query of another kind',
    searchBody({ query: { kind: 'dna', sequence: 'A' } }),
    'validation_failed',
    ['body.query.kind'],
  ],
  [
    'an empty sequence',
    searchBody({ query: { kind: 'protein_sequence', sequence: '' } }),
    'validation_failed',
    ['body.query.sequence'],
  ],
  [
    '65,536 residues',
    searchBody({ query: { kind: 'protein_sequence', sequence: 'M'.repeat(65_536) } }),
    'validation_failed',
    ['body.query.sequence'],
  ],
  [
    'both database selectors',
    searchBody({ database: 'a', database_release_id: RELEASE }),
    'validation_failed',
    ['body.database', 'body.database_release_id'],
  ],
  [
    'a target space and a database',
    searchBody({ target_space_id: SPACE, database: 'a' }),
    'validation_failed',
    ['body.target_space_id', 'body.database'],
  ],
  [
    'a target space and a release',
    searchBody({ target_space_id: SPACE, database_release_id: RELEASE }),
    'validation_failed',
    ['body.target_space_id', 'body.database_release_id'],
  ],
  [
    'a target space and a filter',
    searchBody({ target_space_id: SPACE, filter: eq }),
    'validation_failed',
    ['body.target_space_id', 'body.filter'],
  ],
  [
    'a filter without op',
    searchBody({ filter: { field: 'a', value: 'b' } }),
    'validation_failed',
    ['body.filter.op', 'body.filter.op'],
  ],
  [
    'a filter with an unknown op deep inside',
    searchBody({ filter: { op: 'and', filters: [eq, eq, { op: 'like', field: 'a', value: 'b' }] } }),
    'validation_failed',
    ['body.filter.filters[2].op'],
  ],
  [
    'a filter with a number as value',
    searchBody({ filter: { op: 'lt', field: 'length', value: 3 } }),
    'validation_failed',
    ['body.filter.value'],
  ],
  [
    'a filter with members of two shapes',
    searchBody({ filter: { ...eq, values: ['a'] } }),
    'validation_failed',
    ['body.filter.values'],
  ],
  [
    'between with three values',
    searchBody({ filter: { op: 'between', field: 'a', values: ['1', '2', '3'] } }),
    'validation_failed',
    ['body.filter.values'],
  ],
  [
    'an empty and',
    searchBody({ filter: { op: 'and', filters: [] } }),
    'validation_failed',
    ['body.filter.filters'],
  ],
];

describe('the homology route refuses', () => {
  it.each(BODIES.map(([name, ...rest]) => [name, rest] as const))(
    '%s',
    async (_name, [body, code, places]) => {
      const response = await readResponse(await post(served, '/v1/homology', body));
      expectFailure(response, code, SEARCH);
      if (places !== undefined) expect(locationsOf(response)).toEqual(places);
    },
  );

  it('reports ten faults at once, each with its place', async () => {
    const body = {
      query: { kind: 'x', sequence: '' },
      limit: 0,
      evidence: 1,
      guarantee: 1,
      significance: 1,
      a: 1,
      b: 2,
      c: 3,
      d: 4,
    };
    const response = await readResponse(await post(served, '/v1/homology', JSON.stringify(body)));
    expectFailure(response, 'validation_failed', SEARCH);
    expect(new Set(locationsOf(response)).size).toBe(10);
  });
});

const json = { 'content-type': 'application/json' };
const HEADERS: readonly (readonly [string, Readonly<Record<string, string>>, ContractRefusalCode])[] = [
  ['no Content-Type', { 'content-type': '' }, 'unsupported_media_type'],
  ['text/plain', { 'content-type': 'text/plain' }, 'unsupported_media_type'],
  ['a form', { 'content-type': 'application/x-www-form-urlencoded' }, 'unsupported_media_type'],
  ['another charset', { 'content-type': 'application/json; charset=latin1' }, 'unsupported_media_type'],
  ['a compressed body', { ...json, 'content-encoding': 'gzip' }, 'unsupported_media_type'],
  ['Accept without JSON', { accept: 'text/html' }, 'not_acceptable'],
  ['JSON at quality 0', { accept: 'application/json;q=0, text/html' }, 'not_acceptable'],
  ['an over-long Idempotency-Key', { 'idempotency-key': 'k'.repeat(256) }, 'validation_failed'],
  ['an empty Idempotency-Key', { 'idempotency-key': '' }, 'validation_failed'],
  ['a deadline of 0.1 s', { 'service-request-timeout': '0.1' }, 'validation_failed'],
  ['a deadline in words', { 'service-request-timeout': 'soon' }, 'validation_failed'],
  ['another contract', { 'service-contract-pin': '2025-01-01' }, 'api_version_unsupported'],
  ['an empty contract pin', { 'service-contract-pin': '' }, 'api_version_unsupported'],
  ['no key', { authorization: '' }, 'missing_api_key'],
  ['Basic credentials', { authorization: 'Basic dTpw' }, 'invalid_api_key'],
  ['an unknown key', { authorization: 'Bearer glm_nobody' }, 'invalid_api_key'],
  ['two keys in one', { authorization: `Bearer ${KEY} ${KEY}` }, 'invalid_api_key'],
];

describe('headers that are refused:', () => {
  it.each(HEADERS)('%s', async (_name, headers, code) => {
    expectFailure(
      await readResponse(await post(served, '/v1/homology', searchBody(), headers)),
      code,
      SEARCH,
    );
  });
});

const FIRST = 'POST /v1/homology HTTP/1.1\r\nHost: a\r\n';
const AUTHORIZED = `${FIRST}Authorization: Bearer ${KEY}\r\nContent-Type: application/json\r\n`;
/** Bytes on the connection, and the refusal that the server sends. */
const RAW: readonly (readonly [string, string | Buffer, ContractRefusalCode])[] = [
  ['a word', 'HELLO\r\n\r\n', 'malformed_request'],
  ['binary', Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01]), 'malformed_request'],
  ['HTTP/2 without a handshake', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'malformed_request'],
  ['HTTP/9.9', 'GET /healthz HTTP/9.9\r\nHost: a\r\n\r\n', 'malformed_request'],
  ['no Host', 'GET /healthz HTTP/1.1\r\n\r\n', 'malformed_request'],
  ['two Hosts', 'GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n', 'malformed_request'],
  [
    'two Authorizations',
    `${AUTHORIZED}Authorization: Bearer ${KEY}\r\nContent-Length: 0\r\n\r\n`,
    'malformed_request',
  ],
  [
    'two Idempotency-Keys, the same or not',
    `${AUTHORIZED}Idempotency-Key: a\r\nidempotency-key: a\r\nContent-Length: 0\r\n\r\n`,
    'malformed_request',
  ],
  ['HTTP/0.9', 'GET /healthz\r\n\r\n', 'malformed_request'],
  ['a Host with a space', 'GET /healthz HTTP/1.1\r\nHost: a b\r\n\r\n', 'malformed_request'],
  ['a compressed transfer', `${FIRST}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`, 'malformed_request'],
  ['a header without colon', 'GET /healthz HTTP/1.1\r\nHost: a\r\nnonsense\r\n\r\n', 'malformed_request'],
  ['a space before the colon', 'GET /healthz HTTP/1.1\r\nHost : a\r\n\r\n', 'malformed_request'],
  ['a folded header', 'GET /healthz HTTP/1.1\r\nHost: a\r\nX: b\r\n c\r\n\r\n', 'malformed_request'],
  ['a NUL in a header', 'GET /healthz HTTP/1.1\r\nHost: a\r\nX: \0\r\n\r\n', 'malformed_request'],
  [
    'headers over 16 KiB',
    `GET /healthz HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(17_000)}\r\n\r\n`,
    'header_too_large',
  ],
  ['a path over 16 KiB', `GET /${'x'.repeat(17_000)} HTTP/1.1\r\nHost: a\r\n\r\n`, 'header_too_large'],
  [
    'Content-Length with Transfer-Encoding',
    `${FIRST}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    'malformed_request',
  ],
  ['two Content-Lengths', `${FIRST}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello`, 'malformed_request'],
  ['a negative Content-Length', `${FIRST}Content-Length: -1\r\n\r\n`, 'malformed_request'],
  [
    'a Transfer-Encoding that does not end in chunked',
    `${FIRST}Transfer-Encoding: chunked, gzip\r\n\r\n`,
    'malformed_request',
  ],
  ['chunked in disguise', `${FIRST}Transfer-Encoding: xchunked\r\n\r\n`, 'malformed_request'],
  [
    'a chunk size that is no number',
    `${AUTHORIZED}Transfer-Encoding: chunked\r\n\r\nzz\r\n`,
    'malformed_request',
  ],
  ['an unknown verb', 'FROB /v1/homology HTTP/1.1\r\nHost: a\r\n\r\n', 'method_not_allowed'],
  ['a verb in lower case', 'post /v1/homology HTTP/1.1\r\nHost: a\r\n\r\n', 'method_not_allowed'],
  ['an unknown verb on an unknown path', 'FROB /nowhere HTTP/1.1\r\nHost: a\r\n\r\n', 'route_not_found'],
  ['TRACE', 'TRACE /v1/homology HTTP/1.1\r\nHost: a\r\n\r\n', 'method_not_allowed'],
  ['PROPFIND', 'PROPFIND /v1/receipts/x HTTP/1.1\r\nHost: a\r\n\r\n', 'method_not_allowed'],
  ['CONNECT', 'CONNECT b:443 HTTP/1.1\r\nHost: b:443\r\n\r\n', 'method_not_allowed'],
  ['another expectation', `${FIRST}Expect: a-miracle\r\nContent-Length: 0\r\n\r\n`, 'expectation_failed'],
  ['an escape that is no escape', 'GET /v1/receipts/%zz HTTP/1.1\r\nHost: a\r\n\r\n', 'malformed_path'],
  ['an escape that is no UTF-8', 'GET /v1/receipts/%ff HTTP/1.1\r\nHost: a\r\n\r\n', 'malformed_path'],
  [
    'a bad escape in the query',
    'GET /v1/homology/databases?limit=%f HTTP/1.1\r\nHost: a\r\n\r\n',
    'malformed_path',
  ],
  ['a path without slash', 'GET nowhere HTTP/1.1\r\nHost: a\r\n\r\n', 'malformed_request'],
  ['a path that climbs', 'GET /v1/../healthz HTTP/1.1\r\nHost: a\r\n\r\n', 'route_not_found'],
  ['a trailing slash', 'GET /healthz/ HTTP/1.1\r\nHost: a\r\n\r\n', 'route_not_found'],
  [
    'a body that never comes, without key',
    `${FIRST}Content-Type: application/json\r\nContent-Length: 9\r\n\r\n`,
    'missing_api_key',
  ],
  [
    'a body that is announced too large',
    `${AUTHORIZED}Expect: 100-continue\r\nContent-Length: 99999999999\r\n\r\n`,
    'body_too_large',
  ],
];

/** Refused requests with a readable request line of the search route. */
const NAMES_A_ROUTE: ReadonlySet<string> = new Set([
  'a compressed transfer',
  'chunked in disguise',
  'a chunk size that is no number',
  'an unknown verb',
  'a verb in lower case',
  'TRACE',
  'another expectation',
  'a body that never comes, without key',
  'a body that is announced too large',
  'two Authorizations',
  'two Idempotency-Keys, the same or not',
]);

describe('bytes that are refused:', () => {
  it.each(RAW)('%s', async (name, bytes, code) => {
    const [response, ...more] = await sendRaw(served.port, bytes);
    expect(response, 'there is a response').toBeDefined();
    expectFailure(response!, code, NAMES_A_ROUTE.has(name) ? SEARCH : undefined);
    expect(more).toEqual([]);
  });

  it('never serves a second request that is smuggled behind a refused one', async () => {
    const outer = `${FIRST}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`;
    const smuggled = `${outer}GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n`;
    const responses = await sendRaw(served.port, smuggled);
    expect(responses.map(({ status }) => status)).toEqual([400]);
  });

  it('answers garbage behind a good request after the answer to the good request', async () => {
    const responses = await sendRaw(
      served.port,
      'GET /healthz HTTP/1.1\r\nHost: a\r\n\r\nGARBAGE\r\n\r\n',
      2,
    );
    expect(responses.map(({ status }) => status)).toEqual([200, 400]);
  });
});

describe('parameters that are refused:', () => {
  const query: readonly (readonly [string, string, readonly string[]])[] = [
    ['a limit of 0', 'limit=0', ['query.limit']],
    ['a limit in words', 'limit=ten', ['query.limit']],
    ['an unknown parameter', 'page=1', ['query.page']],
    ['a parameter that stands twice', 'limit=1&limit=2', ['query.limit']],
    ['__proto__ as parameter', '__proto__=1', ['query.__proto__']],
  ];
  it.each(query)('%s', async (_name, text, places) => {
    const response = await readResponse(await get(served, `/v1/homology/databases?${text}`));
    expectFailure(response, 'validation_failed', ROUTES['homology.databases.list']);
    expect(locationsOf(response)).toEqual(places);
  });

  it('refuses a malformed receipt id', async () => {
    const response = await readResponse(await get(served, '/v1/receipts/rcpt_%00'));
    expectFailure(response, 'validation_failed', ROUTES['receipts.get']);
  });
});

describe('the compilation route', () => {
  it.each([
    'between',
    'prefix',
    'suffix',
    'contains',
    'descends_from',
    'not_between',
    'contains_any',
    'contains_all',
  ])('has 13 shapes and refuses the operator %s', async (op) => {
    const Filter = { op, field: 'a', value: 'b' };
    const body = JSON.stringify({ DatabaseReleaseID: RELEASE, Filter });
    const response = await readResponse(await post(served, '/v1/homology/target-space-compilations', body));
    expectFailure(response, 'validation_failed', COMPILE);
    expect(locationsOf(response)).toEqual(['body.Filter.op']);
  });

  it('reports an unreadable request as a problem, and a refusal of its own in the envelope', async () => {
    const path = '/v1/homology/target-space-compilations';
    expectFailure(await readResponse(await post(served, path, '{')), 'invalid_json', COMPILE);
    expectFailure(
      await readResponse(await post(served, path, '{}', { authorization: '' })),
      'missing_api_key',
      COMPILE,
    );
  });
});

it('serves as before after all of these', async () => {
  expectSuccess(await readResponse(await post(served, '/v1/homology', searchBody())), SEARCH);
  expect((await get(served, '/readyz')).status).toBe(200);
});
