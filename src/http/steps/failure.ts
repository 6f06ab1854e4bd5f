import { STATUS_CODES } from 'node:http';
import { canonicalSha256 } from '../../canonical.js';
import { FailureEnvelope } from '../../contract/grammar/envelope.js';
import { HomologyFailure, presentFacts, Problem } from '../../contract/grammar/failures.js';
import { failureShape } from '../../contract/document/openapi.js';
import { isRefusalCode, REFUSALS } from '../../contract/grammar/refusals.js';
import type { ContractRefusalCode } from '../../refusal-codes.js';
import { Refusal, type RefusalDetails } from '../../errors.js';
import { REFUSAL_MAX_LOCATIONS } from '../../limits.js';
import { placeText, type RefusalLocation } from '../../places.js';
import { discardBody } from '../body/body.js';
import { parseStrictJson } from '../../json/strict.js';
import { ClientClosed } from './deadline.js';
import { evidence, provenance, schemaUrl } from '../body/respond.js';
import type { Middleware, Shell, ShellContext, ShellState } from '../shell.js';

/** A failure in the words of the contract, before it takes the shape of its route. */
export interface Failure {
  readonly code: ContractRefusalCode;
  readonly message: string;
  readonly details: RefusalDetails;
}

/** The one place where an error becomes a response. */
export function catchFailures(shell: Shell): Middleware {
  return async (context, next) => {
    try {
      await next();
    } catch (error) {
      const failure = failureOf(error);
      context.state.errorCode = failure.code;
      if (failure.code === 'internal_error' || failure.code === 'storage_unavailable') {
        shell.log.error(
          { err: error, request_id: context.state.requestId },
          'A request failed by our fault.',
        );
      }
      const unread = await discardBody(context.req, context.res).catch(() => undefined);
      if (unread !== undefined) noteInput(context.state, unread);
      const { status, headers, body } = renderFailure(shell, context.state, failure);
      removeAnswer(context);
      context.status = status;
      context.set(headers);
      context.body = body;
    }
  };
}

/** Records the hash of the bytes for the provenance of a refusal that precedes parsing. */
function noteInput(state: ShellState, bytes: Buffer): void {
  try {
    const body = bytes.length === 0 ? null : parseStrictJson(bytes);
    state.inputHash ??= canonicalSha256(body);
    state.input ??= { params: state.params, query: state.query, body };
  } catch {
    // The bytes are no JSON, so that they have no canonical form and no hash.
  }
}

const BASIC_CHALLENGE = 'Basic realm="gloaming", charset="UTF-8"';
const FULL_DISK = new Set(['ENOSPC', 'EDQUOT', 'EROFS', 'MDB_MAP_FULL']);

/** Maps an error to what the client sees. Details of internal faults stay in the log. */
export function failureOf(error: unknown): Failure {
  if (error instanceof Refusal && isRefusalCode(error.code)) {
    return { code: error.code, message: error.message, details: error.details };
  }
  if (error instanceof ClientClosed || (error as NodeJS.ErrnoException | undefined)?.code === 'ECONNRESET') {
    return { code: 'client_closed_request', message: 'The client closed the connection.', details: {} };
  }
  for (let link = error, depth = 0; link instanceof Error && depth < 8; link = link.cause, depth += 1) {
    if (
      FULL_DISK.has(String((link as NodeJS.ErrnoException).code)) ||
      link.message.includes('MDB_MAP_FULL')
    ) {
      return {
        code: 'storage_unavailable',
        message: 'The disk refuses writes; nothing was written.',
        details: {},
      };
    }
  }
  return {
    code: 'internal_error',
    message: 'The server failed. Its log has the cause under this request id.',
    details: {},
  };
}

export interface RenderedFailure {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Status, headers and body of a failure, in the shape that its route promises. */
export function renderFailure(shell: Shell, state: ShellState, failure: Failure): RenderedFailure {
  const rule = REFUSALS[failure.code];
  const { mediaType, schema } = failureShape(state.route ?? state.pathRoute, failure.code);
  const shapes = new Map<unknown, () => unknown>([
    [Problem, () => problem(shell, state, failure)],
    [HomologyFailure, () => homologyFailure(shell, state, failure)],
    [FailureEnvelope, () => failureEnvelope(shell, state, failure)],
  ]);
  return {
    status: rule.status,
    headers: {
      'Content-Type': mediaType,
      'Service-Error-Type': failure.code,
      'Service-Retryable': String(rule.isRetryable),
      Link: `<${schemaUrl(shell, schema.$id as string)}>; rel="describedBy"`,
      ...headersOf(failure),
    },
    body: JSON.stringify(shapes.get(schema)?.()),
  };
}

function headersOf({ code, details }: Failure): Record<string, string> {
  const { status, isRetryable } = REFUSALS[code];
  const headers: Record<string, string> = {};
  // The end of a malformed request is uncertain, so that the rest of the connection is not read.
  if (code === 'malformed_request') headers.Connection = 'close';
  if (status === 401)
    headers['WWW-Authenticate'] = code.endsWith('sql_credential') ? BASIC_CHALLENGE : 'Bearer';
  if (Array.isArray(details.allowed_methods)) headers.Allow = details.allowed_methods.join(', ');
  if (status === 416) headers['Content-Range'] = `bytes */${String(details.size_bytes)}`;
  if (code === 'start_deadline_exceeded') headers['Service-Request-Timeout-Type'] = 'user';
  if (isRetryable) headers['Retry-After'] = String(details.retryAfterSeconds ?? 1);
  if (status === 429) Object.assign(headers, rateLimitHeaders(details));
  return headers;
}

/** Source  draft-ietf-httpapi-ratelimit-headers-11 */
function rateLimitHeaders(details: RefusalDetails): Record<string, string> {
  const policy = details.policy as {
    name: string;
    quota: number;
    quota_unit?: string;
    window_seconds?: number;
  };
  const unit = policy.quota_unit === undefined ? '' : `;qu="${policy.quota_unit}"`;
  const window = policy.window_seconds === undefined ? '' : `;w=${policy.window_seconds}`;
  return {
    RateLimit: `"${policy.name}";r=0;t=${String(details.retryAfterSeconds ?? 1)}`,
    'RateLimit-Policy': `"${policy.name}";q=${policy.quota}${unit}${window}`,
  };
}

/** Facts for machines, without the members that have a field of their own. */
function factsOf({ details }: Failure): Record<string, unknown> {
  const { param, errors, ...facts } = details;
  return presentFacts(facts);
}

function locationsOf({ details }: Failure): readonly RefusalLocation[] {
  return (details.errors ?? []).slice(0, REFUSAL_MAX_LOCATIONS);
}

/** The location in the form of problem bodies and of the homology route. */
function presentLocation({ location, message, value = null }: RefusalLocation) {
  return { location, message, value };
}

/** The location in the form of the envelope. */
function presentPlace({ place, location, message, value = null, bounds = {} }: RefusalLocation) {
  return { loc: place?.map(String) ?? [location], msg: message, ctx: bounds, input: value };
}

/** The parameter at fault: named by the refusal, or the first invalid place of the body or the parameters. */
function paramOf({ details }: Failure): string | undefined {
  const first = details.errors?.[0];
  return details.param ?? (first?.place && placeText(first.place.slice(1)));
}

function docUrl(shell: Shell, code: ContractRefusalCode): string {
  return `${shell.baseUrl()}/docs/errors#${code}`;
}

function problem(shell: Shell, state: ShellState, failure: Failure): Problem {
  const { status } = REFUSALS[failure.code];
  return {
    $schema: schemaUrl(shell, 'Problem'),
    type: 'about:blank',
    title: STATUS_CODES[status] ?? 'Client Closed Request',
    status,
    detail: failure.message,
    code: failure.code,
    instance: `urn:gloaming:request:${state.requestId}`,
    errors: locationsOf(failure).map(presentLocation),
  };
}

function homologyFailure(shell: Shell, state: ShellState, failure: Failure): HomologyFailure {
  const errors = locationsOf(failure).map((each) => ({
    ...presentLocation(each),
    ctx: each.bounds ?? {},
  }));
  return {
    error: {
      code: failure.code,
      doc_url: docUrl(shell, failure.code),
      message: failure.message,
      request_id: state.requestId,
      type: REFUSALS[failure.code].type,
      details: { ...factsOf(failure), ...(errors.length > 0 ? { errors } : {}) },
      param: paramOf(failure) ?? '',
    },
  };
}

function failureEnvelope(shell: Shell, state: ShellState, failure: Failure): FailureEnvelope {
  const { type, isRetryable } = REFUSALS[failure.code];
  const url = docUrl(shell, failure.code);
  const param = paramOf(failure);
  const locations = locationsOf(failure);
  return {
    ok: false,
    provenance: provenance(shell, state),
    warnings: [],
    $schema: schemaUrl(shell, 'FailureEnvelope'),
    error: {
      code: failure.code,
      message: failure.message,
      doc_url: url,
      type,
      is_retryable: isRetryable,
      details: factsOf(failure),
      ...(param === undefined ? {} : { param }),
      request_id: state.requestId,
      ...(locations.length === 0
        ? {}
        : {
            errors: locations.map((each) => ({ ...presentPlace(each), type: failure.code, url })),
          }),
    },
    evidence: evidence(shell, state, undefined, 0),
  };
}

const ANSWER_HEADERS = [
  'Content-Type',
  'Content-Length',
  'Location',
  'Preference-Applied',
  'Retry-After',
  'X-Service-Billable-Units',
];

/** Removes the headers of a response that was begun before the failure. */
function removeAnswer(context: ShellContext): void {
  for (const name of ANSWER_HEADERS) context.remove(name);
}
