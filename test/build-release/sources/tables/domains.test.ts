// @module-tag fast

import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { readDomains } from '#src/build-release/sources/tables/domains.js';
import { scratchFiles } from '../../scratch-files.js';

const { folder, file } = scratchFiles('domains');
const open = (...contents: (string | Buffer)[]) => readDomains(contents.map(file), join(folder, 'rows'));

const INTERPROSCAN =
  'P1\tmd5\t400\tPfam\tPF00085\tThioredoxin\t120\t220\t1.2E-30\tT\t01-01-2024\tIPR013766\tThioredoxin domain\t' +
  'GO:0045454(InterPro)|GO:0015035(InterPro)\tReactome:R-1\n' +
  'P2\tmd5\t90\tMobiDBLite\tmobidb-lite\tconsensus\t1\t20\t-\tT\t01-01-2024\t-\t-\n' +
  'P1\tmd5\t400\tPfam\tPF00085\tThioredoxin\t4\t108\t1.2E-30\tT\t01-01-2024\tIPR013766\tThioredoxin domain\t-\t-\n' +
  'P1\tmd5\t400\tCDD\tcd02947\tTRX_family\t9\t107\t1.0E-20\tT\t01-01-2024\t-\t-\t-\t-\n';
const row = (
  target: string,
  accession: string,
  query: string,
  queryAccession: string,
  iEvalue: string,
  from = 4,
) =>
  `${target} ${accession} 103 ${query} ${queryAccession} 109 2.2e-40 136.0 1.9 1 1 1e-44 ${iEvalue} 135.8 1.9 ` +
  `2 102 6 107 ${from} 108 0.98 Thioredoxin domain\n`;
const HEAD = '#  --- full sequence --- -------------- this domain -------------\n# target name accession\n';
const HMMSCAN =
  `${HEAD}${row('Thioredoxin', 'PF00085.23', 'P1', '-', '2.5e-40')}` +
  `${row('mymodel', '-', 'P1', '-', '0.001', 50)}${row('Weak', 'PF99999.1', 'P1', '-', '0.0011')}#\n` +
  '# Program:         hmmscan\n';
const HMMSEARCH = `${HEAD}${row('P1', '-', 'Thioredoxin', 'PF00085.23', '2.5e-40')}#\n# Program:         hmmsearch\n`;

describe('domains', () => {
  it('are matched by the accession in a UniProt header, whose first word both programs write', async () => {
    const name = 'sp|P0AA25|THIO_ECOLI';
    const table = await open(
      INTERPROSCAN.replaceAll('P1\t', `${name}\t`),
      HMMSCAN.replaceAll(' P1 ', ` ${name} `),
    );
    expect(table.find('P0AA25')?.domains).toHaveLength(4);
    expect(table.find(name)).toBeUndefined();
    table.close();
  });

  it('of InterProScan become lists by protein, in any order of rows', async () => {
    const table = await open(gzipSync(INTERPROSCAN));
    expect(table.find('P1')).toEqual({
      domains: ['PF00085:4-108', 'cd02947:9-107', 'PF00085:120-220'],
      signatures: ['PF00085', 'cd02947'],
      pfam: ['PF00085'],
      interpro: ['IPR013766'],
      go: ['GO:0045454', 'GO:0015035'],
    });
    expect(table.find('P2')).toEqual({ domains: ['mobidb-lite:1-20'], signatures: ['mobidb-lite'] });
    expect(table.find('P3')).toBeUndefined();
    expect(table.notes?.()).toEqual(['Proteins with domains: 2.']);
    table.close();
  });

  it('of hmmscan and hmmsearch are equal, and insignificant domains are omitted', async () => {
    const scan = await open(HMMSCAN);
    expect(scan.find('P1')).toEqual({
      domains: ['PF00085:4-108', 'mymodel:50-108'],
      signatures: ['PF00085', 'mymodel'],
      pfam: ['PF00085'],
    });
    const search = await open(HMMSEARCH);
    expect(search.find('P1')).toEqual({
      domains: ['PF00085:4-108'],
      signatures: ['PF00085'],
      pfam: ['PF00085'],
    });
    expect(search.find('Thioredoxin')).toBeUndefined();
    const both = await open(INTERPROSCAN, HMMSCAN);
    expect(both.find('P1')?.domains).toHaveLength(4);
    for (const table of [scan, search, both]) table.close();
  });

  it('are cut off at the limit of an attribute, with a note', async () => {
    const rows = Array.from({ length: 3_000 }, (_, at) =>
      INTERPROSCAN.split('\n', 1)[0].replace('\t120\t220\t', `\t${at + 1}\t${at + 90}\t`),
    );
    const table = await open(`${rows.join('\n')}\n`);
    const domains = table.find('P1')?.domains as string[];
    expect(domains[0]).toBe('PF00085:1-90');
    expect(domains.join('').length).toBeLessThanOrEqual(16_384);
    expect(domains.length).toBeGreaterThan(800);
    expect(table.notes?.()[1]).toBe('Proteins whose list of domains was cut off: 1.');
    table.close();
  });

  it.each([
    ['another table', 'id\tx\nP1\t1\n', /line 1: the first line is neither that of an InterProScan TSV nor/],
    [
      'a short row of InterProScan',
      `${INTERPROSCAN}P1\tmd5\n`,
      /line 5: a TSV of InterProScan has at least 11 columns/,
    ],
    [
      'a domain that ends before it begins',
      INTERPROSCAN.replace('\t4\t108', '\t108\t4'),
      /line 3: a protein, a/,
    ],
    ['a short row of HMMER', `${HEAD}Thioredoxin PF1 3\n`, /line 3: a --domtblout of HMMER has 22 columns/],
    ['an E-value that is none', HMMSCAN.replace('2.5e-40', 'x'), /line 3: the i-Evalue "x" is not a number/],
  ])('are refused where the file is %s', async (_name, content, message) => {
    await expect(open(content)).rejects.toMatchObject({ code: 'invalid_metadata' });
    await expect(open(content)).rejects.toThrow(message);
  });
});
