import { ErrorDetail, HomologyFailure, Problem } from '../../contract/grammar/failures.js';
import { FailureEnvelope } from '../../contract/grammar/envelope.js';
import { asPublished } from '../../contract/document/openapi.js';
import { namedSchemas } from '../../contract/document/references.js';
import { Refusal } from '../../errors.js';
import { colabfoldPages } from './colabfold.js';
import { DOCS_FILES_PATH, docsFile, docsPage, docsPolicy } from './docs-page.js';
import { pythonClientPages } from './python-client.js';
import { partialResultPages } from './partial-results.js';
import { consolePages } from '../console/api.js';
import { manualPages } from '../manual/manual-pages.js';
import { page, sendHtml, sendJson, type InternalPage } from '../internal-page.js';
import type { Shell, ShellContext } from '../shell.js';

export function internalPages(shell: Shell): readonly InternalPage[] {
  const openApi = once(() => JSON.stringify({ ...shell.openApi, servers: [{ url: shell.baseUrl() }] }));
  return [
    // Monitors ask for either name.
    page('internal.healthz', '/healthz', (context) => sendJson(context, { status: 'ok' })),
    page('internal.health', '/health', (context) => sendJson(context, { status: 'ok' })),
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
    page('internal.docs_api', '/docs/api', (context) =>
      sendHtml(context, docsPage(), docsPolicy(new URL(shell.baseUrl()).origin)),
    ),
    page('internal.docs_api_files', DOCS_FILES_PATH, sendDocsFile),
    ...manualPages(shell),
    ...colabfoldPages(shell),
    ...pythonClientPages(shell),
    ...partialResultPages(shell),
    ...consolePages(shell),
  ];
}

/** Makes the text at the first request, when the server's address is known, and caches it. */
function once(make: () => string): () => string {
  let text: string | undefined;
  return () => (text ??= make());
}

/** Readiness turns negative before a shutdown begins, so that load balancers send no new client. */
function sendReadiness(shell: Shell, context: ShellContext): void {
  const { isReady, missing } = shell.readiness();
  const all = shell.isDraining() ? ['the server is stopping', ...missing] : missing;
  const ready = isReady && !shell.isDraining();
  sendJson(context, { status: ready ? 'ready' : 'not_ready', missing: all });
  if (!ready) context.status = 503;
}

/** `/schemas/<Name>.json`: each schema alone, with references to its neighbours. */
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
      ...(asPublished(schema) as object),
    });
    context.set('Content-Type', 'application/schema+json');
  };
}

async function sendDocsFile(context: ShellContext): Promise<void> {
  const name = context.state.params.file ?? '';
  const file = await docsFile(name);
  if (file === undefined) {
    throw new Refusal(
      'route_not_found',
      `The documentation has no file ${JSON.stringify(name.slice(0, 128))}.`,
    );
  }
  context.set({
    'Content-Type': file.contentType,
    'Cache-Control': 'public, max-age=31536000, immutable',
    'X-Content-Type-Options': 'nosniff',
  });
  context.body = file.bytes;
}
