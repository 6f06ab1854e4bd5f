import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { DEMO_SLUG } from '#src/demo/demo.js';
import { batchFolder, readEndOf } from '#src/pipelines/batch/plan.js';
import { openDemoAppliance, type DemoAppliance } from '../../tools/demo-appliance.js';
import { runProgram, type Printed } from '../../tools/served-process.js';

/* `--max-hsps` of both commands that search, on a simulated database with E-values. */

let demo: DemoAppliance;
const run = (...words: readonly string[]): Promise<Printed> => runProgram(demo.environment, words);

beforeAll(async () => {
  demo = await openDemoAppliance({ seed: 11, proteins: 120 });
  await demo.appliance.close();
  const words = ['--full', '--sample', '120', '--no-qualification'];
  expect((await run('index', 'calibrate', DEMO_SLUG, ...words)).code).toBe(0);
}, 240_000);
afterAll(() => demo.remove());

it('batch search says how many targets have more alignments, and search warns of repeated ids', async () => {
  const query = join(demo.folder, 'query.fasta');
  const [first, second] = demo.demo.proteins.filter(({ sequence }) => sequence.length > 100);
  const twice = second!.sequence + first!.sequence + second!.sequence;
  writeFileSync(query, `>twice\n${twice}\n>twice\n${twice}\n`);
  const words = [query, '-d', DEMO_SLUG, '--limit', '5', '--max-hsps', '1', '--database-size', '1'];
  const searched = await run('search', ...words, '--format', 'm8');
  const line = /^\d+ targets have more than 1 alignments; the others are left out \(--max-hsps\)\.$/m;
  const [cut] = line.exec(searched.stderr) ?? [];
  expect(cut).toBeDefined();
  expect(searched.stderr.match(/query_ids_repeated: 1 query has/g)).toHaveLength(1);
  const batch = (name: string, ...more: string[]) =>
    run('batch', 'search', ...words, '-o', join(demo.folder, name), ...more);
  expect((await batch('a.parquet')).stderr).toContain(`${cut}\n`);
  expect((await batch('b.parquet', '--parts', '3')).stderr).toContain(`${cut}\n`);
  const whole = await run('batch', 'search', ...words.slice(0, 5), '-o', join(demo.folder, 'c.parquet'));
  expect(whole.stderr).not.toContain('--max-hsps');
}, 240_000);

it('a chunk that an earlier version has finished is read', async () => {
  const folder = batchFolder(join(demo.folder, 'earlier.work'));
  mkdirSync(join(folder.path, 'results'), { recursive: true });
  writeFileSync(folder.end(0), '["ab","cd"]');
  expect(await readEndOf(folder, 0)).toEqual({ digests: ['ab', 'cd'], cutCount: 0 });
});
