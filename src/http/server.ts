import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { publicRoutes } from '../contract/document/manifest.js';
import { contractDigest, openApiDocument } from '../contract/document/openapi.js';
import { createValidators } from '../contract/document/validation.js';
import { Refusal } from '../errors.js';
import { createAdmission } from './admission/admission.js';
import { createApp } from './app.js';
import { answerBrokenRequests } from './broken-requests.js';
import { withoutBase } from './target.js';
import { watchExchanges, type Exchanges } from './exchanges.js';
import { createListener, TIMEOUTS } from './listener.js';
import type { Shell, ShellOptions } from './shell.js';

const DRAIN_CHECK_INTERVAL_MS = 20;

export interface HttpServer {
  /** The server, before it listens. */
  readonly server: Server;
  readonly shell: Shell;
  /**
   * Turns readiness off, accepts no new connection, waits for requests in progress within the grace, then ends them. A
   * second call waits for the first.
   */
  readonly stop: (graceMs: number) => Promise<void>;
}

/**
 * The HTTP shell around the handlers.
 * Errors  an assertion when the manifest lists an unknown route; Fault when the TLS files cannot be used
 */
export function createServer(options: ShellOptions): HttpServer {
  let isDraining = false;
  const stopping = new AbortController();
  const shell = prepareShell(options, stopping.signal, () => isDraining);
  options.metrics.watch('gloaming_executions', 'Executions that run and that wait.', ['state'], () =>
    Object.entries(shell.admission.executions.counts()).map(([state, value]) => ({
      labels: { state },
      value,
    })),
  );
  const server = createListener(options.timeouts ?? TIMEOUTS, options.tls, options.log);
  const exchanges = watchExchanges(server);
  const { app, router } = createApp(shell);
  const serve = app.callback();
  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    request.url = withoutBase(request.url ?? '/', shell.basePath);
    void serve(request, response);
  };
  server.on('request', listener);
  server.on('checkContinue', listener);
  server.on('checkExpectation', listener);
  answerBrokenRequests(server, exchanges, shell, router);

  let stopped: Promise<void> | undefined;
  return {
    server,
    shell,
    stop(graceMs) {
      isDraining = true;
      stopped ??= drain(server, stopping, exchanges, graceMs);
      return stopped;
    },
  };
}

function prepareShell(options: ShellOptions, stopping: AbortSignal, isDraining: () => boolean): Shell {
  const routes = publicRoutes(options.manifest);
  // The address is known after the server listens. The digest does not depend on it.
  const openApi = openApiDocument(routes, '/');
  return Object.freeze({
    ...options,
    basePath: options.basePath ?? '',
    routes,
    validators: createValidators(routes),
    openApi,
    contractDigest: contractDigest(openApi),
    admission: createAdmission(options.limits, options.clock.nowMs),
    stopping,
    isDraining,
  });
}

async function drain(
  server: Server,
  stopping: AbortController,
  exchanges: Exchanges,
  graceMs: number,
): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  const deadline = performance.now() + graceMs;
  while (exchanges.count() > 0 && performance.now() < deadline) await pause(DRAIN_CHECK_INTERVAL_MS);
  stopping.abort(
    new Refusal('server_stopping', 'The server is stopping. Ask again in a moment.', {
      retryAfterSeconds: 5,
    }),
  );
  // Requests that were just ended send their refusal before the connections close.
  const last = performance.now() + Math.min(1_000, graceMs);
  while (exchanges.count() > 0 && performance.now() < last) await pause(DRAIN_CHECK_INTERVAL_MS);
  exchanges.cut();
  await closed;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
