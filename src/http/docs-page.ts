import { CONTRACT_PIN, CONTRACT_VERSION } from '../contract/headers.js';
import { REFUSALS } from '../contract/refusals.js';
import type { Route } from '../contract/route.js';
import { refusalsOf } from '../contract/routes.js';

const STYLE =
  'body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}' +
  'code{font-family:ui-monospace,monospace}table{border-collapse:collapse}' +
  'td,th{border:1px solid #bbb;padding:.25rem .6rem;text-align:left;vertical-align:top}:target{background:#fff3b0}';

/** The contract for a person: operations, and every error code under the anchor that `doc_url` names. */
export function docsPage(routes: readonly Route[], contractDigest: string): string {
  return [
    `<!doctype html><html lang="en"><meta charset="utf-8"><title>Gloaming ${CONTRACT_VERSION}</title>`,
    `<style>${STYLE}</style><h1>Gloaming ${CONTRACT_VERSION}</h1>`,
    `<p>Contract of ${CONTRACT_PIN}, digest <code>${contractDigest}</code>. The whole of it for machines: `,
    '<a href="/openapi.json">openapi.json</a>.</p><h2>Operations</h2>',
    ...routes.map(operation),
    '<h2>Error codes</h2><table><tr><th>Code<th>Status<th>Type<th>Retryable<th>Meaning</tr>',
    ...Object.entries(REFUSALS).map(
      ([code, { status, type, isRetryable, meaning }]) =>
        `<tr id="${code}"><td><code>${code}</code><td>${status}<td>${type}` +
        `<td>${isRetryable ? 'yes' : 'no'}<td>${marked(meaning)}</tr>`,
    ),
    '</table></html>',
  ].join('\n');
}

function operation(route: Route): string {
  const codes = refusalsOf(route).map((code) => `<a href="#${code}"><code>${code}</code></a>`);
  const schemas = [route.body, route.success.schema].flatMap((schema) => schema?.$id ?? []);
  return [
    `<h3 id="${route.operationId}">${escape(route.summary)}</h3>`,
    `<p><code>${route.method} ${escape(route.path)}</code> (<code>${route.operationId}</code>)</p>`,
    `<p>${marked(route.description)}</p>`,
    `<p>Schemas: ${schemas.map((name) => `<a href="/schemas/${name}.json">${name}</a>`).join(', ')}.</p>`,
    `<p>Refusals: ${codes.join(', ')}.</p>`,
  ].join('\n');
}

/** Backquotes of the contract's texts as code. */
function marked(text: string): string {
  return escape(text).replace(/`([^`]+)`/g, '<code>$1</code>');
}

function escape(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
