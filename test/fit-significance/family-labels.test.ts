// @module-tag fast

import { describe, expect, it } from 'vitest';
import { familyLabels } from '#src/fit-significance/statistics/family-labels.js';
import type { AttributeValue, Release } from '#src/release/release.js';

type Attributes = Readonly<Record<string, AttributeValue>>;

function releaseOf(names: readonly string[], rows: readonly Attributes[]) {
  const targets = { attributes: (target: number) => rows[target]! };
  const fields = names.map((name) => ({ name, type: 'string' }));
  return { targets, fields } as unknown as Pick<Release, 'targets' | 'fields'>;
}

describe('labels of families', () => {
  const rows: readonly Attributes[] = [
    { family_id: 'one' },
    { family_id: 'two', clan: 'of two and three' },
    {},
    { family_id: 'one' },
    { family_id: 'three', clan: 'of two and three' },
    { family_id: 'of two and three' },
  ];

  it('are equal for members of one family and for families of one clan', () => {
    const release = releaseOf(['family_id', 'clan'], rows);
    expect([...familyLabels(release, Uint32Array.of(5, 4, 3, 2, 1, 0))]).toEqual([0, 1, 2, -1, 1, 2]);
  });

  it('are those of members alone', () => {
    const release = releaseOf(['clan'], rows);
    expect([...familyLabels(release, Uint32Array.of(1, 4))]).toEqual([-1, -1]);
  });
});
