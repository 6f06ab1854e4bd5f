import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT } from '../../tools/paths.js';

const COMMITTED = join(ROOT, 'src', 'clients', 'typescript', 'types');

it('the TypeScript client has the types of the OpenAPI document (node config/client-types.mjs)', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gloaming-types-'));
  try {
    execFileSync(process.execPath, [join(ROOT, 'config', 'client-types.mjs'), folder]);
    expect(textsIn(COMMITTED)).toEqual(textsIn(folder));
  } finally {
    rmSync(folder, { recursive: true });
  }
});

function textsIn(folder: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    readdirSync(folder)
      .sort()
      .map((name) => [name, readFileSync(join(folder, name), 'utf8')]),
  );
}
