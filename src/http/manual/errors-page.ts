import { CONTRACT_PIN, CONTRACT_VERSION } from '../../contract/grammar/headers.js';
import { REFUSALS } from '../../contract/grammar/refusals.js';
import { escapeHtml, type FramedPage } from './frame.js';

/** A page with every error code, under the anchor that `doc_url` points to. */
export function errorsPage(): FramedPage {
  const entries = Object.entries(REFUSALS).map(
    ([code, { status, type, isRetryable, meaning }]) =>
      `<dt id="${code}"><code>${code}</code>: ${status}, <code>${type}</code>` +
      `${isRetryable ? ', may succeed later' : ''}</dt><dd>${markCode(meaning)}</dd>`,
  );
  const html = [
    `<h1>Error codes</h1><p>Gloaming ${CONTRACT_VERSION}, contract of ${CONTRACT_PIN}.`,
    '<a href="api">All operations</a>.</p>',
    `<dl class="errors">${entries.join('\n')}</dl>`,
  ].join('\n');
  return { name: 'errors', title: 'Error codes', html, headings: [] };
}

/** Text of the contract as HTML, with backquoted text as code. */
function markCode(text: string): string {
  return escapeHtml(text).replace(/`([^`]+)`/g, '<code>$1</code>');
}
