import {
  authorizationOf,
  documentChecker,
  operationsOf,
  responseFaults,
  type Check,
  type Operation,
} from './fuzzer.js';
import type { Json, KnownValues } from './schema-arbitrary.js';
import { createdId, exampleRequest } from './requests.js';

/*
 * Checks of several requests that belong together, over every operation of a server's document. Names and meanings are
 * those of Schemathesis and RESTler:
 *
 *   ensure_resource_availability   a created resource exists at once for its creator
 *   use_after_free                 what was deleted is not there any more, whatever is asked below its path
 *   namespace_rule                 what one organization has made, another neither reads, changes nor deletes
 *   resource_leakage               a creation that is refused makes nothing
 *   information_leakage            no response describes the inside of the server
 *   missing_required_header        without a header that something needs, the request is refused, never guessed at
 *
 * checks.ts has negative_data_rejection, positive_data_acceptance, ignored_auth and unsupported_method, over every
 * bound of every schema.
 */

export interface UsesOptions {
  readonly origin: string;
  readonly key: string;
  /** API key of another organization. */
  readonly strangersKey: string;
  /** `user:password` of a SQL credential. */
  readonly sqlCredential: string;
  /** Values that exist on this server, by name of parameter or member. */
  readonly values: KnownValues;
}

export interface UsesOutcome {
  readonly requests: number;
  /** Number of cases of each check. */
  readonly counts: Readonly<Record<string, number>>;
  readonly faults: readonly string[];
}

/** Internals of the server: a path, a line of a stack trace, a message of a library. */
const INSIDE = [
  /(^|["\s(])\/(home|root|tmp|usr|var|work|opt|etc|proc)\/[\w.-]+\//,
  /node_modules|node:internal|\bat [\w.<>]+ \(|\.(ts|js|cpp|mjs):\d+/,
  /\b(MDB_[A-Z]+|lmdb|ECONN\w+|ENOENT|EACCES|SQLITE|TypeError|RangeError|ReferenceError)\b/i,
  /\bAssertion failed\b/,
];

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

interface SentRequest {
  readonly path?: Json;
  readonly query?: Json;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly key?: string;
}

/** A collection of objects with ids, and the operations on one of them. */
interface Collection {
  readonly create: Operation;
  /** Name of the parameter that holds the id. */
  readonly parameter: string;
  readonly below: readonly Operation[];
}

export async function checkUses(options: UsesOptions): Promise<UsesOutcome> {
  const checker = await openChecker(options);
  for (const collection of collectionsOf(checker.operations)) {
    await checkAvailability(checker, collection);
    await checkNamespace(checker, collection);
    await checkRefusedCreation(checker, collection);
    await checkAfterDeletion(checker, collection);
  }
  for (const operation of checker.operations) {
    await checkMissingHeaders(checker, operation);
    await checkLeaks(checker, operation);
  }
  return { requests: checker.requests(), counts: checker.counts, faults: checker.faults };
}

interface Checker {
  readonly options: UsesOptions;
  readonly components: Json;
  readonly values: KnownValues;
  readonly operations: readonly Operation[];
  readonly counts: Record<string, number>;
  readonly faults: string[];
  requests(): number;
  ask(operation: Operation, request: SentRequest): Promise<Answer>;
  /** Counts a case of a check, and records a fault if the condition does not hold. */
  hold(check: string, operation: Operation, condition: boolean, fault: string): void;
}

async function openChecker(options: UsesOptions): Promise<Checker> {
  const document = (await (await fetch(`${options.origin}/openapi.json`)).json()) as Json;
  const check = documentChecker(document);
  const counts: Record<string, number> = {};
  const faults: string[] = [];
  let requests = 0;
  return {
    options,
    components: (document['components'] as { readonly schemas: Json }).schemas,
    values: options.values,
    operations: operationsOf(document),
    counts,
    faults,
    requests: () => requests,
    async ask(operation, request) {
      requests += 1;
      const answer = await send(options, operation, request);
      faults.push(...faultsOf(operation, answer, check));
      return answer;
    },
    hold(name, { method, path }, condition, fault) {
      counts[name] = (counts[name] ?? 0) + 1;
      if (!condition) faults.push(`${name}: ${method} ${path}: ${fault}`);
    },
  };
}

/** Checks that apply to every response. */
function faultsOf(operation: Operation, answer: Answer, check: Check): readonly string[] {
  const text = `${answer.text}\n${[...answer.headers].map(([name, value]) => `${name}: ${value}`).join('\n')}`;
  const leaks = INSIDE.flatMap((pattern) => pattern.exec(text)?.[0] ?? []);
  return [
    ...responseFaults(operation, answer, answer.text === '' ? 'null' : answer.text, check),
    ...leaks.map((leak) => `information_leakage: ${leak}`),
    ...(answer.status >= 500 ? [`a request ended in ${answer.status}`] : []),
  ].map((fault) => `${operation.method} ${operation.path}: ${fault}`);
}

/** POST on a collection beside operations on `/{its id}`. */
function collectionsOf(operations: readonly Operation[]): readonly Collection[] {
  return operations
    .filter(({ method }) => method === 'POST')
    .flatMap((create) => {
      const isBelow = ({ path }: Operation) => path.startsWith(`${create.path}/{`);
      const below = operations.filter(isBelow);
      const parameter = /^\/\{(\w+)\}/.exec(below[0]?.path.slice(create.path.length) ?? '')?.[1];
      return parameter === undefined ? [] : [{ create, parameter, below }];
    });
}

async function make(checker: Checker, { create, parameter }: Collection): Promise<string> {
  const created = await checker.ask(create, exampleRequest(checker, create));
  const id = createdId(JSON.parse(created.text) as Json, parameter);
  if (created.status >= 300 || id === undefined)
    throw new Error(
      `${create.method} ${create.path} made nothing: ${created.status} ${created.text.slice(0, 300)}`,
    );
  return id;
}

/** ensure_resource_availability */
async function checkAvailability(checker: Checker, collection: Collection): Promise<void> {
  const { parameter, below, create } = collection;
  const id = await make(checker, collection);
  for (const reading of readings(collection)) {
    const { status } = await checker.ask(reading, requestOf(checker, reading, parameter, id));
    checker.hold('ensure_resource_availability', reading, status === 200, `was made, yet ${status}`);
  }
  const list = checker.operations.find(({ method, path }) => method === 'GET' && path === create.path);
  if (list === undefined || below.length === 0) return;
  const { text } = await checker.ask(list, { ...exampleRequest(checker, list), query: { limit: 100 } });
  checker.hold('ensure_resource_availability', list, text.includes(id), `does not list ${id}`);
}

/** namespace_rule */
async function checkNamespace(checker: Checker, collection: Collection): Promise<void> {
  const { parameter, below, create } = collection;
  const id = await make(checker, collection);
  const key = checker.options.strangersKey;
  for (const operation of below.filter((each) => !isSigned(each))) {
    const { status } = await checker.ask(operation, { ...requestOf(checker, operation, parameter, id), key });
    checker.hold(
      'namespace_rule',
      operation,
      [403, 404].includes(status),
      `a stranger was answered ${status}`,
    );
  }
  const list = checker.operations.find(({ method, path }) => method === 'GET' && path === create.path);
  if (list !== undefined) {
    const { text } = await checker.ask(list, { ...exampleRequest(checker, list), key });
    checker.hold('namespace_rule', list, !text.includes(id), `another organization sees ${id}`);
  }
  for (const reading of readings(collection)) {
    const { status } = await checker.ask(reading, requestOf(checker, reading, parameter, id));
    checker.hold('namespace_rule', reading, status === 200, `a stranger has changed it: ${status}`);
  }
}

/** resource_leakage */
async function checkRefusedCreation(checker: Checker, { create }: Collection): Promise<void> {
  const list = checker.operations.find(({ method, path }) => method === 'GET' && path === create.path);
  if (list === undefined) return;
  const count = async (): Promise<string> => {
    const request = { ...exampleRequest(checker, list), query: { limit: 100 } };
    const { data } = JSON.parse((await checker.ask(list, request)).text) as {
      readonly data: readonly Json[];
    };
    return JSON.stringify(data.map((row) => row['id']));
  };
  const before = await count();
  const example = exampleRequest(checker, create);
  const refused = await checker.ask(create, { ...example, body: { ...(example.body as Json), surplus: 1 } });
  const after = await count();
  const isClean = refused.status >= 400 && before === after;
  checker.hold(
    'resource_leakage',
    create,
    isClean,
    `was refused with ${refused.status}, and something is there`,
  );
}

/** use_after_free */
async function checkAfterDeletion(checker: Checker, collection: Collection): Promise<void> {
  const { parameter, below, create } = collection;
  const deletion = below.find(
    ({ method, path }) => method === 'DELETE' && path === `${create.path}/{${parameter}}`,
  );
  if (deletion === undefined) return;
  const id = await make(checker, collection);
  const deleted = await checker.ask(deletion, requestOf(checker, deletion, parameter, id));
  checker.hold('use_after_free', deletion, deleted.status < 300, `could not be deleted: ${deleted.status}`);
  for (const operation of below.filter((each) => !isSigned(each))) {
    const { status } = await checker.ask(operation, requestOf(checker, operation, parameter, id));
    checker.hold('use_after_free', operation, [404, 410].includes(status), `was deleted, yet ${status}`);
  }
}

/** missing_required_header: the type of a body, and credentials. */
async function checkMissingHeaders(checker: Checker, operation: Operation): Promise<void> {
  const example = exampleRequest(checker, operation);
  if (example.body !== undefined) {
    const { status } = await checker.ask(operation, { ...example, headers: { 'content-type': '' } });
    checker.hold('missing_required_header', operation, status === 415, `without Content-Type: ${status}`);
  }
  if (isSigned(operation)) return;
  const { status } = await checker.ask(operation, { ...example, headers: { authorization: '' } });
  checker.hold('missing_required_header', operation, status === 401, `without Authorization: ${status}`);
}

/** information_leakage: sends failure-provoking text in every string member. */
async function checkLeaks(checker: Checker, operation: Operation): Promise<void> {
  const example = exampleRequest(checker, operation);
  const hostile = [
    "'",
    '../../etc/passwd',
    '\u0000',
    '${7*7}',
    '%s%n',
    '\u{1f980}'.repeat(200),
    'x'.repeat(4_000),
  ];
  for (const { name, in: place } of operation.parameters.filter((each) => each.in !== 'header')) {
    for (const value of hostile) {
      const part = place === 'path' ? 'path' : 'query';
      const { status } = await checker.ask(operation, {
        ...example,
        [part]: { ...example[part], [name]: value },
      });
      checker.hold(
        'information_leakage',
        operation,
        status < 500,
        `${name} = ${JSON.stringify(value).slice(0, 40)}`,
      );
    }
  }
  for (const [name, value] of Object.entries((example.body ?? {}) as Json)) {
    if (typeof value !== 'string') continue;
    for (const text of hostile) {
      const body = { ...(example.body as Json), [name]: text };
      const { status } = await checker.ask(operation, { ...example, body });
      checker.hold(
        'information_leakage',
        operation,
        status < 500,
        `${name} = ${JSON.stringify(text).slice(0, 40)}`,
      );
    }
  }
}

function readings({ create, parameter, below }: Collection): readonly Operation[] {
  return below.filter(({ method, path }) => method === 'GET' && path === `${create.path}/{${parameter}}`);
}

function isSigned({ security = [] }: Operation): boolean {
  return security.some((scheme) => scheme['signedUrl'] !== undefined);
}

function requestOf(checker: Checker, operation: Operation, parameter: string, id: string): SentRequest {
  const example = exampleRequest(checker, operation);
  return { ...example, path: { ...example.path, [parameter]: id } };
}

async function send(options: UsesOptions, operation: Operation, request: SentRequest): Promise<Answer> {
  const path = operation.path.replace(/\{(\w+)\}/g, (_all, name: string) =>
    encodeURIComponent(String(request.path?.[name] ?? '')),
  );
  const pairs = Object.entries(request.query ?? {}).map(([name, value]): [string, string] => [
    name,
    String(value),
  ]);
  const search = new URLSearchParams(pairs).toString();
  const authorization = authorizationOf(operation, { ...options, key: request.key ?? options.key });
  const headers = Object.entries({ authorization, 'content-type': 'application/json', ...request.headers });
  const response = await fetch(`${options.origin}${path}${search === '' ? '' : `?${search}`}`, {
    method: operation.method,
    headers: Object.fromEntries(headers.filter(([, value]) => value !== '')),
    // A body of bytes has no default type, so the request has no Content-Type.
    ...(request.body === undefined ? {} : { body: Buffer.from(JSON.stringify(request.body)) }),
    signal: AbortSignal.timeout(20_000),
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}
