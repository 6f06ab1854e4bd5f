import type { Column } from './columns.js';
import { alignedColumns } from './alignment-lines.js';
import type { Hit } from './hits.js';

/** Writes the hits in formats that other tools read. */

export function fastaText(hits: readonly Hit[]): string {
  return hits
    .map(({ id, description, organism, sequence }) => {
      const words = [id, description, organism === '' ? '' : `OS=${organism}`].filter(Boolean).join(' ');
      return `>${oneLine(words)}\n${sequence.replace(/.{1,60}/g, '$&\n')}`;
    })
    .join('');
}

/** Writes A3M. Each row is over the query: upper case aligned, lower case inserted, `-` for a gap. */
export function a3mText(
  query: { readonly id: string; readonly sequence: string },
  hits: readonly Hit[],
): string {
  const rows = hits.flatMap((hit) => {
    if (hit.alignment === undefined) return [];
    const { query_start: start, query_end: end } = hit.alignment;
    const aligned = alignedColumns(query.sequence, hit)
      .map(({ query: letter, target }) => (letter === '-' ? target.toLowerCase() : target))
      .join('');
    const row = '-'.repeat(start) + aligned + '-'.repeat(query.sequence.length - end);
    return [`>${oneLine(`${hit.id} ${hit.description}`)}\n${row}\n`];
  });
  return `>${oneLine(query.id)}\n${query.sequence}\n${rows.join('')}`;
}

/**
 * Writes a table.
 * @param separator tab or comma; with a comma, fields are quoted by RFC 4180
 */
export function tableText(hits: readonly Hit[], columns: readonly Column[], separator: '\t' | ','): string {
  const field = (text: string): string => {
    if (separator === '\t') return oneLine(text.replaceAll('\t', ' '));
    // A spreadsheet evaluates a text with one of these first characters as a formula.
    const safe = /^[=+\-@]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text;
    return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  const extra = columns.some(({ id }) => id === 'target');
  const head = [
    ...columns.map(({ title, id }) => (id === 'rank' ? 'rank' : title.toLowerCase())),
    ...(extra ? ['description'] : []),
  ];
  const rows = hits.map((hit) => [
    ...columns.map(({ text, isNumber }) => field(isNumber ? text(hit).replaceAll(/,|\s%/g, '') : text(hit))),
    ...(extra ? [field(hit.description)] : []),
  ]);
  return [head, ...rows].map((cells) => `${cells.join(separator)}\n`).join('');
}

function oneLine(text: string): string {
  return text.replaceAll(/[\r\n]+/g, ' ');
}
