// Written by config/client-types.mjs from config/openapi.json.
import type { Evidence, Provenance, Warning } from './shared.js';

export interface WebhookEndpointRequest {
  /** An http or https URL without credentials; its host in ASCII letters. */
  readonly url: string;
  /** Events that are delivered. */
  readonly event_types?: readonly (
    'run.completed' | 'run.failed' | 'run.cancelled' | 'file.completed' | 'file.deleted' | 'release.published'
  )[];
  /** Your words about it. */
  readonly description?: string;
}

export interface WebhookEndpointSecretEnvelope {
  /** The operation succeeded. */
  readonly ok: true;
  readonly provenance: Provenance;
  readonly warnings: readonly Warning[];
  /** URL of the JSON Schema of this object. */
  readonly $schema: string;
  readonly data: WebhookEndpointSecret;
  readonly evidence: Evidence;
}

/** A receiver of events, with its new secret. */
export interface WebhookEndpointSecret {
  readonly object: 'webhook_endpoint';
  /** Webhook endpoint id. */
  readonly id: string;
  /** Where deliveries are sent. */
  readonly url: string;
  /** Events that are delivered. */
  readonly event_types: readonly (
    'run.completed' | 'run.failed' | 'run.cancelled' | 'file.completed' | 'file.deleted' | 'release.published'
  )[];
  /** Your words about it. */
  readonly description?: string;
  /**
   * - `enabled`: deliveries are sent
   * - `disabled`: nothing is sent; `disabled_reason` says why
   */
  readonly status: 'enabled' | 'disabled';
  /**
   * - `gone`: the receiver answered 410
   * - `lasting_failure`: a delivery failed for good, or a day went by without an answer, and none
   * succeeded meanwhile
   */
  readonly disabled_reason?: 'gone' | 'lasting_failure';
  /** When it was registered. */
  readonly created_at: string;
  /** When it was last changed. */
  readonly updated_at: string;
  /** Signs deliveries, `whsec_…`; shown this once. */
  readonly secret: string;
}

export interface WebhookEndpointList {
  readonly object: 'list';
  readonly data: readonly WebhookEndpoint[];
  /** True when a further page exists. */
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

/** A receiver of events. */
export interface WebhookEndpoint {
  readonly object: 'webhook_endpoint';
  /** Webhook endpoint id. */
  readonly id: string;
  /** Where deliveries are sent. */
  readonly url: string;
  /** Events that are delivered. */
  readonly event_types: readonly (
    'run.completed' | 'run.failed' | 'run.cancelled' | 'file.completed' | 'file.deleted' | 'release.published'
  )[];
  /** Your words about it. */
  readonly description?: string;
  /**
   * - `enabled`: deliveries are sent
   * - `disabled`: nothing is sent; `disabled_reason` says why
   */
  readonly status: 'enabled' | 'disabled';
  /**
   * - `gone`: the receiver answered 410
   * - `lasting_failure`: a delivery failed for good, or a day went by without an answer, and none
   * succeeded meanwhile
   */
  readonly disabled_reason?: 'gone' | 'lasting_failure';
  /** When it was registered. */
  readonly created_at: string;
  /** When it was last changed. */
  readonly updated_at: string;
}

export interface WebhookEndpointEnvelope {
  /** The operation succeeded. */
  readonly ok: true;
  readonly provenance: Provenance;
  readonly warnings: readonly Warning[];
  /** URL of the JSON Schema of this object. */
  readonly $schema: string;
  readonly data: WebhookEndpoint;
  readonly evidence: Evidence;
}

export interface WebhookDeliveryList {
  readonly object: 'list';
  readonly data: readonly WebhookDelivery[];
  /** True when a further page exists. */
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

/** One event on its way to one endpoint. */
export interface WebhookDelivery {
  readonly object: 'webhook_delivery';
  /** Webhook delivery id. */
  readonly id: string;
  /** Endpoint that it is for. */
  readonly endpoint_id: string;
  /** Event that it tells of; sent as `webhook-id`, the same at every attempt. */
  readonly event_id: string;
  /**
   * - `pending`: to be attempted, for the first time or again
   * - `delivered`: answered with a 2xx status
   * - `failed`: given up; it can be sent again with redeliver
   */
  readonly status: 'pending' | 'delivered' | 'failed';
  /** Attempts so far. */
  readonly attempt_count: number;
  /** When the event happened. */
  readonly created_at: string;
  /** When it was last changed. */
  readonly updated_at: string;
  /** When it was answered with a 2xx status. */
  readonly delivered_at?: string;
  /** When it was given up. */
  readonly failed_at?: string;
  /** When it is attempted next. */
  readonly next_attempt_at?: string;
  /** Why the last attempt failed. */
  readonly last_error?: string;
  /** Status of the last answer. */
  readonly response_status_code?: number;
}

export interface WebhookDeliveryEnvelope {
  /** The operation succeeded. */
  readonly ok: true;
  readonly provenance: Provenance;
  readonly warnings: readonly Warning[];
  /** URL of the JSON Schema of this object. */
  readonly $schema: string;
  readonly data: WebhookDelivery;
  readonly evidence: Evidence;
}
