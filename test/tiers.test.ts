// @module-tag fast

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from './tools/paths.js';
import { filesByTier, tagsOf, TIERS } from './tools/suite/tiers.js';

/* The selection of tests by `npm run test:fast`, `npm test` and `npm run test:long`. */

describe('a test file', () => {
  const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
  const names = readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' });
  const tests = names.filter((name) => name.endsWith('.test.ts')).map((name) => `test/${name}`);

  it('has one tier, which its first line names', () => {
    const isTier = (tag: string): boolean => TIERS.some((tier) => tier === tag);
    const tagged = tests.map((path) => ({ path, tags: tagsOf(read(path)) }));
    expect(tagged.filter(({ tags }) => tags.length !== 1 || !tags.every(isTier))).toEqual([]);
    const late = tests.filter((path) => /\n\/\/ @module-tag/.test(read(path)));
    expect(late).toEqual([]);
  });

  it('is run by the project of its tier and by no other', () => {
    expect(Object.values(filesByTier()).flat().sort()).toEqual([...tests].sort());
  });

  it('of the fast tier starts no process and changes no environment: these files share processes', () => {
    // The words are put together here so that this file passes its own rule.
    const costly = new RegExp(
      ['child_', 'process|open', 'Appliance|process\\.env\\.\\w+ = |vi\\.useFake'].join(''),
    );
    expect(filesByTier().fast.filter((path) => costly.test(read(path)))).toEqual([]);
  });
});
