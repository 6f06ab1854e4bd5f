import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { PROGRAM } from '../tools/paths.js';

test('the compiled program runs by its own name, as npm links it', () => {
  expect(execFileSync(PROGRAM, ['--version'], { encoding: 'utf8' }).trim()).toMatch(/^\d+\.\d+\.\d+/);
});
