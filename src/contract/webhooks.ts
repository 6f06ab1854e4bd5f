import { Type, type Static } from '@sinclair/typebox';
import { WEBHOOK_ENDPOINTS_MAX_COUNT, WEBHOOK_URL_MAX_CHARACTERS } from '../limits.js';
import { envelopeOf, listOf } from './grammar/envelope.js';
import { defineRoute } from './grammar/route.js';
import { closed, constant, count, enumeration, moment, named, text } from './grammar/schema.js';

/** Events that webhooks deliver. Callers poll for all other events. */
export const WEBHOOK_EVENTS = {
  'run.completed': 'a run completed',
  'run.failed': 'a run ended without a result',
  'run.cancelled': 'a run was cancelled',
  'file.completed': 'an upload was completed and is a file',
  'file.deleted': 'a file was deleted',
  'release.published': 'a new release was published in a database to which the organization has access',
} as const;

export type WebhookEventType = keyof typeof WEBHOOK_EVENTS;

export const WebhookEndpointId = text('Webhook endpoint id.', { pattern: '^whe_[0-9a-f]{24}$' });
const DeliveryId = text('Webhook delivery id.', { minLength: 1, maxLength: 64 });
const EventTypes = Type.Array(enumeration(WEBHOOK_EVENTS), {
  minItems: 1,
  uniqueItems: true,
  description: 'Types of the events that the endpoint receives.',
});

const endpointMembers = {
  object: constant('webhook_endpoint'),
  id: WebhookEndpointId,
  url: text('URL to which deliveries are sent.', { format: 'uri' }),
  event_types: EventTypes,
  description: Type.Optional(text('Description of the endpoint, chosen by the client.')),
  status: enumeration({
    enabled: 'deliveries are sent',
    disabled: 'no deliveries are sent; `disabled_reason` has the cause',
  }),
  disabled_reason: Type.Optional(
    enumeration({
      gone: 'the receiver answered 410',
      lasting_failure:
        'all attempts of a delivery failed, or no response came for 24 hours, and no delivery succeeded ' +
        'in this time',
    }),
  ),
  created_at: moment('Time when the endpoint was registered.'),
  updated_at: moment('Time of the last change.'),
};

export const WebhookEndpoint = named(
  'WebhookEndpoint',
  closed(endpointMembers, { description: 'A receiver of webhook deliveries.', chosen: true }),
);

export const WebhookEndpointSecret = named(
  'WebhookEndpointSecret',
  closed(
    {
      ...endpointMembers,
      secret: text('Secret that signs deliveries: `whsec_…`. Only this response contains it.', {
        pattern: '^whsec_[A-Za-z0-9+/]+=*$',
      }),
    },
    { description: 'A receiver of webhook deliveries, with its new secret.', chosen: true },
  ),
);

export const WebhookDelivery = named(
  'WebhookDelivery',
  closed(
    {
      object: constant('webhook_delivery'),
      id: DeliveryId,
      endpoint_id: text('Id of the webhook endpoint.'),
      event_id: text('Id of the event. Every attempt sends it as `webhook-id`.'),
      status: enumeration(
        {
          pending: 'waits for the first attempt or a retry',
          delivered: 'the receiver responded with a 2xx status',
          failed: 'failed without further retries; the redeliver operation sends it again',
        },
        { chosen: true },
      ),
      attempt_count: count('Number of attempts so far.'),
      created_at: moment('Time of the event.'),
      updated_at: moment('Time of the last change.'),
      delivered_at: Type.Optional(moment('Time of the response with a 2xx status.')),
      failed_at: Type.Optional(moment('Time when the delivery failed without further retries.')),
      next_attempt_at: Type.Optional(moment('Time of the next attempt.')),
      last_error: Type.Optional(text('Cause of the failure of the last attempt.')),
      response_status_code: Type.Optional(count('HTTP status of the response to the last attempt.')),
    },
    { description: 'Delivery of one event to one webhook endpoint.' },
  ),
);

const page = {
  limit: Type.Integer({
    minimum: 1,
    maximum: 100,
    default: 20,
    description: 'Maximum number of rows in a page.',
  }),
  cursor: Type.Optional(
    Type.String({ minLength: 1, maxLength: 1024, description: '`next_cursor` of the previous page.' }),
  ),
};
const endpointParams = Type.Object({ endpoint_id: WebhookEndpointId }, { additionalProperties: false });
const deliveryParams = Type.Object({ delivery_id: DeliveryId }, { additionalProperties: false });

export const WebhookEndpointRequest = named(
  'WebhookEndpointRequest',
  closed(
    {
      url: text('An http or https URL without credentials. Its host consists of ASCII characters.', {
        minLength: 1,
        maxLength: WEBHOOK_URL_MAX_CHARACTERS,
        format: 'uri',
        pattern: '^[Hh][Tt][Tt][Pp][Ss]?://([A-Za-z0-9._~-]+|\\[[0-9A-Fa-f:.]+\\])(:[0-9]{1,5})?([/?#]|$)',
      }),
      event_types: Type.Optional(EventTypes),
      description: Type.Optional(
        text('Description of the endpoint, chosen by the client.', { maxLength: 256 }),
      ),
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
    'Registers an endpoint. Deliveries are signed as in Standard Webhooks 1.0. Each event is ' +
    'delivered at least once. The first attempt is immediate. Retries follow 5 s, 5 min, 30 min, 2, ' +
    '5, 10, 14, 20 and 24 h after the event, and each wait is lengthened by up to a tenth. Only a 2xx ' +
    'response is a success. Redirects are not followed. Status 410 disables the endpoint. If an ' +
    'endpoint does not respond, all its deliveries pause for 5 s, and for 5 min after each further ' +
    `attempt without a response. An organization has at most ${WEBHOOK_ENDPOINTS_MAX_COUNT} endpoints.`,
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
  description: 'Returns the endpoints of the organization, oldest first.',
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
  description: 'Removes an endpoint. Its pending deliveries fail.',
  params: endpointParams,
  success: {
    status: 200,
    schema: envelopeOf('WebhookEndpointEnvelope', WebhookEndpoint),
    description: 'The removed endpoint.',
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
  description:
    'Creates a new secret. For 24 hours, deliveries are signed with both the new and the previous ' +
    'secret.',
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
  description: 'Returns the deliveries of the organization of the last 30 days, newest first.',
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
  description: 'Returns the state and the attempts of one delivery.',
  refusals: ['webhook_delivery_not_found', 'permission_denied'],
});

export const redeliverWebhook = defineRoute({
  ...oneDelivery,
  operationId: 'webhooks.deliveries.redeliver',
  method: 'POST',
  retry: 'stored',
  path: '/v1/webhooks/deliveries/{delivery_id}/redeliver',
  summary: 'Send a webhook delivery again',
  description:
    'Starts the retry schedule of a delivery again, from any state. The event id and the body stay ' +
    'the same.',
  refusals: ['webhook_delivery_not_found', 'permission_denied', 'webhook_endpoint_disabled'],
});

export type WebhookEndpoint = Static<typeof WebhookEndpoint>;
export type WebhookEndpointSecret = Static<typeof WebhookEndpointSecret>;
export type WebhookEndpointRequest = Static<typeof WebhookEndpointRequest>;
export type WebhookDelivery = Static<typeof WebhookDelivery>;
