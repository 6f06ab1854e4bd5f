import { optionalFields } from '../protein-source.js';
import type { AttributeTable } from './attribute-table.js';
import { parseDomtblout, parseInterproscan, type Domain, type ParseDomain } from './domain-rows.js';
import { createKeyedRows } from './keyed-rows.js';
import { tableLines } from './table-lines.js';

/** Half the limit of one attribute. A protein with thousands of domains must not fail a build. */
const LIST_MAX_CHARACTERS = 16_384;
const FIELDS = optionalFields([
  { name: 'domains', type: 'string_list' },
  { name: 'signatures', type: 'string_list' },
  { name: 'pfam', type: 'string_list' },
  { name: 'interpro', type: 'string_list' },
  { name: 'go', type: 'string_list' },
]);

/**
 * Reads domains by protein from a TSV of InterProScan or a --domtblout of hmmscan or hmmsearch, recognised by the first
 * line. A domain is `signature:first-last`, one-based and inclusive. Signatures, Pfam, InterPro and GO are listed once.
 * Errors  Refusal `file_not_found`; Refusal `invalid_metadata` with file and line; errors of the file system
 */
export async function readDomains(paths: readonly string[], scratchPath: string): Promise<AttributeTable> {
  const rows = createKeyedRows(scratchPath);
  for (const path of paths)
    await readDomainRows(path, ({ protein, ...domain }) => rows.add(protein, cellsOf(domain)));
  let [shortened, proteins] = [0, 0];
  return {
    name: 'domain',
    fields: FIELDS,
    find(id) {
      const matches = rows
        .find(id)
        .map(domainOf)
        .sort((a, b) => a.first - b.first || a.last - b.last);
      if (matches.length === 0) return undefined;
      proteins += 1;
      const lists = Object.entries(listsOf(matches)).map(([name, items]) => {
        const distinct = [...new Set(items)].filter((item) => item !== '');
        return { name, distinct, fitting: fitting(distinct) };
      });
      if (lists.some(({ distinct, fitting: list }) => list.length < distinct.length)) shortened += 1;
      return Object.fromEntries(
        lists.flatMap(({ name, fitting: list }) => (list.length === 0 ? [] : [[name, list]])),
      );
    },
    notes: () => [
      `Proteins with domains: ${proteins}.`,
      ...(shortened === 0 ? [] : [`Proteins whose list of domains was cut off: ${shortened}.`]),
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

/** Returns the longest prefix of the list within the bound on characters. */
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

/**
 * Reads the domains of a TSV of InterProScan or a --domtblout of hmmscan or hmmsearch, recognised by the first line.
 * Errors  Refusal `file_not_found`; Refusal `invalid_metadata` with file and line; errors of the file system
 */
export async function readDomainRows(path: string, add: (domain: Domain) => void): Promise<void> {
  let parse: ParseDomain | undefined;
  for await (const { text, refuse } of tableLines(path)) {
    if (parse === undefined) {
      parse = await parserOf(path, text);
      if (parse === undefined) {
        throw refuse('the first line is neither that of an InterProScan TSV nor that of a HMMER --domtblout');
      }
    }
    const domain = parse(text, refuse);
    if (domain !== undefined) add(domain);
  }
}

/** Whether targets are domains (hmmscan) or proteins (hmmsearch), according to the end of the table. */
async function parserOf(path: string, firstLine: string): Promise<ParseDomain | undefined> {
  if (!firstLine.startsWith('#')) return firstLine.split('\t').length >= 11 ? parseInterproscan : undefined;
  for await (const { text } of tableLines(path)) {
    const program = /^# Program:\s+(hmmscan|hmmsearch)\b/.exec(text)?.[1];
    if (program !== undefined) return parseDomtblout(program === 'hmmsearch');
  }
  return parseDomtblout(false);
}
