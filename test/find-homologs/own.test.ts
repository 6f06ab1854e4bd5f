import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, it } from 'vitest';
import { seededRandom } from '#src/random.js';
import { AMINO_ACIDS } from '#src/sequence/substitution.js';
import { PROGRAM } from '../tools/paths.js';

/* Which databases are given relatives unasked: those of which a sample shows that their proteins have some. */

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), 'gloaming-own-relatives-'));
afterAll(() => rmSync(folder, { recursive: true }));
const environment = {
  ...process.env,
  GLOAMING_INDEXES: join(folder, 'indexes'),
  GLOAMING_DATA: join(folder, 'data'),
};

const random = seededRandom(5);
const RESIDUES = 40;
const randomProtein = (): string =>
  Array.from({ length: RESIDUES }, () => AMINO_ACIDS[random.below(20)]).join('');
/** With three in ten of its residues drawn anew. */
const mutated = (protein: string): string =>
  Array.from(protein, (letter) => (random.below(10) < 3 ? AMINO_ACIDS[random.below(20)] : letter)).join('');

async function build(name: string, proteins: readonly string[], ...flags: string[]) {
  const fasta = join(folder, `${name}.fasta`);
  writeFileSync(fasta, proteins.map((sequence, index) => `>p${index}\n${sequence}\n`).join(''));
  const words = ['index', 'build', fasta, '--name', name, '--no-qualification', ...flags];
  return run(process.execPath, [PROGRAM, ...words], { env: environment });
}

async function releaseCount(name: string): Promise<number> {
  const { stdout } = await run(process.execPath, [PROGRAM, 'index', 'list'], { env: environment });
  return stdout.split('\n').filter((line) => line.startsWith(`${name} `)).length;
}

const strangers = (count: number): readonly string[] => Array.from({ length: count }, randomProtein);
const homologSets = (count: number, size: number): readonly string[] =>
  strangers(count).flatMap((ancestor) => Array.from({ length: size }, () => mutated(ancestor)));

it('gives proteins of families each other, and strangers nothing', async () => {
  const related = await build('related', homologSets(100, 10));
  expect(related.stderr).toMatch(
    /Of 100 sampled proteins \d+ have homologs among the others: homologs of all are searched now/,
  );
  expect(related.stdout).toMatch(/homologs +[\d,]+ homologs of [\d,]+ of 1,000 proteins, by our own search/);
  expect(await releaseCount('related')).toBe(2);

  const alone = await build('alone', strangers(1_000));
  expect(alone.stderr).toMatch(/Of 100 sampled proteins \d+ have homologs among the others: too few/);
  expect(await releaseCount('alone')).toBe(1);
}, 1_200_000);

it('leaves small databases alone', async () => {
  const { stdout, stderr } = await build('small', homologSets(20, 10));
  expect(stderr).not.toContain('sampled proteins');
  expect(stdout).not.toContain('homologs  ');
}, 300_000);
