import type { Webhooks } from '../../services/webhooks/webhooks.js';
import type { HandlersOf } from './handler.js';

export interface WebhookServices {
  readonly webhooks: Webhooks;
}

export function webhookHandlers({ webhooks }: WebhookServices): HandlersOf<'webhooks'> {
  return {
    'webhooks.endpoints.create': ({ body }, context) => webhooks.createEndpoint(body, context),
    'webhooks.endpoints.list': async ({ query }, context) => webhooks.listEndpoints(query, context),
    'webhooks.endpoints.delete': ({ params }, context) =>
      webhooks.deleteEndpoint(params.endpoint_id, context),
    'webhooks.endpoints.rotate_secret': ({ params }, context) =>
      webhooks.rotateSecret(params.endpoint_id, context),
    'webhooks.deliveries.list': async ({ query }, context) => webhooks.listDeliveries(query, context),
    'webhooks.deliveries.get': async ({ params }, context) =>
      webhooks.getDelivery(params.delivery_id, context),
    'webhooks.deliveries.redeliver': ({ params }, context) => webhooks.redeliver(params.delivery_id, context),
  };
}
