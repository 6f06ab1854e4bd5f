import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { commandLinePage } from '#src/cli/program/command-line-page.js';
import { ROOT } from '../../tools/paths.js';

it('docs/command-line.md is what `npm run manual` writes from the help of the program', async () => {
  expect(readFileSync(join(ROOT, 'docs', 'command-line.md'), 'utf8')).toBe(await commandLinePage());
});

it('the help of a command names --max-evalue only if the command has it', async () => {
  const helps = (await commandLinePage()).split(/\n(?=Usage: )/).slice(1);
  const naming = helps.filter((help) => help.includes('--max-evalue'));
  expect(naming.length).toBeGreaterThan(2);
  expect(naming.filter((help) => !/^ {2}(-e, )?--max-evalue </m.test(help))).toEqual([]);
});
