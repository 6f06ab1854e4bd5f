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
 * What GFF3 files of Prokka, Bakta or NCBI tell of coding sequences, by protein: the id of a protein is the ID, the
 * locus_tag or the protein_id of its coding sequence. One in several parts lies from the first to the last; of several
 * with one id the first counts. The nucleotides that may follow `##FASTA`, or the first `>` without it, are not read.
 * Unit    start and end from 1, both inclusive; an end past its contig's goes on at the start of a circular one
 * Errors  Refusal `invalid_metadata` with file and line
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

/** A coding sequence under each of its names; other features are left out. */
function addFeature({ text, refuse }: TableLine, rows: KeyedRows): void {
  const cells = text.split('\t', COLUMNS + 1);
  if (cells.length !== COLUMNS) throw refuse(`${COLUMNS} columns separated by tabs are expected, as in GFF3`);
  const [contig, , type, start, end, , strand, , attributes] = cells;
  if (type !== 'CDS') return;
  const [first, last] = [start, end].map((cell) => (/^\d{1,10}$/.test(cell) ? Number(cell) : Number.NaN));
  if (!(first >= 1 && first <= last)) throw refuse('a start and an end that is not before it are expected');
  const named = attributesIn(attributes);
  const tell = (name: string): string => named.get(name) ?? '';
  const id = tell('ID');
  const row = [
    id,
    unescape(contig),
    String(first),
    String(last),
    strand === '+' || strand === '-' ? strand : '',
    tell('product'),
    tell('gene'),
    tell('locus_tag'),
  ];
  const keys = new Set([id, id.replace(/^cds-/, ''), tell('locus_tag'), tell('protein_id')]);
  for (const key of keys) if (key !== '') rows.add(key, row);
}

/** `ID=x;product=a%3B b`; a comma that stands between values is left, as names have commas that nobody escaped. */
function attributesIn(text: string): ReadonlyMap<string, string> {
  return new Map(
    text.split(';').flatMap((pair) => {
      const at = pair.indexOf('=');
      return at <= 0 ? [] : [[pair.slice(0, at).trim(), unescape(pair.slice(at + 1))] as const];
    }),
  );
}

/** GFF3 writes what it uses itself as percent and two digits, bytes of UTF-8; a name stays on its line. */
function unescape(text: string): string {
  return text
    .slice(0, TEXT_MAX_CHARACTERS)
    .replace(/(%[0-9A-Fa-f]{2})+/g, (bytes) => Buffer.from(bytes.replaceAll('%', ''), 'hex').toString())
    .replace(/\p{Cc}/gu, ' ')
    .trim();
}
