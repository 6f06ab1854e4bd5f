// @module-tag fast

import { describe, expect, it } from 'vitest';
import {
  chooseDomains,
  uncovered,
  type AnnotatedProtein,
  type Domain,
  type FoundDomain,
} from '#src/domains/domain.js';
import { domainGff, domainTblout, domainTsv, scientific } from '#src/pipelines/domains/tables.js';
import { summaryPage } from '#src/cli/report/domain-summary.js';
import { seededRandom } from '#src/random.js';

function domain(id: string, start: number, end: number, bitScore: number, clan?: string): Domain {
  const family = { id, name: id.toLowerCase(), length: 100, ...(clan !== undefined && { clan }) };
  const place = { start, end, familyStart: 5, familyEnd: 95 };
  const logEValue = -bitScore * Math.LN2;
  const logCount = Math.log(1_000);
  return {
    family,
    ...place,
    logEValue,
    conditionalLogEValue: logEValue - logCount,
    logCount,
    bitScore,
    round: 1,
  };
}

const placesOf = (domains: readonly FoundDomain[]): string[] =>
  domains.map(({ family, start, end }) => `${family.id} ${start}-${end}`);

describe('the choice of domains', () => {
  it('keeps the best of overlapping domains of one clan, and of one family', () => {
    const hits = [
      domain('A', 0, 100, 40, 'C1'),
      domain('B', 90, 200, 50, 'C1'),
      domain('C', 300, 400, 30),
      domain('C', 380, 480, 31),
    ];
    expect(placesOf(chooseDomains(hits))).toEqual(['B 90-200', 'C 380-480']);
  });

  it('lets two domains of different families share a few residues at their ends', () => {
    const hits = [domain('A', 0, 100, 40), domain('B', 92, 200, 50), domain('C', 150, 260, 20)];
    expect(placesOf(chooseDomains(hits))).toEqual(['A 0-100', 'B 92-200']);
  });

  it('prefers two domains to one across both if their scores are larger together', () => {
    const two = [domain('A', 0, 100, 40), domain('B', 100, 200, 40)];
    expect(placesOf(chooseDomains([...two, domain('X', 0, 200, 70)]))).toEqual(['A 0-100', 'B 100-200']);
    expect(placesOf(chooseDomains([...two, domain('X', 0, 200, 90)]))).toEqual(['X 0-200']);
  });

  it('has the largest sum of scores of all sets without overlaps', () => {
    const seed = 3;
    const random = seededRandom(seed);
    for (let trial = 0; trial < 200; trial += 1) {
      const hits = Array.from({ length: 9 }, (_, at) => {
        const start = 10 * random.below(12);
        return domain(`F${at}`, start, start + 10 + 10 * random.below(5), 1 + random.below(50));
      });
      const sumOf = (domains: readonly FoundDomain[]): number =>
        domains.reduce((sum, { bitScore }) => sum + bitScore, 0);
      // Domains that share at most a tenth of each at their ends count as disjoint. These share none or ten residues.
      const areApart = (a: Domain, b: Domain): boolean => {
        const cut = ({ start, end }: Domain): number => Math.floor(Math.min(10, 0.2 * (end - start)) / 2);
        return a.end - cut(a) <= b.start + cut(b) || b.end - cut(b) <= a.start + cut(a);
      };
      let best = 0;
      for (let mask = 0; mask < 2 ** hits.length; mask += 1) {
        const chosen = hits.filter((_, at) => (mask >> at) & 1);
        const isSet = chosen.every((a, at) => chosen.slice(at + 1).every((b) => areApart(a, b)));
        if (isSet) best = Math.max(best, sumOf(chosen));
      }
      expect(sumOf(chooseDomains(hits)), `seed ${seed}, trial ${trial}`).toBe(best);
    }
  });

  it('leaves the stretches between domains and at the ends', () => {
    const domains = [domain('B', 150, 180, 9), domain('A', 40, 100, 9)];
    expect(uncovered(200, domains, 30)).toEqual([
      [0, 40],
      [100, 150],
    ]);
    expect(uncovered(20, [], 30)).toEqual([]);
  });
});

const PROTEINS: readonly AnnotatedProtein[] = [
  {
    id: 'P1;x',
    length: 300,
    domains: [
      domain('A', 0, 100, 40),
      {
        ...domain('A', 100, 190, 30, 'C1'),
        family: {
          id: 'A',
          name: 'a domain',
          accession: 'PF1.2',
          description: 'Tab\there, "<b>"',
          clan: 'C1',
          length: 100,
        },
      },
    ],
  },
  { id: 'P2', length: 50, domains: [] },
];

describe('the tables of domains', () => {
  it('have a line for each domain, with one-based coordinates', () => {
    const [head, first, second, ...others] = [...domainTsv(PROTEINS)];
    const cells = (line: string): string[] => line.trimEnd().split('\t');
    expect(cells(head)).toHaveLength(18);
    expect(cells(first).slice(0, 6)).toEqual(['P1;x', '300', '1', '100', 'A', 'a']);
    expect(cells(second).slice(2, 8)).toEqual(['101', '190', 'A', 'a domain', 'PF1.2', 'Tab here, "<b>"']);
    expect(cells(second).slice(11)).toEqual(['6', '95', '9.31e-10', '30.0', '2', '2', '1']);
    expect(others).toEqual([]);
  });

  it('have the 22 columns of hmmscan and a description', () => {
    const lines = [...domainTblout(PROTEINS)].join('').trimEnd().split('\n');
    const rows = lines.filter((line) => !line.startsWith('#')).map((line) => line.split(/\s+/));
    expect(rows).toHaveLength(2);
    expect(rows[1].slice(0, 22)).toEqual(
      ['a_domain', 'PF1.2', '100', 'P1;x', '-', '300', '9.1e-13', '40.0', '0.0', '2', '2'].concat([
        '9.3e-13',
        '9.3e-10',
        '30.0',
        '0.0',
        '6',
        '95',
        '101',
        '190',
        '101',
        '190',
        '0.00',
      ]),
    );
  });

  it('are valid GFF3 whatever a family is called', () => {
    const lines = [...domainGff(PROTEINS)].join('').trimEnd().split('\n');
    expect(lines.slice(0, 2)).toEqual(['##gff-version 3', '##sequence-region P1%3Bx 1 300']);
    for (const line of lines.slice(2)) {
      const columns = line.split('\t');
      expect(columns).toHaveLength(9);
      for (const attribute of columns[8].split(';')) expect(attribute.split('=')).toHaveLength(2);
    }
    expect(lines[3]).toContain('signature_desc=Tab%09here%2C "<b>"');
  });

  it('write E-values that no double holds', () => {
    expect(scientific(-2000)).toBe('2.6e-869');
    expect(scientific(Math.log(9.99e-5))).toBe('1.0e-4');
    expect(scientific(Math.log(0.001))).toMatch(/^1\.0e-3$/);
  });
});

describe('the summary page', () => {
  it('counts proteins, families and architectures, and runs no script', () => {
    const page = summaryPage({ database: 'pf<am', releaseId: 'dbr_1', maxEValue: 0.001 }, PROTEINS);
    expect(page).toContain('<dt>with a domain</dt><dd>1 (50.0 %)</dd>');
    expect(page).toContain('Domains by pf&lt;am');
    expect(page).not.toMatch(/<script|<b>"/);
    expect(page).toContain("default-src 'none'");
    expect(page.match(/<rect x=/g)).toHaveLength(2);
  });
});
