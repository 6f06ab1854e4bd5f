import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { trueHomologs } from '#src/demo/check.js';
import { DEMO_SLUG } from '#src/demo/demo.js';
import { neighboursDirectory } from '#src/neighbours/card.js';
import { readNeighboursCard, writeNeighboursCard } from '#src/neighbours/sidecar.js';
import { openDemoAppliance, type DemoAppliance } from '../../tools/demo-appliance.js';
import { runProgram, type Printed } from '../../tools/served-process.js';

/* `gloaming cluster`, as it is typed, on a simulated database whose families are known. */

const PROTEINS = 120;
let demo: DemoAppliance;

beforeAll(async () => {
  demo = await openDemoAppliance({ seed: 11, proteins: PROTEINS });
  await demo.appliance.close();
}, 120_000);
afterAll(() => demo.remove());

const run = (...words: readonly string[]): Promise<Printed> => runProgram(demo.environment, words);

const prefix = (name: string): string => join(demo.folder, name);
const cluster = (name: string, ...words: string[]) => run('cluster', DEMO_SLUG, '-o', prefix(name), ...words);
const linesOf = (path: string): readonly string[][] =>
  readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => line.split('\t'));

describe('gloaming cluster', () => {
  it('says in one sentence which command makes the neighbours that it needs, and writes nothing', async () => {
    const { code, stderr } = await cluster('early');
    expect(code).toBe(2);
    expect(stderr).toMatch(/has no neighbours.*run "gloaming index neighbours/);
    expect(readdirSync(demo.folder).filter((name) => name.startsWith('early'))).toEqual([]);
    const words = ['--full', '--sample', String(PROTEINS), '--no-qualification'];
    expect((await run('index', 'calibrate', DEMO_SLUG, ...words)).code).toBe(0);
    expect((await run('index', 'neighbours', DEMO_SLUG)).code).toBe(0);
  }, 300_000);

  it('lists each protein once behind its representative, as mmseqs does', async () => {
    const { code, stdout } = await cluster('found');
    expect(code).toBe(0);
    const pairs = linesOf(prefix('found_cluster.tsv'));
    const ids = demo.demo.proteins.map(({ id }) => id);
    expect(pairs.map(([, member]) => member).sort()).toEqual([...ids].sort());
    const representatives = new Set(pairs.map(([one]) => one));
    for (const one of representatives) expect(pairs).toContainEqual([one, one]);
    expect(stdout).toContain(`${representatives.size} of ${PROTEINS} proteins`);
    const records = readFileSync(prefix('found_rep_seq.fasta'), 'utf8').split('>').slice(1);
    expect(records.map((record) => record.split(/\s/)[0])).toEqual([...representatives]);
    const sequences = new Map(demo.demo.proteins.map(({ id, sequence }) => [id, sequence]));
    for (const record of records) {
      expect(record.trimEnd().split('\n')[1]).toBe(sequences.get(record.split(/\s/)[0]));
    }
  }, 60_000);

  it('puts true homologs together and others apart', async () => {
    // With the small baseline encoder, few pairs of a small database have an E-value below 0.1.
    await cluster('wide', '--max-evalue', '1');
    const familyOf = new Map(linesOf(prefix('wide_cluster.tsv')).map(([one, member]) => [member, one]));
    let [together, right] = [0, 0];
    for (const { id } of demo.demo.proteins) {
      const homologs = new Set(trueHomologs(demo.demo, id));
      for (const { id: other } of demo.demo.proteins) {
        if (other === id || familyOf.get(other) !== familyOf.get(id)) continue;
        together += 1;
        if (homologs.has(other)) right += 1;
      }
    }
    expect(together).toBeGreaterThan(40);
    expect(right / together).toBeGreaterThan(0.9);
  }, 60_000);

  it('describes each family in a table, the largest first', () => {
    const [head, ...rows] = linesOf(prefix('found_families.tsv'));
    expect(head.slice(0, 4)).toEqual(['family', 'representative', 'size', 'mean_length']);
    const sizes = rows.map((row) => Number(row[2]));
    expect(sizes).toEqual([...sizes].sort((a, b) => b - a));
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(PROTEINS);
    const [, , size, , , organismCount, organisms] = rows.at(-1)!;
    expect([size, organismCount]).toEqual(['1', '1']);
    expect(organisms).toMatch(/^[A-Z].* \(1\)$/);
  });

  it('gives the same bytes again, and other families by other parameters', async () => {
    await cluster('again');
    await cluster('strict', '--max-evalue', '1e-30', '--inflation', '4', '--coverage', '0.9');
    const bytes = (name: string): Buffer => readFileSync(prefix(`${name}_cluster.tsv`));
    expect(bytes('again').equals(bytes('found'))).toBe(true);
    const count = (name: string): number => linesOf(prefix(`${name}_families.tsv`)).length;
    expect(count('strict')).toBeGreaterThan(count('found'));
  }, 60_000);

  it('warns of neighbours that were found with an earlier calibration, and names the remedy', async () => {
    const { directory } = demo.release;
    const card = (await readNeighboursCard(directory))!;
    expect((await cluster('present')).stderr).not.toContain('warning');
    await writeNeighboursCard(directory, { ...card, calibration_id: `calib_${'0'.repeat(64)}` });
    const { code, stderr } = await cluster('outdated');
    await writeNeighboursCard(directory, card);
    expect(code).toBe(0);
    expect(stderr).toBe(
      `gloaming: warning: neighbours_outdated: The neighbours of ${DEMO_SLUG} have E-values of an earlier ` +
        `calibration: "gloaming index neighbours ${DEMO_SLUG}" finds them anew.\n`,
    );
  }, 60_000);

  it.each([
    [['--inflation', '1.3'], 'steps of 0.25'],
    [['--inflation', '1'], 'steps of 0.25'],
    [['--coverage', '2'], 'from 0 to 1'],
    [['--max-evalue', '0'], 'above 0'],
    [['--max-evalue', '20'], 'E-values up to 10'],
  ])('refuses %j in one sentence', async (words, message) => {
    const { code, stderr } = await cluster('refused', ...words);
    expect(code).not.toBe(0);
    expect(stderr).toContain(message);
    expect(existsSync(prefix('refused_cluster.tsv'))).toBe(false);
  });

  it('refuses a folder that does not exist, and a damaged graph, without files of its own', async () => {
    const nowhere = await run('cluster', DEMO_SLUG, '-o', join(demo.folder, 'no', 'where'));
    expect(nowhere.code).not.toBe(0);
    const folder = neighboursDirectory(demo.release.directory);
    const [edges] = readdirSync(folder).filter((name) => name.endsWith('.arrow'));
    writeFileSync(join(folder, edges), 'x');
    const damaged = await cluster('damaged');
    expect(damaged.code).not.toBe(0);
    expect(damaged.stderr.trim().split('\n')).toHaveLength(1);
    expect(existsSync(prefix('damaged_cluster.tsv'))).toBe(false);
    rmSync(folder, { recursive: true });
  });
});
