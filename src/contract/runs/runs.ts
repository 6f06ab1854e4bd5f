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
    running: 'in progress; a restarted server resumes it',
    completed: 'finished with a result',
    failed: 'ended without a result; `error` has the cause',
    cancelled: 'cancelled by a request',
  },
  { chosen: true },
);

const endpoints: readonly (readonly [string, EndpointContract])[] = Object.entries(RUN_ENDPOINTS);
const RunEndpointSchema = enumeration(
  Object.fromEntries(endpoints.map(([key, { meaning }]) => [key, meaning])) as Record<RunEndpointKey, string>,
  { chosen: true },
);

export const RunProgress = closed({
  stage: text('Current stage of the work, in words.'),
  fraction: ratio('Fraction of the work that is done.'),
  done_count: count('Number of finished units of work: queries, or rows of an export.'),
  total_count: count('Total number of units of work.'),
  rate_per_second: Type.Optional(quantity('Finished units per second of work time.', { minimum: 0 })),
  seconds_left: Type.Optional(
    quantity('Estimated work time left in seconds, without time in the queue.', { minimum: 0 }),
  ),
});

const RunResult = closed({
  row_count: count('Number of rows that `GET /v1/runs/{run_id}/results` returns.'),
  summary: Type.Union(endpoints.map(([, { summary }]) => summary) as TSchema[], {
    description: 'Summary of the result, without the rows.',
  }) as TSchema,
});

const RunError = closed({
  code: text('Stable machine-readable code.'),
  message: text('What was expected, what was received and how to correct the request.'),
  details: openObject('Machine-readable details.'),
});

const TOLD_ENDPOINT = Type.Unsafe<string>({
  ...WebhookEndpointId,
  description:
    'Webhook endpoint that receives the final event of the run, even if its `event_types` exclude ' +
    'this event.',
});

export const Run = named(
  'Run',
  closed(
    {
      object: constant('run'),
      id: RunId,
      endpoint: RunEndpointSchema,
      status: RunStatusSchema,
      label: Type.Optional(text('Label of the run, chosen by the client.')),
      priority: enumeration(
        { high: 'before normal and low', normal: 'after high, before low', low: 'after high and normal' },
        { description: 'Order among the runs of the organization.' },
      ),
      is_background: flag(
        'Whether the creating request asked not to wait for the end of the run. False after `background: ' +
          'false` or `Prefer: wait=N`, however long the request waited.',
      ),
      webhook_endpoint_id: Type.Optional(TOLD_ENDPOINT),
      input_sha256: sha256('SHA-256 of the canonical JSON of `input` with defaults filled in.'),
      created_at: moment('Time when the run was accepted.'),
      started_at: Type.Optional(moment('Time when work started.')),
      finished_at: Type.Optional(moment('Time when the run completed, failed or was cancelled.')),
      expires_at: Type.Optional(
        moment('Time when the results are deleted: 30 days after the end of the run.'),
      ),
      attempt_count: count('Number of times that work was started or resumed.'),
      progress: RunProgress,
      result: Type.Optional(RunResult),
      error: Type.Optional(RunError),
      usage: closed({ billable_units: count('Billed units. 0 unless the run completed.') }),
    },
    { description: 'A run: work whose state and result the server stores.', chosen: true },
  ),
);

/** One variant of the request that creates a run, discriminated by `endpoint`. */
function creation(key: string, input: TSchema, defaultPriority: RunPriority): TSchema {
  return named(
    `RunRequest.${key}`,
    closed({
      endpoint: constant(key),
      input,
      label: Type.Optional(text('Label of the run, chosen by the client.', { minLength: 1, maxLength: 256 })),
      priority: defaulted(
        defaultPriority,
        enumeration(
          { high: 'before normal and low', normal: 'after high, before low', low: 'after high and normal' },
          { description: 'Order among the runs of the organization.' },
        ),
      ),
      background: defaulted(
        true,
        flag(
          '`false` waits up to 60 seconds for the end of the run, as `Prefer: wait=60` does. A `Prefer` ' +
            'header takes precedence.',
        ),
      ),
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
  description: 'The work to execute. `endpoint` selects the schema of `input`.',
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
      '`respond-async` responds at once. `wait=N` waits up to N seconds (at most 60) for the end of the ' +
      'run. RFC 7240.',
    chosen: true,
  }),
};

const params = Type.Object({ run_id: RunId }, { additionalProperties: false });
export const CURSOR = Type.Optional(
  Type.String({ minLength: 1, maxLength: 1024, description: '`next_cursor` of the previous page.' }),
);

export const createRun = defineRoute({
  operationId: 'runs.create',
  method: 'POST',
  retry: 'stored',
  path: '/v1/runs',
  tag: 'runs',
  summary: 'Create a run',
  description:
    'Creates a run of one endpoint. The input is checked before the run is accepted. An accepted run ' +
    'is on disk and survives a restart. The response is 202 with `Location` and `Retry-After`, or 200 ' +
    'if the request waited until the run ended.',
  headers: PREFER_HEADER,
  body: RunRequest,
  bodyMaxBytes: RUN_BODY_MAX_BYTES,
  bodyMaxValues: RUN_BODY_MAX_VALUES,
  success: { status: 202, schema: envelopeOf('ExecutionEnvelopeRun', Run), description: 'The run.' },
  otherSuccesses: { 200: 'The run ended while the request waited.' },
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
  description:
    'Runs of the organization, newest first. A page ends early if a further run would exceed 8 MiB. ' +
    'If few runs match the filter, a page may have none although `has_more` is true.',
  query: Type.Object(
    {
      status: Type.Optional(RunStatusSchema),
      endpoint: Type.Optional(RunEndpointSchema),
      limit: defaulted(
        20,
        Type.Integer({ minimum: 1, maximum: 100, description: 'Maximum number of runs in a page.' }),
      ),
      cursor: CURSOR,
    },
    { additionalProperties: false },
  ),
  success: { status: 200, schema: listOf('RunList', Run), description: 'One page of runs.' },
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
  description:
    'Returns the state and the progress of a run. `Prefer: wait=N` waits up to N seconds (at most 60) ' +
    'for the end of the run.',
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
  description:
    'Ends queued or running work and returns the run. A repeated cancellation returns the same run.',
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
        'run.progress': 'progress of the work; not stored, so this event has no id',
        'run.completed': 'finished with a result',
        'run.failed': 'ended without a result',
        'run.cancelled': 'cancelled by a request',
      }),
      timestamp: moment('Time of the event.'),
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
    'Sends server-sent events with a RunEvent as data. The stream has the changes of state, from the ' +
    'first one or after `Last-Event-ID`, and progress between them. It ends with the run.',
  headers: {
    'Last-Event-ID': Type.String({
      maxLength: 32,
      description: 'Id of the last event that the client received.',
    }),
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
