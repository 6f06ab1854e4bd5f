// @module-tag fast

import { join } from 'node:path';
import { expect, it } from 'vitest';
import { folderOfRelease, type EngineFoundation } from '#src/composition/engines.js';

const RELEASE = `dbr_${'a'.repeat(64)}`;

function foundationOf(slugs: readonly string[]): EngineFoundation {
  const holders = slugs.map((slug) => ({ slug, publishedAt: '2026-11-28T00:00:00.000Z' }));
  return { config: { indexesFolder: '/indexes' }, releases: { holders: () => holders } } as never;
}

it('names the folder of the first database with a release, or the preferred one', () => {
  const foundation = foundationOf(['alpha', 'beta']);
  const [alpha, beta] = ['alpha', 'beta'].map((slug) => join('/indexes', slug, RELEASE));
  expect(folderOfRelease(foundation, RELEASE)).toBe(alpha);
  expect(folderOfRelease(foundation, RELEASE, beta)).toBe(beta);
  expect(folderOfRelease(foundation, RELEASE, '/elsewhere')).toBe(alpha);
});

it('refuses a release that was removed from every database, as an unfinished run may name', () => {
  expect(() => folderOfRelease(foundationOf([]), RELEASE)).toThrow(
    expect.objectContaining({ code: 'database_not_found', message: expect.stringContaining(RELEASE) }),
  );
});
