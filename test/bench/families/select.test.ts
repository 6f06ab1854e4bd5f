// @module-tag fast

import { describe, expect, it } from 'vitest';
import { selectFamilies } from '#bench/families/select.js';
import type { DomainLabel } from '#bench/tools/labels.js';
import type { BenchProtein } from '#bench/tools/proteins.js';

/*
 * Two dev superfamilies and one of the training folds. a.1.1 has three SCOPe families of two domains and a domain of a
 * catch-all family; a.2.1 has one family.
 */
const FAMILIES = {
  'a.1.1.1': 2,
  'a.1.1.2': 2,
  'a.1.1.3': 2,
  'a.1.1.0': 1,
  'a.2.1.1': 4,
  'b.1.1.1': 3,
} as const;

const proteins: BenchProtein[] = [];
const labels = new Map<string, DomainLabel>();
for (const [family, count] of Object.entries(FAMILIES)) {
  for (let at = 0; at < count; at += 1) {
    const id = `${family}-${at}`;
    const superfamily = family.slice(0, -2);
    const rest = { foldGroup: family.slice(0, 3), structuralClass: family[0], description: '' };
    labels.set(id, {
      family,
      superfamily,
      isFamily: !family.endsWith('.0'),
      isDev: family[0] === 'a',
      ...rest,
    });
    proteins.push({ id, sequence: `SEQUENCE${proteins.length}` });
  }
}
const counts = { familyCount: 4, queryCount: 100 };

describe('families of a bench at family level', () => {
  const { families, queries } = selectFamilies(proteins, labels, { ...counts, level: 'family' });

  it('leave out a third of the domains of each dev superfamily', () => {
    expect(queries).toHaveLength(Math.floor(7 / 3) + Math.floor(4 / 3));
    expect(Object.fromEntries(families.map(({ id, members }) => [id, members.length]))).toEqual({
      'a.1.1': 5,
      'a.2.1': 3,
      'b.1.1': 3,
    });
  });
});

describe('families of a bench at superfamily level', () => {
  const { families, queries } = selectFamilies(proteins, labels, { ...counts, level: 'superfamily' });

  it('leave out whole SCOPe families, so that no member has the SCOPe family of a query', () => {
    expect(queries.length).toBe(2);
    const members = families.flatMap((family) => family.members.map(({ id }) => labels.get(id)!.family));
    for (const { id } of queries) expect(members).not.toContain(labels.get(id)!.family);
  });

  it('have no domain of a catch-all family, whose SCOPe family is unknown', () => {
    const members = families.flatMap((family) => family.members.map(({ id }) => id));
    expect(members).not.toContain('a.1.1.0-0');
    expect(queries.map(({ id }) => id)).not.toContain('a.1.1.0-0');
  });

  it('take no queries from a superfamily of one SCOPe family', () => {
    expect(queries.map(({ id }) => labels.get(id)!.superfamily)).not.toContain('a.2.1');
    expect(families.map(({ id }) => id)).toEqual(['a.1.1', 'b.1.1']);
  });
});
