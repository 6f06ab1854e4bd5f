import { Type, type Static } from '@sinclair/typebox';
import type { RefusalDetails } from '../../errors.js';
import { closed, constant, count, enumeration, flag, named, openObject, text } from './schema.js';

const ErrorTypeSchema = enumeration(
  {
    invalid_request_error: 'the request is invalid',
    authentication_error: 'the credential is missing or invalid',
    permission_error: 'the operation is not permitted',
    not_found_error: 'the requested resource does not exist, or no longer exists',
    conflict_error: 'the state of a resource does not allow the operation',
    idempotency_error: 'the `Idempotency-Key` was used for another request, or its first request still runs',
    rate_limit_error: 'too many requests, or too much work at once; the same request succeeds later',
    capacity_error: 'the server or the organization has no capacity for the request',
    api_error: 'an error of the server',
  },
  { chosen: true },
);

const CODE = text('Stable machine-readable code; identical to the header `Service-Error-Type`.');
const MESSAGE = text('Text for people: what was expected, what the request contained, and what to do.');
const DOC_URL = text('URL of the page of this server that explains the code.', { format: 'uri' });
const REQUEST_ID = text('Equals the header `X-Request-ID`.');
const PARAM = text('Invalid member of the request, as a dotted path.');
const PLACE_MESSAGE = text('Description of the error at this place.');
const PLACE_VALUE = Type.Unknown({
  description: 'Value at the place, shortened if it is long; null if the place has no value.',
});

/** One invalid place of the request, in the error of an envelope. */
const ErrorLocation = named(
  'ErrorLocation',
  closed({
    loc: Type.Array(Type.String(), {
      description:
        'Path to the place, one element a step: `["body", "filter", "filters", "2", "op"]`. A name with dots is one ' +
        'step.',
    }),
    msg: PLACE_MESSAGE,
    type: text('Code of the error, the same at every place.'),
    url: DOC_URL,
    ctx: openObject(
      'Violated bounds, by keyword of JSON Schema or by name of the limit: `{"minimum": 1}`. Empty if the message ' +
        'states the whole error.',
    ),
    input: PLACE_VALUE,
  }),
);

/** Error of the operations that use the envelope. */
export const ErrorDetail = named(
  'ErrorDetail',
  closed({
    code: CODE,
    message: MESSAGE,
    doc_url: DOC_URL,
    type: ErrorTypeSchema,
    is_retryable: flag('Equals the header `Service-Retryable`.'),
    details: openObject('Machine-readable facts about this refusal.'),
    param: Type.Optional(PARAM),
    request_id: REQUEST_ID,
    errors: Type.Optional(
      Type.Array(ErrorLocation, { description: 'Invalid places of the request; at most the first 100.' }),
    ),
  }),
);

/** Error body of `POST /v1/homology`, which does not use the envelope. */
export const HomologyFailure = named(
  'HomologyFailure',
  closed(
    {
      error: closed({
        code: CODE,
        doc_url: DOC_URL,
        message: MESSAGE,
        request_id: REQUEST_ID,
        type: ErrorTypeSchema,
        details: openObject(
          'Facts about this refusal; `errors` lists the invalid places of the request, at most the first 100.',
        ),
        param: text(`${PARAM.description} Empty if no single member is invalid.`),
      }),
    },
    { description: 'Failure of the direct homology route.' },
  ),
);

/** Body of transport failures. Source  RFC 9457 */
export const Problem = named(
  'Problem',
  closed(
    {
      $schema: text('URL of the JSON Schema of this object.', { format: 'uri' }),
      type: constant('about:blank', 'The HTTP status is the type of the problem.'),
      title: text('Phrase of the HTTP status.'),
      status: count('HTTP status.', { minimum: 400, maximum: 599 }),
      detail: MESSAGE,
      code: text('Stable machine-readable code; identical to the header `Service-Error-Type`.', {
        chosen: true,
      }),
      instance: text('URN of this failed request: `urn:gloaming:request:<X-Request-ID>`.'),
      errors: Type.Array(
        closed({
          location: text('Place in the request: `body.filter.filters[2].op`.'),
          message: PLACE_MESSAGE,
          value: PLACE_VALUE,
        }),
        { description: 'Invalid places of the request, at most the first 100; may be empty.' },
      ),
    },
    { description: 'A transport failure (RFC 9457).' },
  ),
);

export type ErrorDetail = Static<typeof ErrorDetail>;
export type ErrorLocation = Static<typeof ErrorLocation>;
export type HomologyFailure = Static<typeof HomologyFailure>;
export type Problem = Static<typeof Problem>;

/** Facts of a refusal by the names of the contract. */
export function presentFacts({ retryAfterSeconds, ...facts }: RefusalDetails): Record<string, unknown> {
  return retryAfterSeconds === undefined ? facts : { ...facts, retry_after_seconds: retryAfterSeconds };
}
