import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { commandLinePage } from '#src/cli/program/command-line-page.js';
import { ROOT } from '../../tools/paths.js';

it('docs/command-line.md is what `npm run manual` writes from the help of the program', async () => {
  expect(readFileSync(join(ROOT, 'docs', 'command-line.md'), 'utf8')).toBe(await commandLinePage());
});
