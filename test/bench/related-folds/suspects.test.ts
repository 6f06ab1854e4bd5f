// @module-tag fast

import { describe, expect, it } from 'vitest';
import type { DomainLabel } from '#bench/tools/labels.js';
import { controlPairs, drawDomains, suspectPairs, turnedPairs } from '#bench/related-folds/suspects.js';
import { seededRandom } from '#src/random.js';

const FAMILIES = ['a.1.1.1', 'a.1.1.2', 'a.1.2.1', 'b.1.1.1', 'b.2.1.1', 'c.2.1.1', 'c.3.1.1', 'd.1.1.1'];
const labels = new Map(FAMILIES.map((family, at) => [`d${at}`, label(family)]));

describe('the suspected pairs', () => {
  it('are the superfamilies of a line, all those of two folds, and none of one fold group', () => {
    const pairs = suspectPairs(
      [
        { level: 'fold', sides: ['b.1', 'a.1'] },
        { level: 'superfamily', sides: ['a.1.1', 'b.1.1'] },
        { level: 'superfamily', sides: ['a.1.1', 'a.1.2'] },
        { level: 'fold', sides: ['c.2', 'c.3'] },
        { level: 'superfamily', sides: ['a.1.1', 'e.9.1'] },
      ],
      labels,
    );
    expect(pairs).toEqual([
      { query: 'a.1.1', target: 'b.1.1', origin: 'superfamilies' },
      { query: 'a.1.2', target: 'b.1.1', origin: 'folds' },
    ]);
  });

  it('are turned so that few domains are queries, each pair once', () => {
    const pairs = ['b.1.1', 'b.2.1', 'd.1.1'].map((query) => ({
      query,
      target: 'a.1.2',
      origin: 'folds' as const,
    }));
    const turned = turnedPairs(pairs, () => 1);
    expect(turned.map(({ query }) => query)).toEqual(['a.1.2', 'a.1.2', 'a.1.2']);
    expect(turned.map(({ target }) => target).sort()).toEqual(['b.1.1', 'b.2.1', 'd.1.1']);
  });

  it('draw at most a number of domains of each superfamily', () => {
    const drawn = drawDomains(labels, 1);
    expect(drawn.get('a.1.1')).toEqual(['d0']);
    expect(drawDomains(labels).get('a.1.1')).toEqual(['d0', 'd1']);
  });

  it('have controls with the same query, of other fold groups that no line names', () => {
    const pairs = suspectPairs([{ level: 'fold', sides: ['a.1', 'b.1'] }], labels).concat(
      suspectPairs([{ level: 'fold', sides: ['b.2', 'd.1'] }], labels),
    );
    const named = (one: string, other: string): boolean => [one, other].sort().join() === 'a.1.1,b.1.1';
    const controls = controlPairs(
      pairs,
      (group) => group.slice(0, 3),
      () => 1,
      named,
      seededRandom(1),
    );
    expect(controls.length).toBeGreaterThan(0);
    for (const { query, target, origin } of controls) {
      expect(origin).toBe('control of folds');
      expect(query.slice(0, 3)).not.toBe(target.slice(0, 3));
      expect(named(query, target)).toBe(false);
    }
    const keys = controls.map(({ query, target }) => [query, target].sort().join());
    expect(new Set(keys).size).toBe(keys.length);
  });
});

function label(family: string): DomainLabel {
  const parts = family.split('.');
  const fold = parts.slice(0, 2).join('.');
  return {
    family,
    isFamily: true,
    superfamily: parts.slice(0, 3).join('.'),
    foldGroup: fold === 'c.3' ? 'c.2' : fold,
    structuralClass: parts[0],
    isDev: true,
    description: '',
  };
}
