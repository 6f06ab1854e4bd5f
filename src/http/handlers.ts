import type { Budgets } from '../services/billing/budgets.js';
import { MSA_CHARGE, type Metering } from '../services/billing/metering.js';
import type { Pricing } from '../services/billing/pricing.js';
import { TSV_TYPE } from '../services/export/formats.js';
import type { Msas } from '../services/msa/msas.js';
import type { Pages } from '../services/pages.js';
import type { Refs } from '../services/refs.js';
import type { Runs } from '../services/runs/runs.js';
import type { Catalog } from '../services/search/catalog.js';
import type { Homology } from '../services/search/homology.js';
import type { Receipts } from '../services/search/receipts.js';
import type { TargetSpaces } from '../services/search/target-spaces.js';
import type { SqlCredentials } from '../services/sql/credentials.js';
import type { Sql } from '../services/sql/sql.js';
import type { Storage } from '../services/storage/storage.js';
import type { Webhooks } from '../services/webhooks/webhooks.js';
import type { Handlers, HandlersOf, Capability } from './handler.js';

/** The services that the operations need. */
export interface HandledServices {
  readonly budgets: Budgets;
  readonly catalog: Catalog;
  readonly homology: Homology;
  readonly metering: Metering;
  readonly msas: Msas;
  readonly pages: Pages;
  readonly pricing: Pricing;
  readonly receipts: Receipts;
  readonly refs: Refs;
  readonly runs: Runs;
  readonly sql: Sql;
  readonly sqlCredentials: SqlCredentials;
  readonly storage: Pick<Storage, 'uploads' | 'files'>;
  readonly targetSpaces: TargetSpaces;
  readonly webhooks: Webhooks;
}

/** Services of searches and of the catalog of databases. */
export type SearchServices = Pick<
  HandledServices,
  'homology' | 'budgets' | 'metering' | 'catalog' | 'pages' | 'targetSpaces'
>;

/** Returns the handler of each operation: the one list that joins contract and services. */
export function handlersOf(services: HandledServices): Handlers {
  // The type requires each capability with exactly its operations, so none can be missing or served twice.
  const capabilities: { readonly [Name in Capability]: HandlersOf<Name> } = {
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
  return Object.assign({}, ...Object.values(capabilities)) as Handlers;
}

export function homologyHandlers(services: SearchServices): HandlersOf<'homology'> {
  const { homology, budgets, metering, catalog, pages, targetSpaces } = services;
  return {
    'homology.search': async ({ body }, context) => {
      budgets.requireFunds(context.organizationId);
      return metering.bill(await homology.search(body, context), context);
    },
    'homology.target_space_compilations.create': ({ body }, context) => targetSpaces.compile(body, context),
    'homology.databases.list': async ({ query }, { organizationId }) => {
      const databases = catalog.databases(organizationId);
      const page = pages.cut(databases, ({ slug }) => slug, query, [organizationId, 'databases']);
      return { value: page, rowCount: page.data.length };
    },
    'homology.databases.releases.list': async ({ params, query }, { organizationId }) => {
      const rows = catalog.releases(params.database, organizationId);
      const list = [organizationId, 'releases', params.database];
      const page = pages.cut(rows, (row) => `${row.published_at} ${row.id}`, query, list, 'descending');
      return { value: page, rowCount: page.data.length };
    },
  };
}

function receiptHandlers({ receipts }: HandledServices): HandlersOf<'receipts'> {
  return {
    'receipts.get': async ({ params }, context) => receipts.get(params.receipt_id, context),
  };
}

function msaHandlers({ msas, budgets, metering }: HandledServices): HandlersOf<'sequences'> {
  return {
    'sequences.msa.components.create': ({ body }, context) => msas.place(body, context),
    'sequences.msa.a3m.create': async ({ body }, context) => {
      budgets.requireFunds(context.organizationId);
      return metering.bill(await msas.build(body, context), context, MSA_CHARGE);
    },
    'sequences.msa.a3m.get': async ({ params, headers }, context) =>
      msas.read(params.a3m_object_id, headers, context),
  };
}

export function runHandlers({
  runs,
  budgets,
}: Pick<HandledServices, 'runs' | 'budgets'>): HandlersOf<'runs'> {
  return {
    'runs.create': async ({ body, headers }, context) => {
      budgets.requireFunds(context.organizationId);
      return runs.create(body, headers, context);
    },
    'runs.list': async ({ query }, context) => runs.list(query, context),
    'runs.get': ({ params, headers }, context) => runs.get(params.run_id, headers, context),
    'runs.cancel': ({ params }, context) => runs.cancel(params.run_id, context),
    'runs.results.list': ({ params, query, mediaType }, context) =>
      mediaType === TSV_TYPE
        ? runs.resultTable(params.run_id, query, context)
        : runs.results(params.run_id, query, context),
    'runs.events.stream': async ({ params, headers }, context) =>
      runs.events(params.run_id, headers['Last-Event-ID'], context),
  };
}

export function storageHandlers({
  storage: { uploads, files },
}: Pick<HandledServices, 'storage'>): HandlersOf<'storage'> {
  return {
    'storage.uploads.create': ({ body }, context) => uploads.create(body, context),
    'storage.uploads.get': async ({ params }, context) => uploads.get(params.upload_id, context),
    'storage.uploads.part_urls.create': async ({ params, body }, context) =>
      uploads.partUrls(params.upload_id, body.part_numbers, context),
    'storage.uploads.parts.put': ({ params, rawBody, headers }) =>
      uploads.putPart(params.upload_id, params.part_number, rawBody, headers),
    'storage.uploads.parts.acknowledge': ({ params, body }, context) =>
      uploads.acknowledge(params.upload_id, params.part_number, body.checksum, context),
    'storage.uploads.complete': ({ params }, context) => uploads.complete(params.upload_id, context),
    'storage.uploads.abort': ({ params }, context) => uploads.abort(params.upload_id, context),
    'storage.files.read': async ({ params, query, headers }, context) =>
      files.read({ fileId: params.file_id, fileName: params.file_name, query, headers }, context),
    'storage.file_signed_urls.create': async ({ query, body }, context) =>
      files.sign(query.url, body, context),
    'storage.files.acl.get': async ({ query }, context) => files.acl(query.url, context),
    'storage.files.acl.set': ({ query, body }, context) => files.setAcl(query.url, body, context),
    'storage.files.delete': ({ query }, context) => files.delete(query.path, context),
  };
}

function sqlHandlers({ sql }: HandledServices): HandlersOf<'sql'> {
  return {
    'sql.query': ({ body, mediaType, headers }, context) =>
      sql.query(body, mediaType, headers['Idempotency-Key'] !== undefined, context),
  };
}

export function sqlCredentialHandlers({
  sqlCredentials: credentials,
}: Pick<HandledServices, 'sqlCredentials'>): HandlersOf<'sql_credentials'> {
  return {
    'sql_credentials.create': ({ body }, context) => credentials.create(body, context),
    'sql_credentials.list': async ({ query }, context) => credentials.list(query, context),
    'sql_credentials.rotate': ({ params }, context) => credentials.rotate(params.credential_id, context),
    'sql_credentials.revoke': ({ params }, context) => credentials.revoke(params.credential_id, context),
  };
}

export function webhookHandlers({ webhooks }: Pick<HandledServices, 'webhooks'>): HandlersOf<'webhooks'> {
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

function pricingHandlers({ pricing }: HandledServices): HandlersOf<'models'> {
  return {
    'models.pricing.estimate': async ({ body }, context) => pricing.estimate(body, context),
  };
}

function refHandlers({ refs }: HandledServices): HandlersOf<'refs'> {
  return {
    'refs.resolve': ({ body }, context) => refs.resolve(body, context),
  };
}
