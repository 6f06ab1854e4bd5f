import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/*
 * The tier of a test file, which its first line names: `// @module-tag fast` for what needs neither processes, servers
 * nor seconds, `// @module-tag long` for what `npm run test:long` repeats more often. No line: `whole`.
 */

export const ROOT = new URL('..', import.meta.url).pathname;
export const TIERS = ['fast', 'whole', 'long'];

/** Paths of all test files below test/, by tier. */
export function filesByTier() {
  const files = Object.fromEntries(TIERS.map((tier) => [tier, []]));
  for (const name of readdirSync(join(ROOT, 'test'), { recursive: true }).sort()) {
    if (!name.endsWith('.test.ts')) continue;
    const path = join('test', name);
    for (const tier of tiersOf(readFileSync(join(ROOT, path), 'utf8'))) files[tier]?.push(path);
  }
  return files;
}

/** Every tag of a file, known or not. */
export function tiersOf(text) {
  const tags = [...text.matchAll(/^\/\/ @module-tag (\S+)$/gm)].map(([, tag]) => tag);
  return tags.length === 0 ? ['whole'] : tags;
}
