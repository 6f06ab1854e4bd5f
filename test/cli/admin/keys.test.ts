import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { Command } from 'commander';
import { afterAll, describe, expect, it } from 'vitest';
import { register } from '#src/cli/admin/keys.js';

const folder = mkdtempSync(join(tmpdir(), 'gloaming-keys-cli-'));
afterAll(() => rmSync(folder, { recursive: true }));

async function keys(...args: string[]): Promise<string> {
  const stdout = new PassThrough();
  const program = new Command('gloaming').exitOverride().configureOutput({ writeErr: () => undefined });
  const environment = { GLOAMING_DATA: join(folder, 'data') };
  register(program, { environment, stdin: new PassThrough(), stdout, stderr: new PassThrough().resume() });
  await program.parseAsync(['node', 'gloaming', 'keys', ...args]);
  return String(stdout.read() ?? '');
}

describe('gloaming keys', () => {
  it('makes keys with a scope and an end, and lists both', async () => {
    expect(await keys('create', 'pipeline')).toMatch(/^glm_\w+\n$/);
    await keys('create', 'guest', '--scope', 'search', '--expires', '2099-06-30');
    await keys('create', 'week', '--expires', '7d');
    const listed = await keys('list');
    expect(listed).toMatch(/ pipeline +manage +[\d-]+ +never +live\n/);
    expect(listed).toMatch(/ guest +search +[\d-]+ +never +live until 2099-06-30\n/);
    const inAWeek = new Date(Date.now() + 7 * 86_400_000).toISOString().slice(0, 10);
    expect(listed).toMatch(new RegExp(` week +manage .* live until ${inAWeek}`));
  });

  it.each([
    ['--scope', 'root', /Allowed choices are search, submit, manage, admin/],
    ['--expires', '2020-01-01', /Expected is a date to come/],
    ['--expires', 'soon', /Expected is a date to come/],
    ['--expires', '2099-02-30', /Expected is a date to come/],
    ['--expires', '2099-6-30', /Expected is a date to come/],
    ['--expires', '0d', /Expected is a date to come/],
  ])('refuses %s %s', async (option, value, why) => {
    await expect(keys('create', 'x', option, value)).rejects.toThrow(why);
  });
});
