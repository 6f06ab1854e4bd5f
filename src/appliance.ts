import { execFileSync } from 'node:child_process';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { loadPrices, type ApplianceConfig } from './config.js';
import { CONTRACT_VERSION } from './contract/grammar/headers.js';
import type { Handlers } from './http/handlers.js';
import { chooseBackend } from './kernels/choose.js';
import type { KernelBackend } from './kernels/kernels.js';
import { RUNS_AT_WORK_MAX_COUNT } from './limits.js';
import { releaseDirectory } from './release/catalog.js';
import { openRelease } from './release/open.js';
import type { ReleaseManifest } from './release/release.js';
import { findEncoder } from './encoder/find.js';
import { findEncoderVersion, keepEncoder } from './encoder/keep.js';
import { encoderOptionsOf, loadEncoder } from './encoder/load.js';
import type { Encoder } from './encoder/encoder.js';
import { Budgets } from './services/billing/budgets.js';
import { createCatalog, type Catalog } from './services/search/catalog.js';
import { createEngines, type Engines } from './services/search/engines.js';
import { createHomology, type Homology } from './services/search/homology.js';
import { Keys } from './services/keys.js';
import { Metering, RUN_FORMULA_ID } from './services/billing/metering.js';
import { Msas } from './services/msa/msas.js';
import { Pages } from './services/pages.js';
import { Pricing } from './services/billing/pricing.js';
import { createReceipts, type Receipts } from './services/search/receipts.js';
import { Refs } from './services/refs/refs.js';
import { TargetNames } from './services/refs/targets.js';
import { batchSearchRuns } from './services/run-kinds/batch.js';
import { exportRuns } from './services/run-kinds/export.js';
import { msaRuns } from './services/run-kinds/msa.js';
import { searchRuns } from './services/run-kinds/search.js';
import { structureRuns } from './services/run-kinds/structure.js';
import { Runs } from './services/runs/runs.js';
import { SqlCredentials } from './services/sql/credentials.js';
import { SqlEngines } from './services/sql/engines.js';
import { SqlWorlds } from './services/sql/worlds.js';
import { Sql } from './services/sql/sql.js';
import { Storage } from './services/storage/storage.js';
import { createTargetSpaces, type TargetSpaces } from './services/search/target-spaces.js';
import { AddressRules } from './services/webhooks/address.js';
import { Webhooks } from './services/webhooks/webhooks.js';
import { apiKeyTable } from './store/tables/api-keys.js';
import { eventTable } from './store/tables/events.js';
import { openControlStore, type ControlStore } from './store/control-store.js';
import { openMsaTables } from './store/tables/msas.js';
import { receiptTable } from './store/tables/receipts.js';
import { releaseEvents } from './store/tables/release-events.js';
import { releaseTable, type ReleaseTable } from './store/tables/releases.js';
import { runTable } from './store/tables/runs.js';
import { sealingKey } from './store/secrets.js';
import { sqlCredentialTable } from './store/tables/sql-credentials.js';
import { openStorageTables } from './store/storage/storage.js';
import { openTargetSpaces } from './store/tables/target-spaces.js';
import { usageTable } from './store/tables/usage.js';
import { webhookTable } from './store/tables/webhooks.js';

/** Everything that serves, put together once: the command line, the server and the benches all start from it. */
export interface Appliance {
  readonly config: ApplianceConfig;
  readonly store: ControlStore;
  readonly backend: KernelBackend;
  readonly budgets: Budgets;
  readonly releases: ReleaseTable<ReleaseManifest>;
  readonly catalog: Catalog;
  readonly engines: Engines;
  readonly homology: Homology;
  readonly keys: Keys;
  readonly metering: Metering;
  readonly msas: Msas;
  readonly pages: Pages;
  readonly pricing: Pricing;
  readonly receipts: Receipts;
  readonly refs: Refs;
  /** Accepts runs; they are worked on between its start and its stop, which the server calls. */
  readonly runs: Runs;
  /** Executes SQL statements, and who may have them executed. */
  readonly sql: Sql;
  readonly sqlCredentials: SqlCredentials;
  /** Takes and serves files; cleans up between its start and its stop, which the server calls. */
  readonly storage: Storage;
  readonly targetSpaces: TargetSpaces;
  /** Delivers between its start and its stop, which the server calls. */
  readonly webhooks: Webhooks;
  /** `0.1.0+<commit>`: the exact build. */
  readonly serverVersion: string;
  /** Worker id, stable for this process: host, backend and process. */
  readonly servedFrom: string;
  /** An installed encoder by id, ready to encode; the caller closes it. */
  loadEncoder(encoderId: string): Promise<Encoder>;
  /** Keeps the installed version of this encoder for the releases that it made. */
  keepEncoder(encoderId: string): Promise<void>;
  close(): Promise<void>;
}

/**
 * Opens the control state and the kernels; releases and encoders are opened when they are first used.
 * Errors  Fault where the data folder, the addon or the configured device cannot be used
 */
export async function openAppliance(config: ApplianceConfig): Promise<Appliance> {
  const backend = await chooseBackend({
    device: config.device,
    retriesOnCpu: config.onDeviceError === 'retry_on_cpu',
  });
  const store = openControlStore(config.dataFolder);
  const now = (): Date => new Date();
  const releases = releaseTable<ReleaseManifest>(store, releaseEvents(store));
  const catalog = createCatalog(releases);
  const encoderOptions = encoderOptionsOf(config);
  const directoryOf = (releaseId: string): string => {
    const [holder] = releases.holders(releaseId);
    return releaseDirectory(config.indexesFolder, holder.slug, releaseId);
  };
  const engines = createEngines({
    backend,
    threads: config.threads,
    openRelease: async (releaseId) => openRelease(directoryOf(releaseId)),
    calibrationOf: (releaseId) => {
      const holders = releases.holders(releaseId);
      const holder = holders.find(({ calibrationId }) => calibrationId !== undefined) ?? holders.at(0);
      return (
        holder && {
          id: holder.calibrationId,
          releaseDirectory: releaseDirectory(config.indexesFolder, holder.slug, releaseId),
        }
      );
    },
    loadEncoder: async (id, digest) =>
      loadEncoder(await findEncoderVersion(id, digest, config), encoderOptions),
  });
  const serverVersion = buildVersion(config.packageFolder);
  const targetSpaces = createTargetSpaces({ table: openTargetSpaces(store), catalog, engines });
  const receipts = createReceipts(receiptTable(store));
  const usage = usageTable(store);
  const prices = loadPrices(config.packageFolder);
  const metering = new Metering(usage, now);
  const seal = await sealingKey(store);
  const pages = new Pages(seal);
  const workerOn = (kernels: string): string => `${hostname()}:${kernels.replace(':', '-')}:${process.pid}`;
  const searchParts = { catalog, engines, targetSpaces, receipts, serverVersion, workerOn, now };
  const webhookRows = webhookTable(store);
  const webhooks = new Webhooks({
    table: webhookRows,
    pages,
    addresses: new AddressRules(config.webhookNetworks),
    now,
    random: Math.random,
  });
  const storageTables = openStorageTables(store, config.dataFolder, eventTable(store, webhookRows.enqueue));
  const { objects } = storageTables;
  const msas = new Msas({
    tables: openMsaTables(store, objects),
    objects,
    receipts,
    catalog,
    engines,
    targetSpaces,
    now,
  });
  const storage = new Storage({
    tables: storageTables,
    bounds: { quotaBytes: config.storageQuotaBytes, reserveBytes: config.storageReserveBytes },
    sealingKey: seal,
    now,
    onChange: () => webhooks.wake(),
  });
  const { sql, sqlCredentials } = openSql(config, { store, catalog, releases, pages, now });
  const runRows = runTable(store, {
    onEvent: webhookRows.enqueue,
    onCompleted: ({ id, organizationId, endpoint, billableUnits }) =>
      usage.add({
        id,
        organizationId,
        endpoint,
        units: billableUnits,
        formulaId: RUN_FORMULA_ID,
        createdAt: now().toISOString(),
      }),
  });
  const refs = new Refs({
    catalog,
    targetNames: new TargetNames(directoryOf),
    hasTarget: async (id, target) => (await engines.open(id)).release.targets.find(target) !== undefined,
    runs: runRows,
    files: storageTables.files,
  });
  const runs = new Runs({
    table: runRows,
    kinds: [
      searchRuns(searchParts),
      batchSearchRuns({ ...searchParts, files: storage.files }),
      exportRuns({ table: runRows, receipts, writer: storage.writer }),
      msaRuns(msas),
      structureRuns({
        predictor: config.structurePredictor,
        msas,
        files: storage.files,
        writer: storage.writer,
        folder: join(config.dataFolder, 'predictions'),
      }),
    ],
    pages,
    now,
    concurrency: RUNS_AT_WORK_MAX_COUNT,
    requireWebhookEndpoint: (id, context) => webhooks.requireEndpoint(id, context),
    onChange: () => webhooks.wake(),
  });
  return {
    config,
    store,
    backend,
    releases,
    catalog,
    engines,
    homology: createHomology(searchParts),
    keys: new Keys(apiKeyTable(store), now),
    metering,
    msas,
    pages,
    pricing: new Pricing(prices, usage),
    budgets: new Budgets(config.budgets, prices, usage),
    receipts,
    refs,
    runs,
    sql,
    sqlCredentials,
    storage,
    targetSpaces,
    webhooks,
    serverVersion,
    servedFrom: workerOn(`${backend.name}:${backend.variant}`),
    loadEncoder: async (id) => loadEncoder(await findEncoder(id, config), encoderOptions),
    keepEncoder: async (id) => keepEncoder(await findEncoder(id, config), config),
    async close() {
      await runs.stop();
      sql.stop();
      await storage.stop();
      await webhooks.stop();
      await refs.close();
      await engines.close();
      await metering.settle();
      await store.close();
    },
  };
}

/** SQL over the world of each organization, and the credentials that open it. */
function openSql(
  config: ApplianceConfig,
  {
    store,
    catalog,
    releases,
    pages,
    now,
  }: Pick<Appliance, 'store' | 'catalog' | 'releases' | 'pages'> & {
    readonly now: () => Date;
  },
): Pick<Appliance, 'sql' | 'sqlCredentials'> {
  const sqlCredentials = new SqlCredentials({ table: sqlCredentialTable(store), pages, now });
  const worlds = new SqlWorlds({
    catalog,
    dataFolder: config.dataFolder,
    releaseFolder: (slug, releaseId) => releaseDirectory(config.indexesFolder, slug, releaseId),
    storeVersion: () => store.commitNumber(),
    releaseIds: () => releases.databases().flatMap(({ slug }) => releases.releases(slug).map(({ id }) => id)),
  });
  const limits = { memoryBytes: config.sqlMemoryBytes, threads: config.sqlThreads };
  const sql = new Sql({
    credentials: sqlCredentials,
    worlds,
    engines: new SqlEngines(worlds, limits),
    timeoutMs: config.sqlTimeoutMs,
  });
  return { sql, sqlCredentials };
}

/** What serves each operation: the one list that joins contract and services. */
export function handlersOf({
  budgets,
  catalog,
  homology,
  metering,
  msas,
  pages,
  pricing,
  receipts,
  refs,
  runs,
  sql,
  sqlCredentials,
  storage,
  targetSpaces,
  webhooks,
}: Appliance): Handlers {
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
    'models.pricing.estimate': async ({ body }, context) => pricing.estimate(body, context),
    'refs.resolve': ({ body }, context) => refs.resolve(body, context),
    'receipts.get': async ({ params }, context) => receipts.get(params.receipt_id, context),
    'runs.create': async ({ body, headers }, context) => {
      budgets.requireFunds(context.organizationId);
      return runs.create(body, headers, context);
    },
    'runs.list': async ({ query }, context) => runs.list(query, context),
    'runs.get': ({ params, headers }, context) => runs.get(params.run_id, headers, context),
    'runs.cancel': ({ params }, context) => runs.cancel(params.run_id, context),
    'runs.results.list': ({ params, query }, context) => runs.results(params.run_id, query, context),
    'runs.events.stream': async ({ params, headers }, context) =>
      runs.events(params.run_id, headers['Last-Event-ID'], context),
    ...msaHandlers(msas),
    ...storageHandlers(storage),
    ...sqlHandlers(sql, sqlCredentials),
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

function msaHandlers(msas: Msas): Handlers {
  return {
    'sequences.msa.components.create': ({ body }, context) => msas.place(body, context),
    'sequences.msa.a3m.create': ({ body }, context) => msas.build(body, context),
    'sequences.msa.a3m.get': async ({ params, headers }, context) =>
      msas.read(params.a3m_object_id, headers, context),
  };
}

function storageHandlers({ uploads, files }: Storage): Handlers {
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

function sqlHandlers(sql: Sql, credentials: SqlCredentials): Handlers {
  return {
    'sql_credentials.create': ({ body }, context) => credentials.create(body, context),
    'sql_credentials.list': async ({ query }, context) => credentials.list(query, context),
    'sql_credentials.rotate': ({ params }, context) => credentials.rotate(params.credential_id, context),
    'sql_credentials.revoke': ({ params }, context) => credentials.revoke(params.credential_id, context),
    'sql.query': ({ body, mediaType }, context) => sql.query(body, mediaType, context),
  };
}

/** The contract's version and the commit that was checked out; a package without history says so. */
function buildVersion(packageFolder: string): string {
  try {
    const commit = execFileSync('git', ['rev-parse', '--short=12', 'HEAD'], {
      cwd: packageFolder,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return `${CONTRACT_VERSION}+${commit.trim()}`;
  } catch {
    return `${CONTRACT_VERSION}+unversioned`;
  }
}
