import { Type, type Static, type TSchema } from '@sinclair/typebox';
import { RUN_BODY_MAX_BYTES, RUN_BODY_MAX_VALUES } from '../../limits.js';
import { envelopeOf, listOf } from '../grammar/envelope.js';
import type { ContractRefusalCode } from '../../refusal-codes.js';
import { defineRoute } from '../grammar/route.js';
import {
  RUN_ENDPOINTS,
  type EndpointContract,
  type RunEndpointKey,
  type RunInput,
  type RunPriority,
} from './run-kinds.js';
import { RunId } from './run-files.js';
import {
  closed,
  constant,
  count,
  defaulted,
  enumeration,
  flag,
  moment,
  named,
  openObject,
  quantity,
  ratio,
  sha256,
  text,
} from '../grammar/schema.js';
import { WebhookEndpointId } from '../webhooks.js';

const RunStatusSchema = enumeration(
  {
    queued: 'accepted; work has not started',
    running: 'at work; a restarted server goes on with it',
    completed: 'finished, with its result',
    failed: 'ended without a result; `error` says why',
    cancelled: 'ended by its owner',
  },
  { chosen: true },
);

const endpoints: readonly (readonly [string, EndpointContract])[] = Object.entries(RUN_ENDPOINTS);
const RunEndpointSchema = enumeration(
  Object.fromEntries(endpoints.map(([key, { meaning }]) => [key, meaning])) as Record<RunEndpointKey, string>,
  { chosen: true },
);

export const RunProgress = closed({
  stage: text('What is being done.'),
  fraction: ratio('Share of the work that is done.'),
  done_count: count('Units of work (queries, or rows of an export) that are done.'),
  total_count: count('Units of work in all.'),
  rate_per_second: Type.Optional(quantity('Units per second while it ran.', { minimum: 0 })),
  seconds_left: Type.Optional(quantity('Estimate of the time left, without waiting.', { minimum: 0 })),
});

const RunResult = closed({
  row_count: count('Rows of `GET /v1/runs/{run_id}/results`.'),
  summary: Type.Union(endpoints.map(([, { summary }]) => summary) as TSchema[], {
    description: 'What was found besides the rows.',
  }) as TSchema,
});

const RunError = closed({
  code: text('Stable machine-readable code.'),
  message: text('What was expected, what came and what to do.'),
  details: openObject('Machine-readable facts.'),
});

const TOLD_ENDPOINT = Type.Unsafe<string>({
  ...WebhookEndpointId,
  description: 'Webhook endpoint that is told of the end, whatever events it takes otherwise.',
});

export const Run = named(
  'Run',
  closed(
    {
      object: constant('run'),
      id: RunId,
      endpoint: RunEndpointSchema,
      status: RunStatusSchema,
      label: Type.Optional(text('Your name of the run.')),
      priority: enumeration({ high: 'first', normal: 'in between', low: 'last' }),
      is_background: flag(
        'What the creating request asked for: false where it wanted to wait for the end, by `background: false` ' +
          'or by `Prefer: wait`, however long it then waited.',
      ),
      webhook_endpoint_id: Type.Optional(TOLD_ENDPOINT),
      input_sha256: sha256('SHA-256 of the canonical JSON of `input` with defaults filled in.'),
      created_at: moment('When it was accepted.'),
      started_at: Type.Optional(moment('When work started.')),
      finished_at: Type.Optional(moment('When it completed, failed or was cancelled.')),
      expires_at: Type.Optional(moment('When its results go; 30 days after its end.')),
      attempt_count: count('Times that work was started or resumed.'),
      progress: RunProgress,
      result: Type.Optional(RunResult),
      error: Type.Optional(RunError),
      usage: closed({ billable_units: count('Units billed; 0 unless the run completed.') }),
    },
    { description: 'Retained work.', chosen: true },
  ),
);

/** One variant of the request that creates a run, discriminated by `endpoint`. */
function creation(key: string, input: TSchema, defaultPriority: RunPriority): TSchema {
  return named(
    `RunRequest.${key}`,
    closed({
      endpoint: constant(key),
      input,
      label: Type.Optional(text('Your name of the run.', { minLength: 1, maxLength: 256 })),
      priority: defaulted(
        defaultPriority,
        enumeration({ high: 'before your others', normal: 'in between', low: 'after your others' }),
      ),
      background: defaulted(true, flag('False waits for the end as `Prefer: wait=60` does.')),
      webhook_endpoint_id: Type.Optional(TOLD_ENDPOINT),
    }),
  );
}

/** The validated request, with defaults filled in. */
export type RunRequest = {
  [Key in RunEndpointKey]: {
    readonly endpoint: Key;
    readonly input: RunInput<Key>;
    readonly label?: string;
    readonly priority: RunPriority;
    readonly background: boolean;
    readonly webhook_endpoint_id?: string;
  };
}[RunEndpointKey];

export const RunRequest = Type.Unsafe<RunRequest>({
  $id: 'RunRequest',
  type: 'object',
  description: 'What to execute, told apart by `endpoint`.',
  discriminator: { propertyName: 'endpoint' },
  required: ['endpoint'],
  oneOf: endpoints.map(([key, { input, defaultPriority }]) => creation(key, input, defaultPriority)),
  chosen: true,
});

const PREFER_HEADER = {
  Prefer: Type.String({
    maxLength: 256,
    examples: ['respond-async', 'wait=10'],
    description:
      '`respond-async` answers at once; `wait=N` waits up to N seconds (60 at most) for the end. RFC 7240.',
    chosen: true,
  }),
};

const params = Type.Object({ run_id: RunId }, { additionalProperties: false });
export const CURSOR = Type.Optional(
  Type.String({ minLength: 1, maxLength: 1024, description: '`next_cursor` of the page before.' }),
);

export const createRun = defineRoute({
  operationId: 'runs.create',
  method: 'POST',
  retry: 'stored',
  path: '/v1/runs',
  tag: 'runs',
  summary: 'Create a run',
  description:
    'Retained work on one of the run endpoints. Everything that can be refused is refused here; a run that was ' +
    'acknowledged is on disk and survives a restart. 202 with `Location` and `Retry-After`, or 200 where the request ' +
    'waited for the end.',
  headers: PREFER_HEADER,
  body: RunRequest,
  bodyMaxBytes: RUN_BODY_MAX_BYTES,
  bodyMaxValues: RUN_BODY_MAX_VALUES,
  success: { status: 202, schema: envelopeOf('ExecutionEnvelopeRun', Run), description: 'The run.' },
  otherSuccesses: { 200: 'The run has ended while the request waited.' },
  successStyle: 'envelope',
  errorStyle: 'envelope',
  work: 'light',
  refusals: [
    'budget_exhausted',
    'permission_denied',
    'database_not_found',
    'default_database_not_set',
    'release_not_found',
    'target_space_not_found',
    'invalid_sequence',
    'sequence_empty',
    'sequence_is_nucleotide',
    'sequence_too_long',
    'query_range_invalid',
    'invalid_queries',
    'file_not_managed',
    'file_not_found',
    'run_not_found',
    'run_not_completed',
    'result_expired',
    'export_not_possible',
    'receipt_not_found',
    'msa_alignments_missing',
    'msa_component_not_found',
    'msa_components_mismatch',
    'msa_not_found',
    'msa_too_large',
    'endpoint_not_configured',
    'invalid_path',
    'path_conflict',
    'storage_quota_exceeded',
    'file_exceeds_quota',
    'storage_full',
    'invalid_filter',
    'significance_unavailable',
    'propagation_unavailable',
    'relatives_unavailable',
    'webhook_endpoint_not_found',
    'webhook_endpoint_disabled',
    'queue_full',
    'run_storage_full',
  ],
});

export const listRuns = defineRoute({
  operationId: 'runs.list',
  method: 'GET',
  path: '/v1/runs',
  tag: 'runs',
  summary: 'List runs',
  description: 'Runs of the organization, newest first.',
  query: Type.Object(
    {
      status: Type.Optional(RunStatusSchema),
      endpoint: Type.Optional(RunEndpointSchema),
      limit: defaulted(
        20,
        Type.Integer({ minimum: 1, maximum: 100, description: 'Rows of a page at most.' }),
      ),
      cursor: CURSOR,
    },
    { additionalProperties: false },
  ),
  success: { status: 200, schema: listOf('RunList', Run), description: 'One page.' },
  successStyle: 'bare',
  errorStyle: 'envelope',
  work: 'light',
  refusals: ['cursor_invalid'],
});

const ONE_RUN: readonly ContractRefusalCode[] = ['run_not_found', 'permission_denied'];

export const getRun = defineRoute({
  operationId: 'runs.get',
  method: 'GET',
  path: '/v1/runs/{run_id}',
  tag: 'runs',
  summary: 'Read a run',
  description: 'State and progress; `Prefer: wait=N` waits up to N seconds for the end.',
  headers: PREFER_HEADER,
  params,
  success: { status: 200, schema: envelopeOf('ExecutionEnvelopeRun', Run), description: 'The run.' },
  successStyle: 'envelope',
  errorStyle: 'envelope',
  work: 'light',
  refusals: ONE_RUN,
});

/** Codes that the interface document lists for a cancellation. No cancellation returns them today. */
const CANCELLATION_LISTED: readonly ContractRefusalCode[] = [
  'budget_exhausted',
  'result_expired',
  'client_closed_request',
];

export const cancelRun = defineRoute({
  operationId: 'runs.cancel',
  method: 'POST',
  retry: 'same',
  path: '/v1/runs/{run_id}/cancel',
  tag: 'runs',
  summary: 'Cancel a run',
  description: 'Ends queued or running work and returns the run. Repeating it returns the same run.',
  params,
  success: {
    status: 200,
    schema: envelopeOf('ExecutionEnvelopeRun', Run),
    description: 'The cancelled run.',
  },
  successStyle: 'envelope',
  errorStyle: 'envelope_only',
  work: 'light',
  refusals: [...ONE_RUN, 'run_already_finished', ...CANCELLATION_LISTED],
});

/** Data of one server-sent event, and of a webhook about a run. */
export const RunEvent = named(
  'RunEvent',
  closed(
    {
      type: enumeration({
        'run.queued': 'accepted',
        'run.running': 'work has started',
        'run.progress': 'work goes on; not kept, so it has no event id',
        'run.completed': 'finished, with its result',
        'run.failed': 'ended without a result',
        'run.cancelled': 'ended by its owner',
      }),
      timestamp: moment('When it happened.'),
      data: closed({
        run_id: RunId,
        endpoint: RunEndpointSchema,
        status: RunStatusSchema,
        progress: Type.Optional(RunProgress),
      }),
    },
    { chosen: true },
  ),
);

export const streamRunEvents = defineRoute({
  operationId: 'runs.events.stream',
  method: 'GET',
  path: '/v1/runs/{run_id}/events',
  tag: 'runs',
  summary: 'Follow a run',
  description:
    'Server-sent events, each with a RunEvent as data: changes of state, from the first or after `Last-Event-ID`, ' +
    'and progress meanwhile. The stream ends with the run.',
  headers: {
    'Last-Event-ID': Type.String({ maxLength: 32, description: 'Id of the last event that was seen.' }),
  },
  params,
  success: {
    status: 200,
    schema: RunEvent,
    description: 'Events as they happen.',
    mediaType: 'text/event-stream',
  },
  successStyle: 'bare',
  errorStyle: 'envelope',
  work: 'light',
  refusals: ONE_RUN,
});

export type Run = Static<typeof Run>;
export type RunProgress = Static<typeof RunProgress>;
export type RunEvent = Static<typeof RunEvent>;
