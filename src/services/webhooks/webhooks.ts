import type {
  WebhookDelivery,
  WebhookEndpoint,
  WebhookEndpointRequest,
  WebhookEndpointSecret,
  WebhookEventType,
} from '../../contract/webhooks.js';
import { WEBHOOK_EVENTS } from '../../contract/webhooks.js';
import { Refusal } from '../../errors.js';
import { WEBHOOK_ENDPOINTS_MAX_COUNT, WEBHOOK_SECRET_OVERLAP_MS } from '../../limits.js';
import type { WebhookDeliveryRow, WebhookEndpointRow, WebhookTable } from '../../store/tables/webhooks.js';
import { realWorld, type World } from '../../world.js';
import { remembered, type RequestContext } from '../context.js';
import type { Page, PageRequest, Pages } from '../pages.js';
import type { Reply } from '../reply.js';
import { ForbiddenAddress, type AddressRules } from './address.js';
import { WebhookDeliveries } from './deliveries.js';
import type { sendWebhook } from './send.js';
import { newWebhookSecret } from './sign.js';

interface DeliveryListRequest extends PageRequest {
  readonly endpoint_id?: string;
  readonly status?: WebhookDeliveryRow['status'];
}

interface WebhooksDependencies {
  readonly table: WebhookTable;
  readonly pages: Pages;
  readonly addresses: Pick<AddressRules, 'resolve'>;
  readonly now: () => Date;
  /** In [0, 1). */
  readonly random: () => number;
  readonly attemptTimeoutMs?: number;
  /** Default realWorld. */
  readonly world?: World;
  /** Default sendWebhook. */
  readonly send?: typeof sendWebhook;
}

/** Webhook endpoints and their deliveries. */
export class Webhooks {
  readonly #table: WebhookTable;
  readonly #pages: Pages;
  readonly #addresses: Pick<AddressRules, 'resolve'>;
  readonly #now: () => Date;
  readonly #world: World;
  readonly #deliveries: WebhookDeliveries;
  #report: ((error: unknown) => void) | undefined;

  constructor(dependencies: WebhooksDependencies) {
    const { table, pages, addresses, now, world = realWorld } = dependencies;
    this.#table = table;
    this.#pages = pages;
    this.#addresses = addresses;
    this.#now = now;
    this.#world = world;
    const onFault = (error: unknown): void => this.#report?.(error);
    this.#deliveries = new WebhookDeliveries({ ...dependencies, onFault });
  }

  /** Errors  Refusal `webhook_url_refused`, `webhook_endpoints_full` */
  async createEndpoint(
    { url, event_types: eventTypes, description }: WebhookEndpointRequest,
    context: RequestContext,
  ): Promise<Reply<WebhookEndpointSecret>> {
    const { organizationId } = context;
    const secret = newWebhookSecret(this.#world);
    const createdAt = this.#now().toISOString();
    const row: WebhookEndpointRow = {
      id: this.#world.newId('whe'),
      organizationId,
      url: await acceptUrl(url, this.#addresses),
      eventTypes: eventTypes ?? Object.keys(WEBHOOK_EVENTS),
      ...(description !== undefined && { description }),
      secrets: [{ secret }],
      createdAt,
      updatedAt: createdAt,
    };
    const reply: Reply<WebhookEndpointSecret> = {
      value: { ...presentEndpoint(row), secret },
      generatedObjectIds: [row.id],
      outputRefs: [row.id],
    };
    const remember = (): void => context.keyed?.remember(reply);
    if (!(await this.#table.addEndpoint(row, WEBHOOK_ENDPOINTS_MAX_COUNT, remember))) {
      throw new Refusal(
        'webhook_endpoints_full',
        `An organization has at most ${WEBHOOK_ENDPOINTS_MAX_COUNT} webhook endpoints; remove one first.`,
      );
    }
    return reply;
  }

  listEndpoints(request: PageRequest, { organizationId }: RequestContext): Reply<Page<WebhookEndpoint>> {
    const rows = this.#table.endpoints(organizationId);
    const list = [organizationId, 'webhook-endpoints'];
    const page = this.#pages.cut(rows, (row) => `${row.createdAt} ${row.id}`, request, list);
    return { value: { ...page, data: page.data.map(presentEndpoint) }, rowCount: page.data.length };
  }

  /** Errors  Refusal `webhook_endpoint_not_found`, `permission_denied` */
  async deleteEndpoint(id: string, context: RequestContext): Promise<Reply<WebhookEndpoint>> {
    const row = this.#findEndpoint(id, context);
    await this.#table.removeEndpoint(id);
    await this.#deliveries.giveUpRemoved({ organizationId: row.organizationId, endpointId: id });
    return { value: presentEndpoint(row), inputRefs: [id] };
  }

  /** Errors  those of deleteEndpoint */
  async rotateSecret(id: string, context: RequestContext): Promise<Reply<WebhookEndpointSecret>> {
    const { secrets } = this.#findEndpoint(id, context);
    const secret = newWebhookSecret(this.#world);
    const at = this.#now();
    const expiresAt = new Date(at.getTime() + WEBHOOK_SECRET_OVERLAP_MS).toISOString();
    // At most two secrets: a second rotation within the overlap ends the oldest secret at once.
    const change = {
      secrets: [{ secret }, ...secrets.slice(0, 1).map((first) => ({ ...first, expiresAt }))],
      updatedAt: at.toISOString(),
    };
    const reply = await this.#table.changeEndpoint(id, change, (changed) =>
      remembered(
        { value: { ...presentEndpoint(changed), secret }, inputRefs: [id], outputRefs: [id] },
        context,
      ),
    );
    if (reply === undefined) throw endpointAbsent(id);
    return reply;
  }

  /** Errors  those of deleteEndpoint; Refusal `webhook_endpoint_disabled` */
  requireEndpoint(id: string, context: RequestContext): void {
    const { disabledReason } = this.#findEndpoint(id, context);
    if (disabledReason === undefined) return;
    throw new Refusal('webhook_endpoint_disabled', 'The endpoint is disabled and gets no deliveries.');
  }

  listDeliveries(
    { endpoint_id: endpointId, status, limit, cursor }: DeliveryListRequest,
    { organizationId }: RequestContext,
  ): Reply<Page<WebhookDelivery>> {
    const list = [organizationId, 'webhook-deliveries', endpointId ?? '', status ?? ''];
    const position = cursor === undefined ? undefined : this.#pages.open(cursor, list);
    const page = this.#table.deliveries(organizationId, { endpointId, status }, limit, position);
    const value: Page<WebhookDelivery> = {
      object: 'list',
      data: page.deliveries.map((row) => this.#present(row)),
      has_more: page.position !== undefined,
      next_cursor: page.position === undefined ? null : this.#pages.seal(page.position, list),
    };
    return { value, rowCount: value.data.length };
  }

  /** Errors  Refusal `webhook_delivery_not_found`, `permission_denied` */
  getDelivery(id: string, context: RequestContext): Reply<WebhookDelivery> {
    const row = this.#findDelivery(id, context);
    return { value: this.#present(row), inputRefs: [id], objectRefs: [row.endpointId, row.eventId] };
  }

  /** Errors  those of getDelivery; Refusal `webhook_endpoint_disabled` */
  async redeliver(id: string, context: RequestContext): Promise<Reply<WebhookDelivery>> {
    const row = this.#findDelivery(id, context);
    const endpoint = this.#table.endpoint(row.endpointId);
    if (endpoint === undefined || endpoint.disabledReason !== undefined) {
      throw new Refusal(
        'webhook_endpoint_disabled',
        'The endpoint of this delivery is disabled or was removed.',
      );
    }
    const time = this.#now().toISOString();
    const { deliveredAt: _, failedAt: __, ...rest } = row;
    const schedule = { scheduleStartedAt: time, scheduledAttemptCount: 0, nextAttemptAt: time };
    const again: WebhookDeliveryRow = { ...rest, ...schedule, status: 'pending', updatedAt: time };
    const reply = { value: this.#present(again), inputRefs: [id], outputRefs: [id] };
    // A requested redelivery is sent at once: the user knows better than past failures whether the receiver responds.
    await this.#table.startAnew(again, { silence: undefined }, () => context.keyed?.remember(reply));
    this.#deliveries.wake();
    return reply;
  }

  /** Attempts all due deliveries. Errors  those of the disk */
  deliverDue(): Promise<void> {
    return this.#deliveries.deliverDue();
  }

  /** Starts to deliver. @param onFault called for internal failures */
  start(onFault: (error: unknown) => void): void {
    this.#report = onFault;
    this.#deliveries.start();
  }

  /** Notifies that events may have enqueued deliveries. */
  wake(): void {
    this.#deliveries.wake();
  }

  stop(): Promise<void> {
    return this.#deliveries.stop();
  }

  #present(row: WebhookDeliveryRow): WebhookDelivery {
    return presentDelivery(row, this.#table.endpoint(row.endpointId)?.silence?.retryAt);
  }

  #findEndpoint(id: string, { organizationId }: RequestContext): WebhookEndpointRow {
    const row = this.#table.endpoint(id);
    if (row === undefined) throw endpointAbsent(id);
    if (row.organizationId === organizationId) return row;
    throw new Refusal('permission_denied', 'The webhook endpoint belongs to another organization.');
  }

  #findDelivery(id: string, { organizationId }: RequestContext): WebhookDeliveryRow {
    const row = this.#table.delivery(id);
    if (row === undefined)
      throw new Refusal('webhook_delivery_not_found', `No webhook delivery has the id ${id}.`);
    if (row.organizationId === organizationId) return row;
    throw new Refusal('permission_denied', 'The webhook delivery belongs to another organization.');
  }
}

/** Errors  Refusal `webhook_url_refused`. The address is checked again at every attempt */
async function acceptUrl(text: string, addresses: Pick<AddressRules, 'resolve'>): Promise<string> {
  const refuse = (why: string): Refusal =>
    new Refusal('webhook_url_refused', `The URL is refused: ${why}`, { param: 'url' });
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw refuse('it is not an absolute URL.');
  }
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    throw refuse('it must begin with https:// or http://.');
  if (url.username !== '' || url.password !== '') throw refuse('it must not carry a user name or password.');
  try {
    await addresses.resolve(url.hostname);
  } catch (error) {
    // A name without an address now may have one later. A forbidden address is refused at once.
    if (error instanceof ForbiddenAddress) throw refuse(error.message);
  }
  url.hash = '';
  return url.href;
}

function endpointAbsent(id: string): Refusal {
  return new Refusal('webhook_endpoint_not_found', `No webhook endpoint has the id ${id}.`);
}

function presentEndpoint(row: WebhookEndpointRow): WebhookEndpoint {
  return {
    object: 'webhook_endpoint',
    id: row.id,
    url: row.url,
    event_types: [...row.eventTypes] as WebhookEventType[],
    ...(row.description !== undefined && { description: row.description }),
    status: row.disabledReason === undefined ? 'enabled' : 'disabled',
    ...(row.disabledReason !== undefined && { disabled_reason: row.disabledReason }),
    created_at: row.createdAt,
    updated_at: row.updatedAt,
  };
}

/** @param retryAt time before which no message is sent to its endpoint */
function presentDelivery(row: WebhookDeliveryRow, retryAt = ''): WebhookDelivery {
  const { nextAttemptAt } = row;
  return {
    object: 'webhook_delivery',
    id: row.id,
    endpoint_id: row.endpointId,
    event_id: row.eventId,
    status: row.status,
    attempt_count: row.attemptCount,
    created_at: row.createdAt,
    updated_at: row.updatedAt,
    ...(row.deliveredAt !== undefined && { delivered_at: row.deliveredAt }),
    ...(row.failedAt !== undefined && { failed_at: row.failedAt }),
    ...(nextAttemptAt !== undefined && {
      next_attempt_at: nextAttemptAt > retryAt ? nextAttemptAt : retryAt,
    }),
    ...(row.lastError !== undefined && { last_error: row.lastError }),
    ...(row.responseStatusCode !== undefined && { response_status_code: row.responseStatusCode }),
  };
}
