import { canonicalSha256, canonicalSha256InTurns } from '../../canonical.js';
import { CONTRACT_PIN } from '../../contract/grammar/headers.js';
import { ANY_TYPE, type Route } from '../../contract/grammar/route.js';
import { headerSchemas } from '../../contract/document/routes.js';
import type { RouteValidator } from '../../contract/document/validation.js';
import { Refusal } from '../../errors.js';
import { faultAt, type RefusalLocation } from '../../places.js';
import { BODY_IN_TURNS_BYTES, BODY_MAX_BYTES, REFUSAL_MAX_LOCATIONS } from '../../limits.js';
import { readAccept } from '../accept.js';
import { hasBody, readBody, requireJson } from '../body/body.js';
import { parseStrictJson, parseStrictJsonInTurns } from '../../json/strict.js';
import { TIMEOUTS } from '../listener.js';
import type { Middleware, Shell, ShellContext } from '../shell.js';

/** Validates the request against its schemas. A refusal lists the first invalid places. */
export function validate(shell: Shell): Middleware {
  return async (context, next) => {
    const { state } = context;
    const route = state.route as Route;
    state.mediaType = acceptedType(context, route);
    state.headers = declaredHeaders(context, route);
    requirePin(state.headers['Service-Contract-Pin']);
    const { body, sent, isLarge } = await readJson(shell, context, route);
    const hash = isLarge ? canonicalSha256InTurns : canonicalSha256;
    state.inputHash = await hash(sent);
    const input = { params: { ...state.params }, query: { ...state.query }, body };
    const validator = shell.validators.get(route) as RouteValidator;
    const faults = [
      ...state.repeated.map(repeatedFault),
      ...validator.check('path', input.params),
      ...validator.check('query', input.query),
      ...validator.check('header', state.headers),
      ...(isLarge ? await validator.checkBodyInTurns(body) : validator.check('body', body)),
    ];
    // The input is recorded first, so that a refusal carries its hash.
    state.input = input;
    if (isLarge) {
      const { params: path, query } = input;
      state.parametersHash = await hash({ path, query, body });
    }
    refuseFaults(faults);
    await next();
  };
}

/** Errors  Refusal `not_acceptable` */
function acceptedType(context: ShellContext, { success }: Route): string {
  const { mediaType = 'application/json', otherMediaType } = success;
  if (mediaType === ANY_TYPE) return mediaType;
  const types = otherMediaType === undefined ? [mediaType] : [mediaType, otherMediaType];
  const { headers } = context.req;
  headers.accept &&= readAccept(headers.accept);
  const accepted = context.accepts(types);
  if (typeof accepted === 'string') return accepted;
  throw new Refusal(
    'not_acceptable',
    `This route answers with ${types.join(' or ')}, which Accept excludes.`,
  );
}

function repeatedFault(name: string): RefusalLocation {
  return faultAt(['query', name], 'must not stand more than once');
}

interface ReadBody {
  /** The body with defaults, as the operation takes it. */
  readonly body: unknown;
  /** The body as sent; null for none. */
  readonly sent: unknown;
  /** True when the body is so large that work on it must yield to other requests. */
  readonly isLarge: boolean;
}

async function readJson(shell: Shell, context: ShellContext, route: Route): Promise<ReadBody> {
  if (route.rawBody !== undefined) return { body: undefined, sent: null, isLarge: false };
  if (!hasBody(context.req)) {
    if (route.body === undefined) return { body: undefined, sent: null, isLarge: false };
    if (route.isBodyOptional) return { body: {}, sent: null, isLarge: false };
    throw new Refusal('validation_failed', 'The request has no body; this route needs a JSON object.', {
      errors: [faultAt(['body'], 'is required')],
    });
  }
  requireJson(context.req);
  const { requestMs } = shell.timeouts ?? TIMEOUTS;
  const maxBytes = route.bodyMaxBytes ?? BODY_MAX_BYTES;
  const bytes = await readBody(context.req, context.res, maxBytes, requestMs);
  const isLarge = bytes.length > BODY_IN_TURNS_BYTES;
  const parse = isLarge ? parseStrictJsonInTurns : parseStrictJson;
  const sent = await parse(bytes, route.bodyMaxValues);
  // An operation without a body ignores it. Its hash is still reported to the client.
  return { body: route.body === undefined ? undefined : sent, sent, isLarge };
}

function declaredHeaders(context: ShellContext, route: Route): Record<string, string | undefined> {
  const headers: Record<string, string | undefined> = {};
  for (const name of Object.keys(headerSchemas(route))) {
    const value = context.req.headers[name.toLowerCase()];
    if (typeof value === 'string') headers[name] = name === 'Idempotency-Key' ? readKey(value) : value;
  }
  return headers;
}

/** An idempotency key may be written raw or as a structured-field string. Source  RFC 9651, section 3.3.3 */
function readKey(value: string): string {
  const quoted = /^"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/.exec(value)?.[1];
  return quoted === undefined ? value : quoted.replace(/\\(["\\])/g, '$1');
}

function requirePin(pin: string | undefined): void {
  if (pin === undefined || pin === CONTRACT_PIN) return;
  const came = JSON.stringify(pin.slice(0, 64));
  throw new Refusal(
    'api_version_unsupported',
    `This server speaks the contract of ${CONTRACT_PIN}, not ${came}.`,
    {
      param: 'Service-Contract-Pin',
      supported: [CONTRACT_PIN],
    },
  );
}

const NAMED_IN_MESSAGE_MAX_COUNT = 5;

function refuseFaults(faults: readonly RefusalLocation[]): void {
  if (faults.length === 0) return;
  const named = faults
    .slice(0, NAMED_IN_MESSAGE_MAX_COUNT)
    .map(({ location, message }) => `${location} ${message}`);
  const moreCount = faults.length - named.length;
  // The check stops at the first fault that is not listed.
  const counted = faults.length > REFUSAL_MAX_LOCATIONS ? 'more' : `${moreCount} more`;
  const more = moreCount > 0 ? `; and ${counted}` : '';
  throw new Refusal('validation_failed', `The request is not valid: ${named.join('; ')}${more}.`, {
    errors: faults,
  });
}
