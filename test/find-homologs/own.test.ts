import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, it } from 'vitest';
import { seededRandom } from '#src/random.js';
import { AMINO_ACIDS } from '#src/sequence/substitution.js';
import { PROGRAM } from '../tools/paths.js';

/* `--relatives auto`, the default, builds with homologs if a sample of the proteins has enough of them. */

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
/** Replaces 30 % of the residues by random ones. */
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

const unrelatedProteins = (count: number): readonly string[] => Array.from({ length: count }, randomProtein);
const homologSets = (count: number, size: number): readonly string[] =>
  unrelatedProteins(count).flatMap((ancestor) => Array.from({ length: size }, () => mutated(ancestor)));

it('`--relatives auto` builds with homologs if a sample finds enough of them, and without otherwise', async () => {
  const related = await build('related', homologSets(100, 10));
  expect(related.stderr).toMatch(
    /Of 100 sampled proteins \d+ have relatives among the others: all are given/,
  );
  expect(related.stdout).toMatch(
    /relatives +[\d,]+ relatives of [\d,]+ of 1,000 proteins, by our own search/,
  );
  expect(await releaseCount('related')).toBe(2);

  const alone = await build('alone', unrelatedProteins(1_000));
  expect(alone.stderr).toMatch(/Of 100 sampled proteins \d+ have relatives among the others: too few/);
  expect(await releaseCount('alone')).toBe(1);
}, 1_200_000);

it('`--relatives auto` builds a small database without homologs', async () => {
  const { stdout, stderr } = await build('small', homologSets(20, 10));
  expect(stderr).not.toContain('sampled proteins');
  expect(stdout).not.toContain('relatives  ');
}, 300_000);
