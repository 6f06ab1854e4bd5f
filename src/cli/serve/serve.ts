import { readFileSync } from 'node:fs';
import type { AddressInfo, Server } from 'node:net';
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { Appliance } from '../../appliance.js';
import type { ApplianceConfig } from '../../config.js';
import type { PublicRouteManifest } from '../../contract/document/manifest.js';
import type { AdmissionLimits } from '../../http/admission/admission.js';
import { handlersOf } from '../../http/handlers.js';
import { createMetrics, type Metrics } from '../../http/pages/metrics.js';
import { createServer, type HttpServer } from '../../http/server.js';
import type { ColabfoldDoor, Readiness, Shell } from '../../http/shell.js';
import { servePostgres, type PostgresServer } from '../../postgres/server.js';
import { gpusOf, type Gpus } from '../../services/gpus.js';
import { recordMaintenance } from '../../services/backup/maintenance.js';
import { IdempotencyTable } from '../../store/tables/idempotency.js';
import { listenError } from './address.js';
import { warnOfCertificate } from './certificate.js';
import { watchAppliance } from './metrics.js';
import { behindProxies } from './proxies.js';
import { sqlListeners } from './sql.js';

/** A listening server. */
export interface RunningServer {
  readonly url: string;
  /** Port of the PostgreSQL protocol, if it is served. */
  readonly postgresPort?: number;
  /** Finishes requests in progress within the grace, then closes. */
  stop(graceMs: number): Promise<void>;
}

export interface ServeOptions {
  /** Validates every response against its schema before it is sent. A mismatch is an internal error. For tests. */
  readonly isResponseChecked?: boolean;
}

/**
 * Serves an appliance over HTTP on the configured address.
 * Errors  Refusal `address_unavailable`
 */
export async function serve(
  appliance: Appliance,
  log: Logger,
  { isResponseChecked = false }: ServeOptions = {},
): Promise<RunningServer> {
  const { config, store } = appliance;
  const manifestPath = join(config.packageFolder, 'config', 'public-routes.json');
  let url = '';
  const metrics = watchAppliance(createMetrics(), appliance);
  const gpus = gpusOf(appliance.backend);
  if (gpus !== undefined) logGpus(gpus, log);
  const { server, shell, stop } = createServer({
    handlers: handlersOf(appliance),
    manifest: JSON.parse(readFileSync(manifestPath, 'utf8')) as PublicRouteManifest,
    ...authenticatorsOf(appliance),
    console: appliance.console,
    readiness: () => readinessOf(appliance),
    sharedOrigins: config.corsOrigins,
    colabfold: doorOf(appliance),
    partitionResults: appliance.partitionResults,
    pythonClientFolder: join(config.packageFolder, 'src', 'clients', 'python'),
    idempotency: new IdempotencyTable(store),
    limits: limitsOf(config),
    clock: { nowMs: () => performance.now(), now: () => new Date() },
    log,
    metrics,
    serverVersion: appliance.serverVersion,
    workerId: appliance.servedFrom,
    baseUrl: () => config.publicUrl ?? url,
    ...behindProxies(config),
    tls: config.tls,
    isResponseChecked,
  });
  if (config.tls !== undefined) warnOfCertificate(config.tls, log);
  url = await listen(server, config);
  const stopAll = stopperOf(appliance, stop);
  const begin = async () => {
    noteContract(config, shell);
    await startWork(appliance, log, metrics);
    return startPostgres(appliance, log, metrics);
  };
  const postgres = await begin().catch(async (error: unknown) => {
    await stopAll(0);
    throw error;
  });
  return {
    url,
    ...(postgres !== undefined && { postgresPort: postgres.port }),
    async stop(graceMs) {
      await postgres?.stop();
      await stopAll(graceMs);
    },
  };
}

/** Stops the background work of the appliance, then the server. */
function stopperOf(
  { runs, releaseWatch, webhooks, storage }: Appliance,
  stopServer: HttpServer['stop'],
): (graceMs: number) => Promise<void> {
  return async (graceMs) => {
    // Runs stop first, so that no waiting client delays the shutdown.
    await runs.stop();
    await releaseWatch.stop();
    await webhooks.stop();
    await stopServer(graceMs);
    await storage.stop();
  };
}

function authenticatorsOf({
  keys,
  storage,
  sqlCredentials,
}: Appliance): Pick<Shell, 'authenticate' | 'authenticateUrl' | 'authenticateSql'> {
  return {
    authenticate: (apiKey) => keys.authenticate(apiKey),
    authenticateUrl: (request) => storage.authenticateUrl(request),
    async authenticateSql(username, password) {
      const { credentialId, organizationId } = await sqlCredentials.logIn(username, password);
      return { keyId: credentialId, organizationId };
    },
  };
}

function doorOf({
  config: { colabfold: settings },
  colabfold: tickets,
}: Appliance): ColabfoldDoor | undefined {
  return settings && tickets && { settings, tickets };
}

/** Records the contract digest, which `gloaming upgrade --check` of a later version compares with its own. */
function noteContract({ dataFolder }: ApplianceConfig, { contractDigest: outcome }: Shell): void {
  recordMaintenance(dataFolder, 'contract', { at: new Date().toISOString(), outcome });
}

/** Readiness of the background work. */
function readinessOf({ store, releases, releaseWatch }: Appliance): Readiness {
  const problem = store.problem();
  const obstacles = [
    ...(releases.databases().length === 0 ? ['no database has been built'] : []),
    ...(problem === undefined ? [] : [problem]),
  ];
  return { isReady: obstacles.length === 0, missing: [...obstacles, ...releaseWatch.problems()] };
}

async function startWork(appliance: Appliance, log: Logger, metrics: Metrics): Promise<void> {
  await appliance.storage.start((error) =>
    log.error({ err: error }, 'Stored files could not be cleaned up.'),
  );
  await appliance.runs.start(
    (error, runId) => {
      if (runId === undefined) log.error({ err: error }, 'Runs that have expired could not be removed.');
      else log.error({ err: error, run_id: runId }, 'A run failed by our fault.');
    },
    (cause, runId) =>
      log.warn({ err: cause, run_id: runId }, 'A run waits for a disk or a worker, and goes on by itself.'),
  );
  appliance.workers?.watch(({ worker, partition: part, cause }) =>
    log.warn({ err: cause, worker, part }, 'A worker has not answered for its part.'),
  );
  await appliance.sql.start(sqlListeners(log, metrics));
  appliance.releaseWatch.start((problem, releaseId, isServed) => {
    const state = isServed ? 'Another copy of it is served.' : 'It is out of service.';
    log.error({ release_id: releaseId, problem }, `The files of a release have changed. ${state}`);
  });
  appliance.webhooks.start((error) => log.error({ err: error }, 'A webhook could not be recorded.'));
}

/** Logs GPUs that do not serve, and later the failures of those that do. */
export function logGpus(gpus: Gpus, log: Pick<Logger, 'warn' | 'error'>): void {
  const report = gpus.report();
  for (const reason of report.obstacle === undefined ? report.unused : []) {
    log.warn({ reason }, 'A GPU of this machine is not used.');
  }
  gpus.watchRetries(({ servedBy, cause }) =>
    log.error({ err: cause, served_by: servedBy }, 'A GPU failed, and the CPU does its work.'),
  );
}

function limitsOf(config: ApplianceConfig): AdmissionLimits {
  return {
    requestQuota: config.requestsPerMinute,
    requestWindowSeconds: 60,
    concurrentExecutions: config.concurrentSearches,
    queuedExecutions: config.queuedSearches,
    executionsPerKey: config.searchesPerKey,
  };
}

/** @returns the address at which clients reach the server */
async function listen(server: Server, { host, port: requestedPort, tls }: ApplianceConfig): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) => reject(listenError(cause, host, requestedPort, 'GLOAMING_PORT')));
    server.listen(requestedPort, host, resolve);
  });
  const { address, family, port } = server.address() as AddressInfo;
  const name = family === 'IPv6' ? `[${address}]` : address;
  return `${tls === undefined ? 'http' : 'https'}://${name}:${port}`;
}

async function startPostgres(
  { config, sql, sqlCredentials: credentials, serverVersion }: Appliance,
  log: Logger,
  metrics: Metrics,
): Promise<PostgresServer | undefined> {
  const { host, postgresPort: port, tls } = config;
  if (port === undefined) return undefined;
  const onFault = (error: unknown): void =>
    log.error({ err: error }, 'A PostgreSQL session failed by our fault.');
  const options = { host, port, sql, credentials, serverVersion, onFault, ...(tls && { tls }) };
  const server = await servePostgres(options).catch((cause: unknown) => {
    throw listenError(cause, host, port, 'GLOAMING_POSTGRES_PORT');
  });
  metrics.watch('gloaming_postgres_sessions', 'Sessions of the PostgreSQL protocol.', [], () => [
    { value: server.sessionCount() },
  ]);
  log.info({ port: server.port, is_tls: tls !== undefined }, 'SQL is served by the PostgreSQL protocol.');
  return server;
}
