// @module-tag fast
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { programName } from '#src/cli/terminal/program-name.js';

let folder: string;
let installed: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gloaming-name-'));
  installed = join(folder, 'here');
  for (const name of ['here', 'other']) program(join(folder, name, 'bin'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function program(bin: string): void {
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(bin, 'gloaming'), '#!/bin/sh\n');
  chmodSync(join(bin, 'gloaming'), 0o755);
}

it('an installation in the PATH is called by its name, also through a link', () => {
  expect(programName({ PATH: `/usr/bin:${installed}/bin` }, installed)).toBe('gloaming');
  mkdirSync(join(folder, 'links'));
  symlinkSync(join(installed, 'bin', 'gloaming'), join(folder, 'links', 'gloaming'));
  expect(programName({ PATH: `${folder}/links` }, installed)).toBe('gloaming');
});

it('an installation outside the PATH, or behind another one, is called by its absolute path', () => {
  const absolute = join(installed, 'bin', 'gloaming');
  expect(programName({}, installed)).toBe(absolute);
  expect(programName({ PATH: `${folder}/other/bin:${installed}/bin` }, installed)).toBe(absolute);
});

it('a path that a shell would divide is quoted', () => {
  const spaced = join(folder, "the lab's");
  program(join(spaced, 'bin'));
  expect(programName({}, spaced)).toBe(`'${folder}/the lab'\\''s/bin/gloaming'`);
});
