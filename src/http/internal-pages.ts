import { ErrorDetail, HomologyFailure, Problem } from '../contract/failures.js';
import { FailureEnvelope } from '../contract/envelope.js';
import { namedSchemas } from '../contract/references.js';
import { Refusal } from '../errors.js';
import { docsPage } from './docs-page.js';
import type { Shell, ShellContext } from './shell.js';

/** A page for operators and tools: not part of the contract, and without key. */
export interface InternalPage {
  readonly name: string;
  readonly path: string;
  readonly serve: (context: ShellContext) => Promise<void>;
}

export function internalPages(shell: Shell): readonly InternalPage[] {
  const docs = once(() => docsPage(shell.routes, shell.contractDigest));
  const openApi = once(() => JSON.stringify({ ...shell.openApi, servers: [{ url: shell.baseUrl() }] }));
  return [
    page('internal.healthz', '/healthz', (context) => sendJson(context, { status: 'ok' })),
    page('internal.readyz', '/readyz', (context) => sendReadiness(shell, context)),
    page('internal.metrics', '/metrics', async (context) => {
      context.set('Content-Type', shell.metrics.registry.contentType);
      context.body = await shell.metrics.registry.metrics();
    }),
    page('internal.openapi', '/openapi.json', (context) => {
      context.set('Content-Type', 'application/json');
      context.body = openApi();
    }),
    page('internal.schemas', '/schemas/{file}', schemaServer(shell)),
    page('internal.docs', '/docs', (context) => {
      context.set('Content-Type', 'text/html; charset=utf-8');
      context.set('Content-Security-Policy', "default-src 'none'; style-src 'unsafe-inline'");
      context.body = docs();
    }),
  ];
}

/** Made at the first request, when the server's address is known, and kept. */
function once(make: () => string): () => string {
  let made: string | undefined;
  return () => (made ??= make());
}

function page(
  name: string,
  path: string,
  serve: (context: ShellContext) => void | Promise<void>,
): InternalPage {
  return { name, path, serve: async (context) => serve(context) };
}

/** Readiness turns before a shutdown begins, so that nobody new is sent here. */
function sendReadiness(shell: Shell, context: ShellContext): void {
  const { isReady, missing } = shell.readiness();
  const all = shell.isDraining() ? ['the server is stopping', ...missing] : missing;
  const ready = isReady && !shell.isDraining();
  sendJson(context, { status: ready ? 'ready' : 'not_ready', missing: all });
  if (!ready) context.status = 503;
}

/** `/schemas/<Name>.json`: each schema on its own, with references to its neighbours. */
function schemaServer(shell: Shell): (context: ShellContext) => void {
  const roots = shell.routes.flatMap((route) => [route.success.schema, ...(route.body ? [route.body] : [])]);
  const schemas = namedSchemas(
    [...roots, ErrorDetail, FailureEnvelope, HomologyFailure, Problem],
    (name) => `${name}.json`,
  );
  return (context) => {
    const file = context.state.params.file ?? '';
    const schema = schemas.get(file.replace(/\.json$/, ''));
    if (schema === undefined || !file.endsWith('.json')) {
      throw new Refusal('route_not_found', `No schema has the name ${JSON.stringify(file.slice(0, 128))}.`);
    }
    sendJson(context, {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      $id: `${shell.baseUrl()}/schemas/${file}`,
      ...schema,
    });
    context.set('Content-Type', 'application/schema+json');
  };
}

function sendJson(context: ShellContext, value: unknown): void {
  context.status = 200;
  context.set('Content-Type', 'application/json');
  context.body = JSON.stringify(value);
}
