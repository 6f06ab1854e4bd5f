import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openAppliance } from '#src/appliance.js';
import { loadConfig } from '#src/config.js';
import { trueHomologs } from '#src/demo/check.js';
import { simulateProteins } from '#src/demo/simulate.js';
import { copyDemoRelease } from '../../tools/fixtures.js';
import { runProgram, type Printed } from '../../tools/served-process.js';

/* Rows of the A3M that `gloaming search` writes, and what standard error says about them. */

const folder = mkdtempSync(join(tmpdir(), 'gloaming-alignment-rows-'));
const environment = {
  GLOAMING_INDEXES: join(folder, 'indexes'),
  GLOAMING_DATA: join(folder, 'data'),
  GLOAMING_ENCODER: 'baseline-1',
};
const demo = simulateProteins(11, 120);
const { id, sequence } = demo.proteins.find((protein) => trueHomologs(demo, protein.id).length > 4)!;
const one = join(folder, 'one.fasta');

beforeAll(async () => {
  writeFileSync(one, `>${id}\n${sequence}\n`);
  const appliance = await openAppliance(loadConfig(environment));
  const release = await copyDemoRelease(environment.GLOAMING_INDEXES, 11, 120);
  const publishedAt = new Date().toISOString();
  await appliance.releases.publish({ id: release.id, slug: 'demo', publishedAt, manifest: release.manifest });
  await appliance.close();
});
afterAll(() => rmSync(folder, { recursive: true }));

const align = (...words: readonly string[]): Promise<Printed> =>
  runProgram(environment, ['search', '-d', 'demo', '-f', 'a3m', ...words]);

describe('an alignment of search', () => {
  it('has only the query where nothing aligns, and warns of that', async () => {
    const { stdout, stderr } = await align(one, '--filter', 'length>100000');
    expect(stdout).toBe(`>${id}\n${sequence}\n`);
    expect(stderr).toContain(`msa_query_only: nothing aligns with ${id}.\n`);
    expect(stderr).toContain('0 rows besides the query.\n');
  });

  it('says once that the cut-offs left out every row', async () => {
    const changed = join(folder, 'changed.fasta');
    const first = sequence.startsWith('M') ? 'A' : 'M';
    const text = first + sequence.slice(1, -1) + (sequence.endsWith('W') ? 'A' : 'W');
    writeFileSync(changed, `>changed\n${text}\n`);
    const { stdout, stderr } = await align(changed, '--min-identity', '100%', '--min-query-coverage', '1');
    expect(stdout).toBe(`>changed\n${text}\n`);
    expect(stderr).toContain('120 of 120 candidates do not pass the cut-offs');
    expect(stderr).toContain('msa_query_only: no row of changed is within the cut-offs.\n');
    expect(stderr).toContain('0 rows besides the query.\n');
    expect(stderr).not.toContain('nothing aligns');
    expect(stderr).not.toContain('are not likely enough');
  });

  it('keeps its best rows by --selection rank, and rows of varied identity otherwise', async () => {
    const idsOf = async (...words: readonly string[]): Promise<readonly string[]> => {
      const { stdout } = await align(one, '--min-query-coverage', '0', ...words);
      return [...stdout.matchAll(/^>(\S+)/gm)].map(([, row]) => row);
    };
    const all = await idsOf();
    expect(all.length).toBeGreaterThan(4);
    expect(await idsOf('--max-sequences', '4', '--selection', 'rank')).toEqual(all.slice(0, 4));
    const spread = await idsOf('--max-sequences', '4');
    expect(spread).toHaveLength(4);
    expect(await idsOf('--max-sequences', '4', '--selection', 'identity_strata')).toEqual(spread);
    const table = await runProgram(environment, ['search', one, '-d', 'demo', '--selection', 'rank']);
    expect(table).toMatchObject({ code: 2, stderr: expect.stringContaining('--format a3m') as string });
  });
});
