import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/*
 * The tier of a test file, which its first line names: `// @module-tag fast` for what needs neither processes, servers
 * nor seconds, `// @module-tag long` for what `npm run test:long` repeats more often. No line means `whole`.
 */

export const TIERS = ['fast', 'whole', 'long'] as const;
type Tier = (typeof TIERS)[number];

const root = fileURLToPath(new URL('../../..', import.meta.url));

/** Paths of all test files, by tier, in the order of the paths. */
export function filesByTier(): Readonly<Record<Tier, readonly string[]>> {
  const names = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' });
  const tagged = names
    .filter((name) => name.endsWith('.test.ts'))
    .sort()
    .map((name) => ({ path: `test/${name}`, tags: tagsOf(readFileSync(join(root, 'test', name), 'utf8')) }));
  const having = (tier: Tier) => tagged.filter(({ tags }) => tags.includes(tier)).map(({ path }) => path);
  return { fast: having('fast'), whole: having('whole'), long: having('long') };
}

/** All tags of a file, also those that name no tier. */
export function tagsOf(text: string): readonly string[] {
  const tags = [...text.matchAll(/^\/\/ @module-tag (\S+)$/gm)].map(([, tag]) => tag!);
  return tags.length === 0 ? ['whole'] : tags;
}
