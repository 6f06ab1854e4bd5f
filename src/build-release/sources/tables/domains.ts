import { optionalFields } from '../protein-source.js';
import type { AttributeTable } from './attribute-table.js';
import { parseDomtblout, parseInterproscan, type Domain, type ParseDomain } from './domain-rows.js';
import { createKeyedRows } from './keyed-rows.js';
import { tableLines } from './table-lines.js';

/** Half of what one attribute may hold: a giant of thousands of domains shall not end a build. */
const LIST_MAX_CHARACTERS = 16_384;
const FIELDS = optionalFields([
  { name: 'domains', type: 'string_list' },
  { name: 'signatures', type: 'string_list' },
  { name: 'pfam', type: 'string_list' },
  { name: 'interpro', type: 'string_list' },
  { name: 'go', type: 'string_list' },
]);

/**
 * Domains by protein, of InterProScan's TSV or hmmscan's and hmmsearch's --domtblout, as the first line tells. A domain
 * is `signature:first-last`, positions from 1, ends inclusive; signatures, Pfam, InterPro and GO are listed once each.
 * Errors  Refusal `invalid_metadata` with file and line
 */
export async function readDomains(paths: readonly string[], scratchPath: string): Promise<AttributeTable> {
  const rows = createKeyedRows(scratchPath);
  for (const path of paths)
    await readFile(path, ({ protein, ...domain }) => rows.add(protein, cellsOf(domain)));
  let [shortened, proteins] = [0, 0];
  return {
    name: 'domain',
    fields: FIELDS,
    find(id) {
      const found = rows
        .find(id)
        .map(domainOf)
        .sort((a, b) => a.first - b.first || a.last - b.last);
      if (found.length === 0) return undefined;
      proteins += 1;
      const lists = Object.entries(listsOf(found)).map(([name, items]) => {
        const distinct = [...new Set(items)].filter((item) => item !== '');
        return { name, distinct, kept: fitting(distinct) };
      });
      if (lists.some(({ distinct, kept }) => kept.length < distinct.length)) shortened += 1;
      return Object.fromEntries(lists.flatMap(({ name, kept }) => (kept.length === 0 ? [] : [[name, kept]])));
    },
    notes: () => [
      `Proteins with domains: ${proteins}.`,
      ...(shortened === 0 ? [] : [`Proteins with more domains than an attribute holds: ${shortened}.`]),
    ],
    close: () => rows.close(),
  };
}

function listsOf(domains: readonly Omit<Domain, 'protein'>[]): Readonly<Record<string, readonly string[]>> {
  return {
    domains: domains.map(({ signature, first, last }) => `${signature}:${first}-${last}`),
    signatures: domains.map(({ signature }) => signature),
    pfam: domains.filter(({ signature }) => /^PF\d+$/.test(signature)).map(({ signature }) => signature),
    interpro: domains.map(({ interpro }) => interpro),
    go: domains.flatMap(({ go }) => go),
  };
}

/** As many from the first on as the bound holds. */
function fitting(items: readonly string[]): readonly string[] {
  let characters = 0;
  return items.filter((item) => (characters += item.length) <= LIST_MAX_CHARACTERS);
}

function cellsOf({ signature, first, last, interpro, go }: Omit<Domain, 'protein'>): readonly string[] {
  return [signature, String(first), String(last), interpro, go.join(' ')];
}

function domainOf([signature, first, last, interpro, go]: readonly string[]): Omit<Domain, 'protein'> {
  return { signature, first: Number(first), last: Number(last), interpro, go: go.split(' ') };
}

async function readFile(path: string, add: (domain: Domain) => void): Promise<void> {
  let parse: ParseDomain | undefined;
  for await (const { text, refuse } of tableLines(path)) {
    if (parse === undefined) {
      parse = await parserOf(path, text);
      if (parse === undefined) {
        throw refuse(
          'neither a TSV of InterProScan nor a --domtblout of HMMER: its first line is of no known form',
        );
      }
    }
    const domain = parse(text, refuse);
    if (domain !== undefined) add(domain);
  }
}

/** In hmmscan's table targets are domains and queries proteins, in hmmsearch's the other way: its end says which. */
async function parserOf(path: string, firstLine: string): Promise<ParseDomain | undefined> {
  if (!firstLine.startsWith('#')) return firstLine.split('\t').length >= 11 ? parseInterproscan : undefined;
  for await (const { text } of tableLines(path)) {
    const program = /^# Program:\s+(hmmscan|hmmsearch)\b/.exec(text)?.[1];
    if (program !== undefined) return parseDomtblout(program === 'hmmsearch');
  }
  return parseDomtblout(false);
}
