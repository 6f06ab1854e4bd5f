import { pricingHandlers, type BillingServices } from './billing.js';
import type { Handlers, HandlersOf, OperationFamily } from './handler.js';
import { msaHandlers, type MsaServices } from './msa.js';
import { refHandlers, type RefServices } from './refs.js';
import { runHandlers, type RunServices } from './runs.js';
import { homologyHandlers, receiptHandlers, type SearchServices } from './search.js';
import { sqlCredentialHandlers, sqlHandlers, type SqlServices } from './sql.js';
import { storageHandlers, type StorageServices } from './storage.js';
import { webhookHandlers, type WebhookServices } from './webhooks.js';

/** The services that the operations need. */
export interface HandledServices
  extends
    BillingServices,
    MsaServices,
    RefServices,
    RunServices,
    SearchServices,
    SqlServices,
    StorageServices,
    WebhookServices {}

/** The handler of each operation: the one list that joins contract and services. */
export function handlersOf(services: HandledServices): Handlers {
  // Each family appears once with exactly its operations, so that none can be missing or served twice.
  const families: { readonly [Family in OperationFamily]: HandlersOf<Family> } = {
    homology: homologyHandlers(services),
    receipts: receiptHandlers(services),
    models: pricingHandlers(services),
    refs: refHandlers(services),
    runs: runHandlers(services),
    sequences: msaHandlers(services),
    storage: storageHandlers(services),
    sql: sqlHandlers(services),
    sql_credentials: sqlCredentialHandlers(services),
    webhooks: webhookHandlers(services),
  };
  return Object.assign({}, ...Object.values(families)) as Handlers;
}
