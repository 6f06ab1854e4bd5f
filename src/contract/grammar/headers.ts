import { Type, type TSchema } from '@sinclair/typebox';
import { IDEMPOTENCY_KEY_MAX_CHARACTERS } from '../../limits.js';

/** Version of the contract, the `Service-Version` of every response. */
export const CONTRACT_VERSION = '0.1.0';
/** The only value of `Service-Contract-Pin` that the server accepts. */
export const CONTRACT_PIN = '2026-08-08';

export const IDEMPOTENCY_HEADER = {
  'Idempotency-Key': Type.String({
    minLength: 1,
    maxLength: IDEMPOTENCY_KEY_MAX_CHARACTERS,
    description:
      'Identifies the retries of one request. Its scope is one organization and one route; it is kept for 24 hours. ' +
      'The same key with the same request returns the first response again, byte for byte, with ' +
      '`Idempotent-Replayed: true`. The same key with another request on the same route is refused. On another ' +
      'route it is another key.',
  }),
};

export const CONTRACT_PIN_HEADER = {
  'Service-Contract-Pin': Type.String({
    enum: [CONTRACT_PIN],
    description:
      `Contract that the client was written for: ${CONTRACT_PIN}. The server refuses any other value with 400 ` +
      '`api_version_unsupported`.',
    chosen: true,
  }),
};

export const START_DEADLINE_HEADER = {
  'Service-Request-Timeout': Type.String({
    pattern: '^([1-9][0-9]{0,8}(\\.[0-9]{1,9})?|0\\.([2-9][0-9]{0,8}|1[0-9]{0,7}[1-9][0-9]{0,7}))$',
    examples: ['2.5'],
    description:
      'Maximum wait until work on the request starts, in seconds, more than 0.1. After it, the server responds with ' +
      '504 `start_deadline_exceeded`.',
    chosen: true,
  }),
};

export const RUNNER_HINT_HEADER = {
  'X-Service-Runner-Hint': Type.String({
    maxLength: 256,
    description:
      'Value of an earlier `X-Service-Runner-Hints`. This server has one worker, which serves every request, so ' +
      'that the hint has no effect here. A load balancer in front of several servers can use it.',
    chosen: true,
  }),
};

const BOOLEAN_TEXT = { type: 'string', enum: ['true', 'false'] };

/** Headers of every response. */
export const COMMON_RESPONSE_HEADERS: Readonly<Record<string, TSchema>> = {
  'X-Request-ID': Type.String({
    pattern: '^req_[0-9a-f]{24}$',
    description: 'Request identifier for support and log correlation.',
  }),
  'Service-Version': Type.String({ description: 'API contract version used for the response.' }),
  'Service-Contract-Digest': Type.String({
    pattern: '^sha256:[0-9a-f]{64}$',
    description: 'Digest of the full API contract; a change of the digest means that the contract changed.',
  }),
  'X-Service-Served-From': Type.String({ description: 'Execution worker that handled the latest attempt.' }),
  'X-Service-Runner-Hints': Type.String({
    description:
      'Affinity hint for a later related request: the worker that has the data of this request in memory.',
  }),
};

/** Additional headers of successes. */
export const SUCCESS_RESPONSE_HEADERS: Readonly<Record<string, TSchema>> = {
  'X-Service-Billable-Units': Type.String({
    pattern: '^[0-9]+$',
    description: 'Units billed when execution produced a chargeable terminal result.',
  }),
  'Idempotent-Replayed': Type.String({
    enum: ['true'],
    description: 'Present if the response is the stored response of an earlier request.',
  }),
};

/** Additional headers of failures. */
export const FAILURE_RESPONSE_HEADERS: Readonly<Record<string, TSchema>> = {
  'Service-Error-Type': Type.String({
    description: 'Stable machine-readable code; identical to error.code, or to code of a problem body.',
  }),
  'Service-Retryable': Type.Unsafe<'true' | 'false'>({
    ...BOOLEAN_TEXT,
    description: 'Whether retrying the identical pinned request may succeed.',
  }),
};

const RETRY_AFTER = {
  'Retry-After': Type.String({
    pattern: '^[0-9]+$',
    description: 'Whole seconds to wait before a retry; present if `Service-Retryable` is true.',
  }),
};

/** Additional headers of some statuses. */
export const STATUS_RESPONSE_HEADERS: Readonly<Record<number, Readonly<Record<string, TSchema>>>> = {
  401: {
    'WWW-Authenticate': Type.String({
      description: 'Challenge: `Bearer`, or `Basic` on routes that need a SQL credential.',
    }),
  },
  405: { Allow: Type.String({ description: 'Methods of the path.' }) },
  408: RETRY_AFTER,
  409: RETRY_AFTER,
  416: { 'Content-Range': Type.String({ description: 'Size of the file: `bytes */<size>`.' }) },
  429: {
    ...RETRY_AFTER,
    RateLimit: Type.String({ description: 'Structured remaining capacity and reset time.' }),
    'RateLimit-Policy': Type.String({
      description: 'Structured effective policy: request, queue or execution.',
    }),
  },
  499: RETRY_AFTER,
  500: RETRY_AFTER,
  503: RETRY_AFTER,
  504: {
    ...RETRY_AFTER,
    'Service-Request-Timeout-Type': Type.String({
      enum: ['user'],
      description: 'Present if the deadline of `Service-Request-Timeout` caused the 504.',
    }),
  },
};
