import { expect } from 'vitest';
import { failureShape } from '#src/contract/document/openapi.js';
import { REFUSALS } from '#src/contract/grammar/refusals.js';
import type { ContractRefusalCode } from '#src/refusal-codes.js';
import type { Route } from '#src/contract/grammar/route.js';
import { createFailureCheck, createValidators } from '#src/contract/document/validation.js';
import { ROUTES } from '#src/contract/document/routes.js';

/** Longest wait of a test for an expected event. A busy machine is slow, which is no failure. */
export const SOON = { timeout: 20_000 };

/** A response as both clients (fetch and the raw socket) give it. */
export interface ReadResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const checkFailure = createFailureCheck();
const validators = createValidators(Object.values(ROUTES));

export async function readResponse(response: Response): Promise<ReadResponse> {
  return {
    status: response.status,
    headers: Object.fromEntries(response.headers),
    body: await response.text(),
  };
}

/** Headers that every response has. */
export function expectCommonHeaders({ headers }: ReadResponse): void {
  expect(headers['x-request-id']).toMatch(/^req_[0-9a-f]{24}$/);
  expect(headers['service-version']).toBe('0.1.0');
  expect(headers['service-contract-digest']).toMatch(/^sha256:[0-9a-f]{64}$/);
  expect(headers['x-service-served-from']).toBe('test-host:fake:1');
  expect(headers['x-service-runner-hints']).not.toBe(undefined);
}

/** Expects this refusal in status, headers, media type and body, as the contract describes for the route. */
export function expectFailure(response: ReadResponse, code: ContractRefusalCode, route?: Route): void {
  const { headers } = response;
  const rule = REFUSALS[code];
  const { mediaType, schema } = failureShape(route, code);
  expect({ code: headers['service-error-type'], status: response.status }).toEqual({
    code,
    status: rule.status,
  });
  expectCommonHeaders(response);
  expect(headers['service-retryable']).toBe(String(rule.isRetryable));
  expect(headers['content-type']).toBe(mediaType);
  const body = JSON.parse(response.body) as Record<string, unknown>;
  expect(checkFailure(schema, body)).toEqual([]);
  expect(headers['link']).toContain(`/schemas/${schema.$id}.json>`);
  if (schema.$id === 'Problem') {
    expect(body['status']).toBe(response.status);
    expect(body['instance']).toBe(`urn:gloaming:request:${headers['x-request-id']}`);
  } else {
    const error = body['error'] as Record<string, unknown>;
    expect(error['code']).toBe(code);
    expect(error['type']).toBe(rule.type);
    expect(error['request_id']).toBe(headers['x-request-id']);
    expect(error['doc_url']).toMatch(new RegExp(`/docs/errors#${code}$`));
  }
  if (rule.status === 405) expect(headers['allow']).toMatch(/OPTIONS/);
  if (rule.status === 401) expect(headers['www-authenticate']).toBe('Bearer');
  if (rule.status === 429) {
    expect(headers['ratelimit']).toMatch(/^"(request|queue|execution)";r=0;t=\d+$/);
    expect(headers['ratelimit-policy']).toMatch(
      /^"(request|queue|execution)";q=\d+;(w=\d+|qu="concurrent-requests")$/,
    );
    expect(Number(headers['retry-after'])).toBeGreaterThanOrEqual(1);
  }
}

/** Expects a success of the route, with a body that matches the schema. Returns the body. */
export function expectSuccess(response: ReadResponse, route: Route): unknown {
  expect({ status: response.status, body: response.status < 400 ? '' : response.body }).toEqual({
    status: route.success.status,
    body: '',
  });
  expectCommonHeaders(response);
  expect(response.headers['service-error-type']).toBe(undefined);
  expect(response.headers['service-retryable']).toBe(undefined);
  expect(response.headers['content-type']).toBe('application/json');
  const body: unknown = JSON.parse(response.body);
  expect(validators.get(route)?.checkSuccess(body)).toEqual([]);
  return body;
}

/** Places that a failure lists, in any body format. */
export function locationsOf(response: ReadResponse): readonly string[] {
  const body = JSON.parse(response.body) as {
    readonly errors?: readonly { readonly location: string }[];
    readonly error?: {
      readonly details: { readonly errors?: readonly { readonly location: string }[] };
      readonly errors?: readonly { readonly loc: readonly string[] }[];
    };
  };
  const plain = body.errors ?? body.error?.details.errors;
  return plain?.map(({ location }) => location) ?? body.error?.errors?.map(({ loc }) => loc.join('.')) ?? [];
}
