import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadConfig } from '#src/config.js';
import { findDomains } from '#src/domains/find.js';
import type { AnnotatedProtein } from '#src/domains/domain.js';
import { seededRandom } from '#src/random.js';
import { unfilteredSpace } from '#src/release/filter/target-space.js';
import { openSearcher, type Searcher } from '#src/searcher.js';
import type { SearchEngine } from '#src/search/search-types.js';
import { NORMALIZATION_ID } from '#src/sequence/protein.js';
import { ROOT } from '../tools/paths.js';
import { runProgram } from '../tools/served-process.js';

/* Repeats of one family in a protein. The families are simulated from stretches of real proteins. */

const folder = mkdtempSync(join(tmpdir(), 'gloaming-repeats-'));
const environment = { GLOAMING_INDEXES: join(folder, 'indexes'), GLOAMING_DATA: join(folder, 'data') };
const FAMILIES = 30;
const RESIDUES = 80;
const LINKER = 40;
const random = seededRandom(8);
/** Residues of real proteins, because E-values suit compositions of proteins. */
const real = gunzipSync(readFileSync(join(ROOT, 'examples', 'proteins.fasta.gz')))
  .toString()
  .split('>')
  .map((entry) => entry.split('\n').slice(1).join(''))
  .filter((sequence) => sequence.length > 2 * RESIDUES);
const stretch = (at: number, count: number): string => real[at].slice(0, count);
/** Replaces a share of the residues by those of another protein. */
const mutated = (ancestor: string, share: number): string => {
  const other = real[random.below(real.length)];
  return [...ancestor].map((letter, at) => (random.share() < share ? other[at] : letter)).join('');
};

const ancestors = Array.from({ length: FAMILIES }, (_, at) => stretch(at, RESIDUES));
/** The last copy is the most distant one. */
const copies = [0.3, 0.3, 0.3, 0.3, 0.3, 0.62].map((share) => mutated(ancestors[0], share));
const protein = copies.map((copy, at) => stretch(FAMILIES + at, LINKER) + copy).join('');
const placesOfCopies = copies.map((_, at) => at * (LINKER + RESIDUES) + LINKER);

let searcher: Searcher;
let engine: SearchEngine;
beforeAll(async () => {
  const stockholm = ancestors.map((ancestor, at) => {
    const rows = Array.from({ length: 12 }, (_, row) => `row_${row} ${mutated(ancestor, 0.3)}\n`);
    return `# STOCKHOLM 1.0\n#=GF ID fam${at}\n${rows.join('')}//\n`;
  });
  const file = join(folder, 'families.sto');
  writeFileSync(file, stockholm.join(''));
  const built = await runProgram(environment, [
    'index',
    'build',
    file,
    '--name',
    'fam',
    '--encoder',
    'gloaming-5',
  ]);
  expect(built, built.stderr).toMatchObject({ code: 0 });
  searcher = await openSearcher(loadConfig({ ...process.env, ...environment }));
  engine = await searcher.engines.open(searcher.releases.database('fam')!.defaultReleaseId);
}, 300_000);
afterAll(async () => {
  await searcher.close();
  rmSync(folder, { recursive: true });
});

async function annotate(sequence: string, maxEValue: number): Promise<AnnotatedProtein> {
  const settings = {
    targetSpace: unfilteredSpace(engine.release),
    limit: 20,
    guarantee: 'exhaustive',
  } as const;
  const query = { id: 'repeats', sequence, normalizationId: NORMALIZATION_ID };
  const [annotated] = await findDomains([query], engine, { maxEValue, rounds: 1, settings });
  return annotated;
}

describe('repeats of a family', () => {
  it('are found by one search of the protein, each at its place', async () => {
    const { domains } = await annotate(protein, 0.01);
    expect(domains.map(({ family }) => family.id)).toEqual(copies.map(() => 'fam0'));
    for (const [at, { start, end }] of domains.slice(0, -1).entries()) {
      expect(Math.abs(start - placesOfCopies[at]), `start of copy ${at}`).toBeLessThanOrEqual(10);
      expect(Math.abs(end - placesOfCopies[at] - RESIDUES), `end of copy ${at}`).toBeLessThanOrEqual(10);
    }
    // Of the distant copy only the best conserved part is found.
    expect(domains.at(-1)!.start).toBeGreaterThanOrEqual(placesOfCopies.at(-1)! - 10);
  });

  it('need only a small conditional E-value beside a stronger one', async () => {
    const { domains } = await annotate(protein, 0.01);
    const weakest = domains.at(-1)!;
    expect(weakest.conditionalLogEValue).toBeCloseTo(weakest.logEValue - Math.log(FAMILIES), 10);
    const cutOff = Math.exp(weakest.logEValue) / 2;
    for (const { logEValue } of domains.slice(0, -1)) expect(logEValue).toBeLessThan(Math.log(cutOff));
    const beside = (await annotate(protein, cutOff)).domains;
    expect(beside.map(({ logEValue }) => logEValue)).toEqual(domains.map(({ logEValue }) => logEValue));
    // Alone, the distant copy needs an E-value within the cut-off.
    const alone = protein.slice(-RESIDUES - LINKER);
    const [found] = (await annotate(alone, 0.01)).domains;
    expect((await annotate(alone, Math.exp(found.logEValue) / 2)).domains).toEqual([]);
  });

  it('are no fragments of some residues, whatever the cut-off', async () => {
    const { domains } = await annotate(protein, 10);
    for (const { start, end } of domains) expect(end - start).toBeGreaterThanOrEqual(4);
  });
});
