import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, it } from 'vitest';
import { seededRandom } from '#src/random.js';
import { AMINO_ACIDS } from '#src/sequence/substitution.js';
import { PROGRAM } from '../tools/paths.js';

/* `index build --relatives auto` gives proteins their homologs only where a sample finds enough of them. */

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
/** A calibration leaves out proteins this short, and takes time as the square of the rest. */
const SHORT_RESIDUES = 25;
const randomProtein = (residues: number): string =>
  Array.from({ length: residues }, () => AMINO_ACIDS[random.below(20)]).join('');
/** Returns the protein with three in ten of its residues replaced at random. */
const mutated = (protein: string): string =>
  Array.from(protein, (letter) => (random.below(10) < 3 ? AMINO_ACIDS[random.below(20)] : letter)).join('');

const strangers = (count: number, residues = RESIDUES): readonly string[] =>
  Array.from({ length: count }, () => randomProtein(residues));
const homologSets = (count: number, size: number): readonly string[] =>
  strangers(count).flatMap((ancestor) => Array.from({ length: size }, () => mutated(ancestor)));
/** In an order that mixes them: a sample takes evenly spread proteins. */
const mixed = (...groups: readonly (readonly string[])[]): readonly string[] => {
  const placed = groups.flatMap((group) => group.map((protein, at) => ({ protein, at: at / group.length })));
  return placed.sort((one, other) => one.at - other.at).map(({ protein }) => protein);
};

/** @param isEnough ends the build once this holds of its standard output; default: the build ends by itself */
async function build(name: string, proteins: readonly string[], isEnough?: (stdout: string) => boolean) {
  const fasta = join(folder, `${name}.fasta`);
  writeFileSync(fasta, proteins.map((sequence, index) => `>p${index}\n${sequence}\n`).join(''));
  const words = [PROGRAM, 'index', 'build', fasta, '--name', name, '--no-qualification'];
  const child = spawn(process.execPath, words, { env: environment, stdio: ['ignore', 'pipe', 'pipe'] });
  const output = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream].setEncoding('utf8').on('data', (text: string) => {
      output[stream] += text;
      if (isEnough?.(output.stdout)) child.kill('SIGKILL');
    });
  }
  const [status, signal] = (await once(child, 'close')) as [number | null, string | null];
  expect({ status, signal }, output.stderr).toEqual(
    isEnough === undefined ? { status: 0, signal: null } : { status: null, signal: 'SIGKILL' },
  );
  return output;
}

async function releaseCount(name: string): Promise<number> {
  const { stdout } = await run(process.execPath, [PROGRAM, 'index', 'list'], { env: environment });
  return stdout.split('\n').filter((line) => line.startsWith(`${name} `)).length;
}

it('--relatives auto gives the proteins of a database their homologs where a sample has enough', async () => {
  // The calibration of the second release takes half of the time, and is no part of the promise.
  const isPublished = (stdout: string): boolean => /homologs +[\d,]+ homologs of/.test(stdout);
  const related = await build('related', homologSets(100, 10), isPublished);
  expect(related.stderr).toMatch(
    /Of 100 sampled proteins \d+ have homologs among the others: homologs of all are searched now/,
  );
  expect(related.stdout).toMatch(/homologs +[\d,]+ homologs of [\d,]+ of 1,000 proteins, by our own search/);
  expect(await releaseCount('related')).toBe(2);
}, 1_200_000);

it('--relatives auto builds without homologs where a sample has too few', async () => {
  const alone = await build('alone', mixed(strangers(300), strangers(700, SHORT_RESIDUES)));
  expect(alone.stderr).toMatch(/Of 100 sampled proteins \d+ have homologs among the others: too few/);
  expect(await releaseCount('alone')).toBe(1);
}, 1_200_000);

it('--relatives auto takes no sample of a small database', async () => {
  const { stdout, stderr } = await build('small', homologSets(20, 10));
  expect(stderr).not.toContain('sampled proteins');
  expect(stdout).not.toContain('homologs  ');
}, 300_000);
