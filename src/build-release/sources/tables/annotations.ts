import { optionalFields } from '../protein-source.js';
import type { AttributeTable } from './attribute-table.js';
import { createKeyedRows, type KeyedRows } from './keyed-rows.js';
import { tableLines, type TableLine } from './table-lines.js';

const COLUMNS = 9;
const TEXT_MAX_CHARACTERS = 4_096;
const FIELDS = optionalFields([
  { name: 'product', type: 'string' },
  { name: 'gene', type: 'string' },
  { name: 'locus_tag', type: 'string' },
  { name: 'contig', type: 'string' },
  { name: 'start', type: 'integer' },
  { name: 'end', type: 'integer' },
  { name: 'strand', type: 'string' },
]);

/**
 * Reads coding sequences from GFF3 files of Prokka, Bakta or NCBI. A protein's id matches the ID, the locus_tag or the
 * protein_id of its coding sequence. A coding sequence of several parts extends from the first part to the last. Of
 * several coding sequences with one id the first counts. Reading stops at `##FASTA` or `>`, where nucleotides follow.
 * Unit    start and end are one-based and inclusive; an end beyond a circular contig continues at its start
 * Errors  Refusal `file_not_found`; Refusal `invalid_metadata` with file and line; errors of the file system
 * Source  https://github.com/The-Sequence-Ontology/Specifications/blob/master/gff3.md
 */
export async function readAnnotations(
  paths: readonly string[],
  scratchPath: string,
): Promise<AttributeTable> {
  const rows = createKeyedRows(scratchPath);
  for (const path of paths) {
    let isFirst = true;
    for await (const line of tableLines(path)) {
      if (isFirst && !/^(##gff-version\s+3|[^\t]*\t)/.test(line.text)) {
        throw line.refuse('GFF3 begins with "##gff-version 3"');
      }
      isFirst = false;
      if (/^(##FASTA|>)/.test(line.text)) break;
      if (!line.text.startsWith('#')) addFeature(line, rows);
    }
  }
  let proteins = 0;
  return {
    name: 'annotation',
    fields: FIELDS,
    find(id) {
      const all = rows.find(id);
      const [first] = all;
      if (first === undefined) return undefined;
      proteins += 1;
      const [feature, contig, , , strand, product, gene, locusTag] = first;
      const parts = all.filter(([owner, place]) => owner === feature && place === contig);
      const texts = { product, gene, locus_tag: locusTag, contig, strand };
      return {
        ...Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== '')),
        start: parts.reduce((least, [, , start]) => Math.min(least, Number(start)), Number.POSITIVE_INFINITY),
        end: parts.reduce((most, [, , , end]) => Math.max(most, Number(end)), 0),
      };
    },
    notes: () => [`Proteins with an annotation: ${proteins}.`],
    close: () => rows.close(),
  };
}

/** Returns a coding sequence under each of its names; nothing for other features. */
function addFeature({ text, refuse }: TableLine, rows: KeyedRows): void {
  const cells = text.split('\t', COLUMNS + 1);
  if (cells.length !== COLUMNS) throw refuse(`GFF3 has ${COLUMNS} columns separated by tabs`);
  const [contig, , type, start, end, , strand, , attributes] = cells;
  if (type !== 'CDS') return;
  const [first, last] = [start, end].map((cell) => (/^\d{1,10}$/.test(cell) ? Number(cell) : Number.NaN));
  if (!(first >= 1 && first <= last)) throw refuse('a start and an end that is not before it are expected');
  const named = attributesIn(attributes);
  const valueOf = (name: string): string => named.get(name) ?? '';
  const id = valueOf('ID');
  const row = [
    id,
    unescape(contig),
    String(first),
    String(last),
    strand === '+' || strand === '-' ? strand : '',
    valueOf('product'),
    valueOf('gene'),
    valueOf('locus_tag'),
  ];
  const keys = new Set([id, id.replace(/^cds-/, ''), valueOf('locus_tag'), valueOf('protein_id')]);
  for (const key of keys) if (key !== '') rows.add(key, row);
}

/**
 * Parses attributes such as `ID=x;product=a%3B b`. Commas are not separators, because names often have unescaped
 * commas.
 */
function attributesIn(text: string): ReadonlyMap<string, string> {
  return new Map(
    text.split(';').flatMap((pair) => {
      const at = pair.indexOf('=');
      return at <= 0 ? [] : [[pair.slice(0, at).trim(), unescape(pair.slice(at + 1))] as const];
    }),
  );
}

/** Decodes the percent-encoded UTF-8 bytes of GFF3, and replaces control characters by blanks. */
function unescape(text: string): string {
  return text
    .slice(0, TEXT_MAX_CHARACTERS)
    .replace(/(%[0-9A-Fa-f]{2})+/g, (bytes) => Buffer.from(bytes.replaceAll('%', ''), 'hex').toString())
    .replace(/\p{Cc}/gu, ' ')
    .trim();
}
