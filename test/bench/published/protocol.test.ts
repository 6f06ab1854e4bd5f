import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hitsAmong } from '#bench/published/peers.js';
import { measureClaims, measureFirstFalse, readLookup } from '#bench/published/protocol.js';
import { printPublished } from '#bench/published/published.js';
import type { Hit } from '#bench/sensitivity/metrics.js';
import { afterAll, describe, expect, it } from 'vitest';

/* The definitions of published benchmarks, on small files of their form with hand-made counts. */

const folder = mkdtempSync(join(tmpdir(), 'gloaming-published-'));
afterAll(() => rmSync(folder, { recursive: true }));

function write(name: string, lines: readonly string[]): string {
  const path = join(folder, name);
  writeFileSync(path, lines.map((line) => `${line}\n`).join(''));
  return path;
}

/** Hits of a query from the best to the worst. */
const ranked = (queryId: string, ...targetIds: readonly string[]): readonly Hit[] =>
  targetIds.map((targetId, place) => ({ queryId, targetId, score: 10 - place }));

const WORLD = [
  'q a.1.1.1',
  'sister a.1.1.1',
  'cousin a.1.1.2',
  'other a.1.1.3',
  'folded a.1.2.1',
  'far b.1.1.1',
  'p c.1.1.1',
  'p2 c.1.1.1',
  'p3 c.1.1.0',
  'p4 c.1.2.1',
];

describe('sensitivity to the first false hit, as Foldseek defines it', () => {
  const labels = readLookup(write('scop_lookup.fix.tsv', WORLD));

  it('counts each level before the first hit of another fold, over one more than the missing domains', () => {
    const hits = [...ranked('q', 'q', 'cousin', 'sister', 'folded', 'far', 'other')].reverse();
    const { all, 'no catch-all families': clean } = measureFirstFalse(hits, labels);
    // Queries with another member at all levels: q and sister; p and p2 of a superfamily with a catch-all family.
    expect(all).toEqual({ queries: 4, family: 1 / 4, superfamily: 1 / 3 / 4, fold: 1 / 2 / 4 });
    expect(clean).toEqual({ queries: 2, family: 1 / 2, superfamily: 1 / 3 / 2, fold: 1 / 2 / 2 });
  });

  it('takes a hit outside of the lookup as false', () => {
    const { 'no catch-all families': clean } = measureFirstFalse(ranked('q', 'unknown', 'sister'), labels);
    expect(clean).toMatchObject({ queries: 2, family: 0 });
  });
});

describe('a lookup', () => {
  it('may have classifications without a family, and ids with a suffix after a slash', () => {
    const labels = readLookup(write('short', ['d1\ta.1.1', 'd2/a.1.1\ta.1.1', '']));
    expect(labels.get('d2')).toMatchObject({ superfamily: 'a.1.1', foldGroup: 'a.1', isFamily: false });
    expect(labels.get('d1')!.family).not.toBe(labels.get('d2')!.family);
  });

  it('is refused with file and line in any other form', () => {
    expect(() => readLookup(write('bad', ['d1 a.1.1.1', 'd2 <html>']))).toThrow(/bad, line 2, is not an id/);
    expect(() => readLookup(write('empty', []))).toThrow('names no domain');
  });
});

describe('the tables of the published benchmarks', () => {
  it('have SEPQ for the lookups in the folder, and skip the others', () => {
    write(
      'scop40.lookup',
      WORLD.map((line) => line.replace(' ', '\t')),
    );
    const labels = readLookup(join(folder, 'scop_lookup.fix.tsv'));
    // Of 18 ordered true pairs, two come before the ten false hits that make one error a query, and one after them.
    const wrong = ['sister', 'cousin', 'other', 'folded', 'q', 'p', 'p2', 'p3', 'p4'];
    const hits = [
      ...ranked('q', 'sister', 'cousin'),
      ...wrong.map((targetId) => hit('far', targetId, 1)),
      hit('p', 'q', 0),
    ];
    const late = [...hits, hit('sister', 'q', -1)];
    const figures = printPublished({ plain: late }, labels, folder);
    expect(figures).toMatchObject({ SCOP40: { queries: 10, plain: [2 / 18, 2 / 18, 3 / 18] } });
    expect(figures).not.toHaveProperty('SCOP40c');
    expect(figures).toHaveProperty('Foldseek, all');
  });
});

describe('what E-values are worth', () => {
  it('is the number of false hits over the claimed number', () => {
    const labels = readLookup(write('world', WORLD));
    const log = (eValue: number): number => -Math.log(eValue);
    const hits = [
      hit('q', 'q', log(1e-9)),
      hit('q', 'sister', log(1e-4)),
      hit('q', 'cousin', log(0.01)),
      hit('q', 'far', log(0.05)),
      hit('q', 'folded', log(1e-9)),
      hit('q', 'p', log(0.9)),
    ];
    const { truePairs, falseOverClaimed } = measureClaims(hits, 2, labels);
    expect(truePairs).toBe(1);
    expect(falseOverClaimed['0.001']).toBe(0);
    expect(falseOverClaimed['0.1']).toBeCloseTo(5);
    expect(falseOverClaimed['1']).toBeCloseTo(1);
  });

  it('is read from the best hit of each pair of queries and targets, and not from the background', () => {
    const targets = [{ id: 't', sequence: 'A' }];
    const hits = hitsAmong(
      [
        ['q', 't', 1],
        ['q', 'background', 1e-9],
        ['q', 't', 1e-3],
        ['p', 't', 0],
      ],
      targets,
    );
    expect(hits.map(({ queryId }) => queryId)).toEqual(['q', 'p']);
    expect(hits[0].score).toBeCloseTo(-Math.log(1e-3));
    expect(Number.isFinite(hits[1].score)).toBe(true);
  });
});

function hit(queryId: string, targetId: string, score: number): Hit {
  return { queryId, targetId, score };
}
