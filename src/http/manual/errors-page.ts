import { CONTRACT_PIN, CONTRACT_VERSION } from '../../contract/grammar/headers.js';
import { REFUSALS } from '../../contract/grammar/refusals.js';

const STYLE =
  'body{font:16px/1.5 system-ui,sans-serif;max-width:50rem;margin:2rem auto;padding:0 1rem}' +
  'code{font-family:ui-monospace,monospace;overflow-wrap:anywhere}dt{margin-top:1rem}dt code{font-weight:bold}' +
  'dd{margin:0}:target{background:#fff3b0}';

/** No script, and nothing from another server. */
export const ERRORS_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'";

/** A page with every error code, under the anchor that `doc_url` points to. */
export function errorsPage(): string {
  const entries = Object.entries(REFUSALS).map(
    ([code, { status, type, isRetryable, meaning }]) =>
      `<dt id="${code}"><code>${code}</code>: ${status}, <code>${type}</code>` +
      `${isRetryable ? ', may succeed later' : ''}<dd>${markCode(meaning)}`,
  );
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<title>Gloaming ${CONTRACT_VERSION}: error codes</title><style>${STYLE}</style></head>`,
    `<body><h1>Error codes</h1><p>Contract of ${CONTRACT_PIN}. <a href="../docs">All operations</a>.</p>`,
    `<dl>${entries.join('\n')}</dl></body></html>`,
  ].join('\n');
}

/** Text of the contract as HTML, with backquoted text as code. */
function markCode(text: string): string {
  const html = text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
  return html.replace(/`([^`]+)`/g, '<code>$1</code>');
}
