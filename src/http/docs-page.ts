import { FailureEnvelope } from '../contract/envelope.js';
import { HomologyFailure, Problem } from '../contract/failures.js';
import { CONTRACT_PIN, CONTRACT_VERSION } from '../contract/headers.js';
import { REFUSALS } from '../contract/refusals.js';
import type { Route } from '../contract/route.js';
import { headerSchemas, refusalsOf } from '../contract/routes.js';
import { memberTable, schemaSections } from './docs-schemas.js';
import { escapeHtml, markCode } from './docs-text.js';

const STYLE =
  'body{font:16px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem}' +
  'code{font-family:ui-monospace,monospace;overflow-wrap:anywhere}table{border-collapse:collapse;margin:.5rem 0}' +
  'td,th{border:1px solid #bbb;padding:.25rem .6rem;text-align:left;vertical-align:top}:target{background:#fff3b0}' +
  'td ul{margin:0;padding-left:1.2rem}';

/** The contract for a person: operations, schemas, and every error code under the anchor that `doc_url` names. */
export function docsPage(routes: readonly Route[], contractDigest: string): string {
  const roots = routes.flatMap((route) => [...(route.body ? [route.body] : []), route.success.schema]);
  return [
    `<!doctype html><html lang="en"><meta charset="utf-8"><title>Gloaming ${CONTRACT_VERSION}</title>`,
    `<style>${STYLE}</style><h1>Gloaming ${CONTRACT_VERSION}</h1>`,
    `<p>Contract of ${CONTRACT_PIN}, digest <code>${contractDigest}</code>. The whole of it for machines: `,
    '<a href="/openapi.json">openapi.json</a>.</p>',
    '<p><a href="#operations">Operations</a> · <a href="#codes">Error codes</a> · <a href="#schemas">Schemas</a></p>',
    '<h2 id="operations">Operations</h2>',
    ...routes.map(operation),
    '<h2 id="codes">Error codes</h2>',
    codeTable(),
    '<h2 id="schemas">Schemas</h2>',
    schemaSections([...roots, FailureEnvelope, HomologyFailure, Problem]),
    '</html>',
  ].join('\n');
}

function codeTable(): string {
  const rows = Object.entries(REFUSALS).map(
    ([code, { status, type, isRetryable, meaning }]) =>
      `<tr id="${code}"><td><code>${code}</code><td>${status}<td>${type}` +
      `<td>${isRetryable ? 'yes' : 'no'}<td>${markCode(meaning)}</tr>`,
  );
  return `<table><tr><th>Code<th>Status<th>Type<th>Retryable<th>Meaning</tr>${rows.join('\n')}</table>`;
}

function operation(route: Route): string {
  const codes = refusalsOf(route).map((code) => `<a href="#${code}"><code>${code}</code></a>`);
  const linked = (name: string | undefined): string =>
    name === undefined ? 'none' : `<a href="#schema-${name}"><code>${name}</code></a>`;
  return [
    `<h3 id="${route.operationId}">${escapeHtml(route.summary)}</h3>`,
    `<p><code>${route.method} ${escapeHtml(route.path)}</code> (<code>${route.operationId}</code>)</p>`,
    `<p>${markCode(route.description)}</p>`,
    ...[route.params, route.query].flatMap((schema) => (schema === undefined ? [] : [memberTable(schema)])),
    memberTable({ type: 'object', properties: headerSchemas(route) }),
    `<p>Body: ${linked(route.body?.$id)}. Answer: ${route.success.status} ${linked(route.success.schema.$id)}.</p>`,
    `<p>Refusals: ${codes.join(', ')}.</p>`,
  ].join('\n');
}
