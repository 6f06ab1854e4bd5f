import { request as httpRequest } from 'node:http';
import {
  authorizationOf,
  isRefusedThoughValid,
  documentChecker,
  operationsOf,
  responseFaults,
  type Check,
  type Operation,
} from './fuzzer.js';
import type { Json, KnownValues } from './schema-arbitrary.js';
import { createdId, exampleRequest } from './requests.js';
import { casesAround, exampleOf, type CaseSource, type SchemaCase } from './schema-cases.js';

/*
 * Checks a running server against its own OpenAPI document, case by case and without randomness. The cases are methods,
 * credentials, media types, both sides of every bound of parameters and bodies, and deleted resources. The checks know
 * only the document.
 */

export interface ChecksOptions {
  readonly origin: string;
  readonly key: string;
  /** `user:password` of a SQL credential. */
  readonly sqlCredential: string;
  readonly values: KnownValues;
}

export interface ChecksOutcome {
  readonly requests: number;
  /** Violations of the document or of HTTP. */
  readonly faults: readonly string[];
}

const METHODS = ['GET', 'PUT', 'POST', 'DELETE', 'PATCH', 'TRACE', 'QUERY', 'PROPFIND'];
/** Statuses with which a server may refuse a request that violates a schema. Source  Schemathesis' defaults */
const REJECTED = new Set([400, 401, 403, 404, 405, 406, 409, 422, 428]);

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

interface SentRequest {
  readonly method?: string;
  readonly path?: Json;
  readonly query?: Json;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

interface Checker extends CaseSource {
  readonly options: ChecksOptions;
  readonly operations: readonly Operation[];
  readonly check: Check;
  ask(operation: Operation, request: SentRequest): Promise<Answer>;
  /** Sends a request and checks the response against the operation's declaration. */
  askFor(operation: Operation, what: string, request: SentRequest): Promise<Answer>;
  fault(operation: Operation, what: string, fault: string): void;
}

export async function checkContract(options: ChecksOptions): Promise<ChecksOutcome> {
  const document = (await (await fetch(`${options.origin}/openapi.json`)).json()) as Json;
  const faults: string[] = [];
  let requests = 0;
  const check = documentChecker(document);
  const checker: Checker = {
    options,
    components: (document['components'] as { readonly schemas: Json }).schemas,
    values: options.values,
    operations: operationsOf(document),
    check,
    fault: ({ method, path }, what, fault) => void faults.push(`${method} ${path}, ${what}: ${fault}`),
    ask(operation, request) {
      requests += 1;
      return send(options, operation, request);
    },
    async askFor(operation, what, request) {
      const answer = await checker.ask(operation, request);
      const text = answer.text === '' ? 'null' : answer.text;
      for (const fault of responseFaults(operation, answer, text, check))
        checker.fault(operation, what, fault);
      return answer;
    },
  };
  for (const operation of checker.operations) {
    await checkMethods(checker, operation);
    await checkCredentials(checker, operation);
    await checkBody(checker, operation);
    await checkParameters(checker, operation);
  }
  for (const operation of checker.operations) await checkDeletion(checker, operation);
  return { requests, faults };
}

async function checkMethods(checker: Checker, operation: Operation): Promise<void> {
  const declared = checker.operations
    .filter(({ path }) => path === operation.path)
    .map(({ method }) => method);
  for (const method of METHODS.filter((each) => !declared.includes(each))) {
    const { status, headers } = await checker.ask(operation, {
      ...exampleRequest(checker, operation),
      method,
    });
    const allowed = (headers.get('allow') ?? '').split(', ');
    if (status !== 405 || !declared.every((each) => allowed.includes(each)))
      checker.fault(
        operation,
        method,
        `must be a 405 that allows ${declared.join()}, was ${status} (${allowed.join()})`,
      );
  }
}

/** Sends requests without credentials, and with invalid ones. A query parameter identifies signed URLs. */
async function checkCredentials(checker: Checker, operation: Operation): Promise<void> {
  const example = exampleRequest(checker, operation);
  const schemes = (operation.security ?? [{ apiKey: [] }]).flatMap(Object.keys);
  const credentials = ['', 'Bearer', 'Bearer wrong', 'Basic dTpw', `bearer ${checker.options.key}x`];
  const isSignedOnly = schemes.every((scheme) => scheme === 'signedUrl');
  for (const authorization of isSignedOnly ? [''] : credentials) {
    const headers = { authorization };
    const query = Object.fromEntries(
      Object.entries(example.query ?? {}).filter(([name]) => name !== 'signature'),
    );
    const what = `credentials "${authorization}"`;
    const answer = await checker.askFor(operation, what, { ...example, headers, query });
    if (answer.status !== 401 || answer.headers.get('www-authenticate') === null)
      checker.fault(operation, what, `must be a 401 with WWW-Authenticate, was ${answer.status}`);
  }
}

async function checkBody(checker: Checker, operation: Operation): Promise<void> {
  const schema = operation.requestBody?.content['application/json']?.schema;
  if (schema === undefined) return;
  const example = exampleRequest(checker, operation);
  for (const type of ['text/plain', 'application/xml', 'application/json; charset=latin1']) {
    const { status } = await checker.askFor(operation, type, {
      ...example,
      headers: { 'content-type': type },
    });
    if (status !== 415) checker.fault(operation, type, `must be a 415, was ${status}`);
  }
  await checkCases(checker, operation, schema, casesAround(schema, example.body, checker), (body) => ({
    ...example,
    body,
  }));
}

async function checkParameters(checker: Checker, operation: Operation): Promise<void> {
  const example = exampleRequest(checker, operation);
  for (const { name, in: place, schema } of operation.parameters) {
    const part = ({ path: 'path', query: 'query', header: 'headers' } as const)[place as 'path'];
    const value = exampleOf(schema, checker, name);
    const cases = casesAround(schema, value, checker)
      .map(({ what, value: each }) => ({ what: `${name} ${what}`, value: sendable(each, place, schema) }))
      .filter(({ value: each }) => each !== undefined);
    await checkCases(checker, operation, schema, cases, (each) => ({
      ...example,
      [part]: { ...(example[part] as Json), [name]: each },
    }));
  }
  const surplus = await checker.askFor(operation, 'an unknown query parameter', {
    ...example,
    query: { ...example.query, surplus: 'x' },
  });
  // An invalid signature may be refused before any other check.
  if (!REJECTED.has(surplus.status))
    checker.fault(operation, 'an unknown query parameter', `must be refused, was ${surplus.status}`);
}

/** Values of parameters as text, without values that no client can send. */
function sendable(value: unknown, place: string, schema: Json): unknown {
  const isNumber = schema['type'] === 'integer';
  if (typeof value === 'number' && isNumber) return value;
  if (typeof value !== 'string' || isNumber) return undefined;
  if (place === 'header') return /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(value) ? value : undefined;
  // An empty path segment is another path.
  return place === 'path' && value === '' ? undefined : value;
}

async function checkCases(
  checker: Checker,
  operation: Operation,
  schema: Json,
  cases: readonly SchemaCase[],
  requestOf: (value: unknown) => SentRequest,
): Promise<void> {
  for (const { what, value } of cases) {
    const isValid = checker.check(schema, value) === undefined;
    const answer = await checker.askFor(operation, what, requestOf(value));
    const code = answer.headers.get('service-error-type');
    if (answer.status >= 500) checker.fault(operation, what, `must not be a ${answer.status} (${code})`);
    if (!isValid && !REJECTED.has(answer.status))
      checker.fault(operation, what, `breaks the schema and must be refused, was ${answer.status} (${code})`);
    if (isValid && isRefusedThoughValid(answer.status, code))
      checker.fault(operation, what, `keeps the schema and must be taken, was ${answer.status} (${code})`);
  }
}

/** After a deletion, every request below the path must return that the object is not found. */
async function checkDeletion(checker: Checker, operation: Operation): Promise<void> {
  const [, collection, name] = /^(.*)\/\{(\w+)\}$/.exec(operation.path) ?? [];
  const create = checker.operations.find(({ method, path }) => method === 'POST' && path === collection);
  if (operation.method !== 'DELETE' || name === undefined || create === undefined) return;
  const created = await checker.askFor(create, 'for deletion', exampleRequest(checker, create));
  const id = createdId(JSON.parse(created.text) as Json, name);
  if (created.status >= 300 || id === undefined) {
    return checker.fault(
      create,
      'for deletion',
      `nothing was made (${created.status} ${created.text.slice(0, 300)})`,
    );
  }
  const below = checker.operations.filter(({ path }) => path.startsWith(operation.path));
  const reading = below.find(({ method, path }) => method === 'GET' && path === operation.path);
  const of = (target: Operation): SentRequest => {
    const example = exampleRequest(checker, target);
    return { ...example, path: { ...example.path, [name]: id } };
  };
  if (reading !== undefined && (await checker.askFor(reading, 'once made', of(reading))).status !== 200)
    checker.fault(reading, 'once made', 'must be there');
  const deleted = await checker.askFor(operation, 'deletion', of(operation));
  if (deleted.status >= 300) checker.fault(operation, 'deletion', `must be done, was ${deleted.status}`);
  for (const target of below) {
    const { status } = await checker.askFor(target, 'after deletion', of(target));
    const isSigned = (target.security ?? []).some((scheme) => scheme['signedUrl'] !== undefined);
    if (status !== 404 && !isSigned) checker.fault(target, 'after deletion', `must be a 404, was ${status}`);
  }
}

function send(options: ChecksOptions, operation: Operation, request: SentRequest): Promise<Answer> {
  const path = operation.path.replace(/\{(\w+)\}/g, (_all, name: string) =>
    encodeURIComponent(String(request.path?.[name] ?? '')),
  );
  const pairs = Object.entries(request.query ?? {}).map(
    ([name, value]) => [name, String(value)] as [string, string],
  );
  const search = new URLSearchParams(pairs).toString();
  const body = request.body === undefined ? undefined : JSON.stringify(request.body);
  const headers: Record<string, string> = {
    authorization: authorizationOf(operation, options),
    ...(body === undefined
      ? {}
      : { 'content-type': 'application/json', 'content-length': `${Buffer.byteLength(body)}` }),
    ...Object.fromEntries(
      Object.entries(request.headers ?? {}).map(([name, value]) => [name, String(value)]),
    ),
  };
  if (headers['authorization'] === '') delete headers['authorization'];
  return new Promise((resolve, reject) => {
    const url = `${options.origin}${path}${search === '' ? '' : `?${search}`}`;
    const sent = httpRequest(url, { method: request.method ?? operation.method, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const answered = Object.entries(response.headers).map(
          ([name, value]) => [name, String(value)] as [string, string],
        );
        const text = Buffer.concat(chunks).toString('utf8');
        resolve({ status: response.statusCode ?? 0, headers: new Headers(answered), text });
      });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}
