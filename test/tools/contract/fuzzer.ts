import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import fc from 'fast-check';
import { broken, valuesOf, type Grammar, type Json, type KnownValues } from './schema-arbitrary.js';

/*
 * Sends random requests to a server and checks every response against the server's own OpenAPI document. It shares no
 * code with the server.
 */

/** Statuses with which a server may refuse a request that matches its schemas. Source  Schemathesis' defaults */
const REFUSED_THOUGH_VALID: ReadonlySet<number> = new Set([401, 403, 404, 409]);

/** Refusals of values that match a schema: they depend on releases, receipts, keys or statements. */
const SEMANTIC: ReadonlySet<string> = new Set([
  'idempotency_key_reused',
  'invalid_filter',
  'invalid_queries',
  'msa_alignments_missing',
  'part_size_too_small',
  'pricing_quantity_missing',
  'propagation_unavailable',
  'query_range_invalid',
  'relatives_unavailable',
  'significance_unavailable',
  'sql_statement_invalid',
  'sql_statement_refused',
]);

export interface FuzzOptions {
  readonly origin: string;
  readonly key: string;
  /** `user:password`, for operations without an API key. */
  readonly sqlCredential: string;
  readonly seed: number;
  readonly cases: number;
  /** Values that exist on this server, by name of parameter or member. They are sent often. */
  readonly values?: KnownValues;
  /** Operation ids that requests are drawn from; default: all of the document. */
  readonly operations?: readonly string[];
}

/** Requests sent, by operation, kind and status. */
export type FuzzCounts = ReadonlyMap<string, number>;

type HeaderObjects = Readonly<Record<string, { readonly required: boolean; readonly schema: Json }>>;

export interface Operation {
  readonly path: string;
  readonly method: string;
  readonly operationId: string;
  readonly parameters: readonly {
    readonly name: string;
    readonly in: string;
    readonly required: boolean;
    readonly schema: Json;
  }[];
  readonly requestBody?: { readonly content: { readonly 'application/json'?: { readonly schema: Json } } };
  /** Present for operations with other credentials than an API key. */
  readonly security?: readonly Json[];
  readonly responses: Readonly<
    Record<
      string,
      {
        readonly headers: HeaderObjects;
        readonly content?: Readonly<Record<string, { readonly schema: Json }>>;
      }
    >
  >;
}

interface Case {
  readonly operation: Operation;
  readonly path: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
  readonly kind: 'valid' | 'broken' | 'noise' | 'no_key' | 'other_method';
}

/** Errors  the first request whose response violates the document, shrunk, with the seed */
export async function fuzzContract({
  origin,
  key,
  sqlCredential,
  seed,
  cases,
  values = {},
  operations,
}: FuzzOptions): Promise<FuzzCounts> {
  const document = (await (await fetch(`${origin}/openapi.json`)).json()) as Json;
  const components = (document['components'] as { readonly schemas: Json }).schemas;
  const check = documentChecker(document);
  const counts = new Map<string, number>();
  const drawn = operationsOf(document).filter(({ operationId }) => operations?.includes(operationId) ?? true);
  const property = fc.asyncProperty(casesOf(drawn, { components, values }), async (request) => {
    const response = await send(origin, { key, sqlCredential }, request);
    const text = await response.text();
    const name = `${request.operation.operationId} ${request.kind} ${response.status}`;
    counts.set(name, (counts.get(name) ?? 0) + 1);
    const faults = faultsOf(request, response, text, check);
    if (faults.length > 0)
      throw new Error(
        `${faults.join('\n')}\n${describe(request)}\n→ ${response.status} ${text.slice(0, 2_000)}`,
      );
  });
  await fc.assert(property, { seed, numRuns: cases, endOnFailure: true });
  return counts;
}

export function operationsOf(document: Json): readonly Operation[] {
  const { headers } = document['components'] as { readonly headers: HeaderObjects };
  return Object.entries(document['paths'] as Readonly<Record<string, Json>>).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => {
      const { responses, ...rest } = operation as Omit<Operation, 'path' | 'method'>;
      const resolved = Object.entries(responses).map(([status, response]) => {
        const named = Object.keys(response.headers).map((name) => [name, headers[name]]);
        return [status, { ...response, headers: Object.fromEntries(named) as HeaderObjects }];
      });
      return { ...rest, path, method: method.toUpperCase(), responses: Object.fromEntries(resolved) };
    }),
  );
}

function casesOf(operations: readonly Operation[], grammar: Grammar): fc.Arbitrary<Case> {
  return fc.oneof(...operations.map((operation) => caseOf(operation, grammar)));
}

function caseOf(operation: Operation, grammar: Grammar): fc.Arbitrary<Case> {
  const part = (place: string): fc.Arbitrary<Readonly<Record<string, unknown>>> => {
    const parameters = operation.parameters.filter((parameter) => parameter.in === place);
    const model = Object.fromEntries(
      parameters.map(({ name, schema }) => [name, valuesOf(schema, grammar, name)]),
    );
    return fc.record(model, {
      requiredKeys: parameters.filter(({ required }) => required).map(({ name }) => name),
    });
  };
  const schema = operation.requestBody?.content['application/json']?.schema;
  const valid = schema === undefined ? fc.constant(undefined) : valuesOf(schema, grammar);
  const kind = fc.constantFrom<Case['kind'][]>(
    ...(['valid', 'valid', 'valid', 'valid', 'broken', 'broken', 'noise', 'no_key', 'other_method'] as const),
  );
  return fc
    .record({
      path: part('path'),
      query: part('query'),
      headers: part('header'),
      valid,
      kind,
      at: fc.nat(10_000),
      noise: fc.jsonValue(),
    })
    .map(({ path, query, headers, valid: value, kind: chosen, at, noise }) => ({
      operation,
      path: Object.fromEntries(Object.entries(path).map(([name, text]) => [name, String(text)])),
      query: chosen === 'broken' && schema === undefined ? { ...query, surplus: 'x' } : query,
      headers: Object.fromEntries(
        Object.entries(headers).flatMap(([name, text]) => sendable(name, String(text))),
      ),
      body: chosen === 'broken' ? broken(value, at, noise) : chosen === 'noise' ? noise : value,
      kind: chosen,
    }));
}

/** Headers carry visible Latin-1 letters, so a client cannot send other characters either. */
function sendable(name: string, text: string): readonly (readonly [string, string])[] {
  return /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(text) ? [[name, text]] : [];
}

async function send(
  origin: string,
  secrets: Pick<FuzzOptions, 'key' | 'sqlCredential'>,
  { operation, path, query, headers, body, kind }: Case,
): Promise<Response> {
  const filled = operation.path.replace(/\{(\w+)\}/g, (_all, name: string) =>
    encodeURIComponent(path[name] ?? ''),
  );
  const search = new URLSearchParams(
    Object.entries(query).map(([name, value]) => [name, String(value)] as [string, string]),
  ).toString();
  const method =
    kind === 'other_method' ? (operation.method === 'PATCH' ? 'PUT' : 'PATCH') : operation.method;
  const hasBody = body !== undefined && method !== 'GET';
  return fetch(`${origin}${filled}${search === '' ? '' : `?${search}`}`, {
    method,
    headers: {
      ...headers,
      ...(kind === 'no_key' ? {} : { Authorization: authorizationOf(operation, secrets) }),
      ...(hasBody ? { 'Content-Type': 'application/json' } : {}),
    },
    ...(hasBody ? { body: JSON.stringify(body) } : {}),
  });
}

export function authorizationOf(
  { security = [] }: Operation,
  { key, sqlCredential }: Pick<FuzzOptions, 'key' | 'sqlCredential'>,
): string {
  const isSql = security.some((scheme) => scheme['sqlCredential'] !== undefined);
  return isSql ? `Basic ${Buffer.from(sqlCredential).toString('base64')}` : `Bearer ${key}`;
}

export type Check = (schema: Json, value: unknown) => string | undefined;

/** Validates against schemas of the document, with a separate ajv. */
export function documentChecker(document: Json): Check {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  formats.default(ajv);
  const base = 'https://document.test/openapi';
  ajv.addSchema({ $id: base, components: document['components'] });
  const compiled = new Map<string, ValidateFunction>();
  return (schema, value) => {
    const text = JSON.stringify(schema).replaceAll('"#/', `"${base}#/`);
    const validate = compiled.get(text) ?? ajv.compile(JSON.parse(text) as Json);
    compiled.set(text, validate);
    return validate(value) ? undefined : ajv.errorsText(validate.errors);
  };
}

function faultsOf(request: Case, response: Response, text: string, check: Check): readonly string[] {
  const { operation, kind } = request;
  const code = response.headers.get('service-error-type');
  const faults: string[] = [];
  // On a busy machine, work may not start within the request's own deadline.
  const isLate =
    code === 'start_deadline_exceeded' && request.headers['Service-Request-Timeout'] !== undefined;
  if (response.status >= 500 && !isLate) faults.push('a request must not end in a 5xx');
  if (kind === 'other_method') {
    if (response.status !== 405 || response.headers.get('allow') === null)
      faults.push('another method must be a 405 with Allow');
    return faults;
  }
  if (kind === 'no_key' && response.status !== 401 && !isRefusedSignature(request, code))
    faults.push('a request without key must be a 401');
  const body = operation.requestBody?.content['application/json']?.schema;
  const isValid = body === undefined ? kind !== 'broken' : check(body, request.body) === undefined;
  const isCalledInvalid = code === 'validation_failed' || code === 'invalid_json';
  if (kind !== 'no_key' && isValid && isCalledInvalid && !isAmbiguous(request, code))
    faults.push('a valid request must be taken');
  const isWhole = kind === 'valid' && isValid && hasValidParameters(request, check);
  if (isWhole && !isLate && isRefusedThoughValid(response.status, code))
    faults.push(`valid, yet refused: ${code}`);
  // Invalid by the schema, or by a finer check of the operation.
  if (!isValid && response.status < 400) faults.push('a request that breaks its schema must be refused');
  return [...faults, ...responseFaults(operation, response, text, check)];
}

/** The generator supports fewer keywords than the schemas use. */
function hasValidParameters({ operation, path, query, headers }: Case, check: Check): boolean {
  const sent: Readonly<Record<string, Readonly<Record<string, unknown>>>> = { path, query, header: headers };
  return operation.parameters.every(({ name, in: place, schema }) => {
    const value = sent[place]?.[name];
    return value === undefined || check(schema, value) === undefined;
  });
}

export function isRefusedThoughValid(status: number, code: string | null): boolean {
  return status >= 400 && !REFUSED_THOUGH_VALID.has(status) && !SEMANTIC.has(code ?? '');
}

/** An invalid signature is refused before any other check. */
function isRefusedSignature({ operation }: Case, code: string | null): boolean {
  const isSigned = operation.security?.some((scheme) => scheme['signedUrl'] !== undefined) ?? false;
  return isSigned && code === 'signature_invalid';
}

/** An unsupported version pin is refused before the body is read, with its own code. */
function isAmbiguous(request: Case, code: string | null): boolean {
  if (isRefusedSignature(request, code)) return true;
  const { headers } = request;
  return code === 'api_version_unsupported' && headers['Service-Contract-Pin'] !== undefined;
}

export function responseFaults(
  operation: Operation,
  response: Pick<Response, 'status' | 'headers'>,
  text: string,
  check: Check,
): readonly string[] {
  const declared = operation.responses[String(response.status)];
  if (declared === undefined) return [`the status ${response.status} is not declared`];
  const faults: string[] = [];
  const mediaType = response.headers.get('content-type') ?? '';
  const { schema } = declared.content?.[mediaType] ?? declared.content?.['*/*'] ?? {};
  if (schema === undefined) {
    if (declared.content !== undefined) faults.push(`the media type ${mediaType} is not declared`);
  } else {
    const broken = valuesIn(mediaType, text).flatMap((value) => check(schema, value) ?? []);
    faults.push(...broken.map((fault) => `the body breaks its schema: ${fault}`));
  }
  for (const [name, { required, schema: expected }] of Object.entries(declared.headers)) {
    const value = response.headers.get(name);
    const fault = value === null ? undefined : check(expected, value);
    if (required && value === null) faults.push(`the header ${name} is missing`);
    if (fault !== undefined) faults.push(`the header ${name} breaks its schema: ${fault}`);
  }
  for (const name of response.status >= 400 ? [] : ['Service-Error-Type', 'Service-Retryable']) {
    if (response.headers.get(name) !== null) faults.push(`the header ${name} must be absent on success`);
  }
  return faults;
}

/** Values that the schema describes: the document, each event of a stream, or the text. */
function valuesIn(mediaType: string, text: string): readonly unknown[] {
  if (/[/+]json$/.test(mediaType)) return [JSON.parse(text)];
  if (mediaType !== 'text/event-stream') return [text];
  return [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data as string) as unknown);
}

function describe({ operation, path, query, headers, body, kind }: Case): string {
  const parts = JSON.stringify({ path, query, headers, body }).slice(0, 4_000);
  return `${kind} ${operation.method} ${operation.path} ${parts}`;
}
