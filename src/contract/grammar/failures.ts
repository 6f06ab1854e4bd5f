import { Type, type Static } from '@sinclair/typebox';
import { closed, constant, count, enumeration, flag, named, openObject, text } from './schema.js';

const ErrorTypeSchema = enumeration(
  {
    invalid_request_error: 'the request cannot be carried out as it stands',
    authentication_error: 'the API key is missing or not good',
    permission_error: 'the key may not do this',
    not_found_error: 'what is asked for does not exist, or no longer',
    conflict_error: 'the state of the resource forbids it',
    idempotency_error: 'the Idempotency-Key stands in the way',
    rate_limit_error: 'too many requests; the same request succeeds later',
    capacity_error: 'the server has no room for it now',
    api_error: 'a fault of the server',
  },
  { chosen: true },
);

const CODE = text('Stable machine-readable code; identical to the header `Service-Error-Type`.');
const MESSAGE = text('What was expected, what came and what to do, for a person.');
const DOC_URL = text('Page of this server that explains the code.', { format: 'uri' });
const REQUEST_ID = text('Equals the header `X-Request-ID`.');
const PARAM = text('The member of the request that is at fault, as a dotted path.');

/** One faulty place of the request in the error of an envelope. */
const ErrorLocation = named(
  'ErrorLocation',
  closed({
    loc: Type.Array(Type.String(), {
      description:
        'Path to the place, step by step: `["body", "filter", "filters", "2", "op"]`; a name with dots is one step.',
    }),
    msg: text('What is wrong there.'),
    type: text('Code of the error that this place belongs to.'),
    url: text('Page of this server that explains the code.', { format: 'uri' }),
    ctx: openObject(
      'What it breaks, by keyword of JSON Schema or by the name of the limit: `{"minimum": 1}`. Empty where the ' +
        'message says all.',
    ),
    input: Type.Unknown({
      description: 'What stood there, shortened where it is long; null where nothing did.',
    }),
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
      Type.Array(ErrorLocation, { description: 'Every place of the request that is wrong.' }),
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
          'Facts about this refusal; `errors` lists every place of the request that is wrong.',
        ),
        param: text(`${PARAM.description} Empty where no single member is at fault.`),
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
      type: constant('about:blank', 'The status says what kind of problem this is.'),
      title: text('Phrase of the HTTP status.'),
      status: count('HTTP status.', { minimum: 400, maximum: 599 }),
      detail: text('What was expected, what came and what to do, for a person.'),
      code: text('Stable machine-readable code; identical to the header `Service-Error-Type`.', {
        chosen: true,
      }),
      instance: text('Names this occurrence: `urn:gloaming:request:<X-Request-ID>`.'),
      errors: Type.Array(
        closed({
          location: text('Where in the request: `body.filter.filters[2].op`.'),
          message: text('What is wrong there.'),
          value: Type.Unknown({
            description: 'What stood there, shortened where it is long; null for nothing.',
          }),
        }),
        { description: 'Every place of the request that is wrong; may be empty.' },
      ),
    },
    { description: 'A transport failure (RFC 9457).' },
  ),
);

export type ErrorDetail = Static<typeof ErrorDetail>;
export type ErrorLocation = Static<typeof ErrorLocation>;
export type HomologyFailure = Static<typeof HomologyFailure>;
export type Problem = Static<typeof Problem>;
