import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, expect, it } from 'vitest';
import { openAppliance } from '#src/appliance.js';
import { loadConfig } from '#src/config.js';
import { simulateProteins } from '#src/demo/simulate.js';
import { copyDemoRelease } from '../../tools/fixtures.js';
import { PROGRAM } from '../../tools/paths.js';

const folder = mkdtempSync(join(tmpdir(), 'gloaming-interrupted-'));
afterAll(() => rmSync(folder, { recursive: true }));

it('an interrupted search ends in one line and leaves no file', { timeout: 60_000 }, async () => {
  const environment = {
    GLOAMING_INDEXES: join(folder, 'indexes'),
    GLOAMING_DATA: join(folder, 'data'),
    GLOAMING_ENCODER: 'baseline-1',
  };
  const appliance = await openAppliance(loadConfig(environment));
  const { id, manifest } = await copyDemoRelease(environment.GLOAMING_INDEXES, 11, 120);
  await appliance.releases.publish({ id, slug: 'demo', publishedAt: new Date().toISOString(), manifest });
  await appliance.close();
  const { proteins } = simulateProteins(11, 120);
  // A hundred thousand queries take minutes.
  const queries = join(folder, 'queries.fasta');
  const all = proteins.map(({ id: name, sequence }) => `>${name}\n${sequence}\n`).join('');
  writeFileSync(queries, all.repeat(1_000));
  const output = join(folder, 'hits.tsv');
  const words = [PROGRAM, 'search', queries, '-d', 'demo', '-f', 'tsv', '-o', output];
  const child = spawn(process.execPath, words, { env: { ...process.env, ...environment } });
  const said = text(child.stderr);
  const ended = once(child, 'close');
  await expect.poll(() => existsSync(`${output}.part`), { timeout: 30_000 }).toBe(true);
  child.kill('SIGINT');
  expect(await ended).toEqual([2, null]);
  expect(await said).toMatch(/^gloaming: Interrupted\.$/m);
  expect(readdirSync(folder).filter((name) => name.startsWith('hits'))).toEqual([]);
});
