import { Type, type Static } from '@sinclair/typebox';
import { WEBHOOK_ENDPOINTS_MAX_COUNT, WEBHOOK_URL_MAX_CHARACTERS } from '../limits.js';
import { envelopeOf, listOf } from './grammar/envelope.js';
import { defineRoute } from './grammar/route.js';
import { closed, constant, count, enumeration, moment, named, text } from './grammar/schema.js';

/** Events that webhooks deliver. Callers poll for all other events. */
export const WEBHOOK_EVENTS = {
  'run.completed': 'a run has its result',
  'run.failed': 'a run ended without a result',
  'run.cancelled': 'a run was ended by its owner',
  'file.completed': 'an upload has become a file',
  'file.deleted': 'a file was deleted',
  'release.published': 'a database that you may search has a new release',
} as const;

export type WebhookEventType = keyof typeof WEBHOOK_EVENTS;

export const WebhookEndpointId = text('Webhook endpoint id.', { pattern: '^whe_[0-9a-f]{24}$' });
const DeliveryId = text('Webhook delivery id.', { minLength: 1, maxLength: 64 });
const EventTypes = Type.Array(enumeration(WEBHOOK_EVENTS), {
  minItems: 1,
  uniqueItems: true,
  description: 'Events that are delivered.',
});

const endpointMembers = {
  object: constant('webhook_endpoint'),
  id: WebhookEndpointId,
  url: text('Where deliveries are sent.', { format: 'uri' }),
  event_types: EventTypes,
  description: Type.Optional(text('Your words about it.')),
  status: enumeration({
    enabled: 'deliveries are sent',
    disabled: 'nothing is sent; `disabled_reason` says why',
  }),
  disabled_reason: Type.Optional(
    enumeration({
      gone: 'the receiver answered 410',
      lasting_failure:
        'a delivery failed for good, or a day went by without an answer, and none succeeded meanwhile',
    }),
  ),
  created_at: moment('When it was registered.'),
  updated_at: moment('When it was last changed.'),
};

export const WebhookEndpoint = named(
  'WebhookEndpoint',
  closed(endpointMembers, { description: 'A receiver of events.', chosen: true }),
);

export const WebhookEndpointSecret = named(
  'WebhookEndpointSecret',
  closed(
    {
      ...endpointMembers,
      secret: text('Signs deliveries, `whsec_…`; shown this once.', { pattern: '^whsec_[A-Za-z0-9+/]+=*$' }),
    },
    { description: 'A receiver of events, with its new secret.', chosen: true },
  ),
);

export const WebhookDelivery = named(
  'WebhookDelivery',
  closed(
    {
      object: constant('webhook_delivery'),
      id: DeliveryId,
      endpoint_id: text('Endpoint that it is for.'),
      event_id: text('Event that it tells of; sent as `webhook-id`, the same at every attempt.'),
      status: enumeration(
        {
          pending: 'to be attempted, for the first time or again',
          delivered: 'answered with a 2xx status',
          failed: 'given up; it can be sent again with redeliver',
        },
        { chosen: true },
      ),
      attempt_count: count('Attempts so far.'),
      created_at: moment('When the event happened.'),
      updated_at: moment('When it was last changed.'),
      delivered_at: Type.Optional(moment('When it was answered with a 2xx status.')),
      failed_at: Type.Optional(moment('When it was given up.')),
      next_attempt_at: Type.Optional(moment('When it is attempted next.')),
      last_error: Type.Optional(text('Why the last attempt failed.')),
      response_status_code: Type.Optional(count('Status of the last answer.')),
    },
    { description: 'One event on its way to one endpoint.' },
  ),
);

const page = {
  limit: Type.Integer({ minimum: 1, maximum: 100, default: 20, description: 'Rows of a page at most.' }),
  cursor: Type.Optional(
    Type.String({ minLength: 1, maxLength: 1024, description: '`next_cursor` of the page before.' }),
  ),
};
const endpointParams = Type.Object({ endpoint_id: WebhookEndpointId }, { additionalProperties: false });
const deliveryParams = Type.Object({ delivery_id: DeliveryId }, { additionalProperties: false });

export const WebhookEndpointRequest = named(
  'WebhookEndpointRequest',
  closed(
    {
      url: text('An http or https URL without credentials; its host in ASCII letters.', {
        minLength: 1,
        maxLength: WEBHOOK_URL_MAX_CHARACTERS,
        format: 'uri',
        pattern: '^[Hh][Tt][Tt][Pp][Ss]?://([A-Za-z0-9._~-]+|\\[[0-9A-Fa-f:.]+\\])(:[0-9]{1,5})?([/?#]|$)',
      }),
      event_types: Type.Optional(EventTypes),
      description: Type.Optional(text('Your words about it.', { maxLength: 256 })),
    },
    { chosen: true },
  ),
);

export const createWebhookEndpoint = defineRoute({
  operationId: 'webhooks.endpoints.create',
  method: 'POST',
  retry: 'stored',
  path: '/v1/webhooks/endpoints',
  tag: 'webhooks',
  summary: 'Register a webhook endpoint',
  description:
    'Events are signed as Standard Webhooks 1.0 describes and sent at least once: at once, then 5 s, 5 min, 30 min, ' +
    '2, 5, 10, 14, 20 and 24 h later, each wait lengthened by up to a tenth. Only a 2xx answer counts; redirects are ' +
    'not followed; 410 disables the endpoint. An endpoint that does not answer is left alone for 5 s, and then for ' +
    '5 min at a time, with all that waits for it. ' +
    `An organization has ${WEBHOOK_ENDPOINTS_MAX_COUNT} endpoints at most.`,
  body: WebhookEndpointRequest,
  success: {
    status: 201,
    schema: envelopeOf('WebhookEndpointSecretEnvelope', WebhookEndpointSecret),
    description: 'The endpoint with its secret.',
  },
  successStyle: 'envelope',
  errorStyle: 'envelope',
  work: 'light',
  refusals: ['webhook_url_refused', 'webhook_endpoints_full'],
});

export const listWebhookEndpoints = defineRoute({
  operationId: 'webhooks.endpoints.list',
  method: 'GET',
  path: '/v1/webhooks/endpoints',
  tag: 'webhooks',
  summary: 'List webhook endpoints',
  description: 'Endpoints of the organization, the oldest first.',
  query: Type.Object(page, { additionalProperties: false }),
  success: { status: 200, schema: listOf('WebhookEndpointList', WebhookEndpoint), description: 'One page.' },
  successStyle: 'bare',
  errorStyle: 'envelope',
  work: 'light',
  refusals: ['cursor_invalid'],
});

export const deleteWebhookEndpoint = defineRoute({
  operationId: 'webhooks.endpoints.delete',
  method: 'DELETE',
  path: '/v1/webhooks/endpoints/{endpoint_id}',
  tag: 'webhooks',
  summary: 'Remove a webhook endpoint',
  description: 'Deliveries that are pending are given up.',
  params: endpointParams,
  success: {
    status: 200,
    schema: envelopeOf('WebhookEndpointEnvelope', WebhookEndpoint),
    description: 'The endpoint that was removed.',
  },
  successStyle: 'envelope',
  errorStyle: 'envelope',
  work: 'light',
  refusals: ['webhook_endpoint_not_found', 'permission_denied'],
});

export const rotateWebhookSecret = defineRoute({
  operationId: 'webhooks.endpoints.rotate_secret',
  method: 'POST',
  retry: 'stored',
  path: '/v1/webhooks/endpoints/{endpoint_id}/rotate-secret',
  tag: 'webhooks',
  summary: 'Give a webhook endpoint a new secret',
  description: 'For 24 hours deliveries are signed with the new and the earlier secret.',
  params: endpointParams,
  success: {
    status: 200,
    schema: envelopeOf('WebhookEndpointSecretEnvelope', WebhookEndpointSecret),
    description: 'The endpoint with its new secret.',
  },
  successStyle: 'envelope',
  errorStyle: 'envelope',
  work: 'light',
  refusals: ['webhook_endpoint_not_found', 'permission_denied'],
});

export const listWebhookDeliveries = defineRoute({
  operationId: 'webhooks.deliveries.list',
  method: 'GET',
  path: '/v1/webhooks/deliveries',
  tag: 'webhooks',
  summary: 'List webhook deliveries',
  description: 'Deliveries of the organization within 30 days, newest first.',
  query: Type.Object(
    {
      endpoint_id: Type.Optional(WebhookEndpointId),
      status: Type.Optional(WebhookDelivery.properties.status),
      ...page,
    },
    { additionalProperties: false },
  ),
  success: { status: 200, schema: listOf('WebhookDeliveryList', WebhookDelivery), description: 'One page.' },
  successStyle: 'bare',
  errorStyle: 'envelope',
  work: 'light',
  refusals: ['cursor_invalid'],
});

const oneDelivery = {
  tag: 'webhooks',
  params: deliveryParams,
  success: {
    status: 200,
    schema: envelopeOf('WebhookDeliveryEnvelope', WebhookDelivery),
    description: 'The delivery.',
  },
  successStyle: 'envelope',
  errorStyle: 'envelope',
  work: 'light',
} as const;

export const getWebhookDelivery = defineRoute({
  ...oneDelivery,
  operationId: 'webhooks.deliveries.get',
  method: 'GET',
  path: '/v1/webhooks/deliveries/{delivery_id}',
  summary: 'Read a webhook delivery',
  description: 'State and attempts of one delivery.',
  refusals: ['webhook_delivery_not_found', 'permission_denied'],
});

export const redeliverWebhook = defineRoute({
  ...oneDelivery,
  operationId: 'webhooks.deliveries.redeliver',
  method: 'POST',
  retry: 'stored',
  path: '/v1/webhooks/deliveries/{delivery_id}/redeliver',
  summary: 'Send a webhook delivery again',
  description: 'Starts the schedule anew, with the same event id and body, whatever became of it before.',
  refusals: ['webhook_delivery_not_found', 'permission_denied', 'webhook_endpoint_disabled'],
});

export type WebhookEndpoint = Static<typeof WebhookEndpoint>;
export type WebhookEndpointSecret = Static<typeof WebhookEndpointSecret>;
export type WebhookEndpointRequest = Static<typeof WebhookEndpointRequest>;
export type WebhookDelivery = Static<typeof WebhookDelivery>;
