import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { HOMOLOG_RULES } from '#src/homologs/rules.js';
import { seededRandom } from '#src/random.js';
import {
  addHomologSource,
  homologSourceDatabase,
  findHomologSource,
} from '#src/find-homologs/homolog-sources.js';
import { withoutDescriptors } from '../services/predictor/without-descriptors.js';
import { mmseqsVersion } from '#src/find-homologs/mmseqs-process.js';
import { mmseqsHomologs, parseMmseqsLine } from '#src/find-homologs/mmseqs.js';
import { BACKGROUND } from '#src/sequence/residue-scales.js';
import { AMINO_ACIDS, BLOSUM62 } from '#src/sequence/substitution.js';

const folder = mkdtempSync(join(tmpdir(), 'gloaming-mmseqs-test-'));
afterAll(() => rmSync(folder, { recursive: true }));

const random = seededRandom(4);

function draw(): string {
  let rest = (random.below(1e6) + 0.5) / 1e6;
  return AMINO_ACIDS[
    Math.max(
      0,
      BACKGROUND.findIndex((share) => (rest -= share) < 0),
    )
  ];
}

function randomProtein(length: number): string {
  return Array.from({ length }, draw).join('');
}

function mutated(protein: string, share: number): string {
  return [...protein].map((letter) => (random.below(1_000) < share * 1_000 ? draw() : letter)).join('');
}

/** A letter that BLOSUM62 scores with −1. */
function unlike(letter: string): string {
  const scores = BLOSUM62[AMINO_ACIDS.indexOf(letter)];
  return AMINO_ACIDS[scores.indexOf(-1)];
}

const members = (protein: string, name: string): [string, string][] =>
  Array.from({ length: 30 }, (_, index) => [`${name}${index}`, mutated(protein, 0.3 + 0.01 * index)]);

describe('a line of the table of mmseqs', () => {
  it('is parsed to a homolog with flanks', () => {
    const line = [
      'q7',
      't1',
      '1e-9',
      '0.5',
      '3',
      '6',
      '10',
      '5',
      '9',
      '2M1D2M',
      'AAAAcdefgAAAAAAAAAAAA',
    ].join('\t');
    const { query, homolog } = parseMmseqsLine(line, 2);
    expect(query).toBe(7);
    expect(homolog).toMatchObject({
      id: 't1',
      eValue: 1e-9,
      coverage: 0.4,
      round: 2,
      start: 2,
      cigar: '2M1D2M',
    });
    expect(homolog.residues.slice(homolog.residueStart, homolog.residueStart + 5)).toBe('CDEFG');
  });

  it('is a failure in any other form', () => {
    for (const line of ['', 'q1', 'x\t'.repeat(11), ['q1', ...'abcdefghij'].join('\t')]) {
      expect(() => parseMmseqsLine(line, 1)).toThrow('not an alignment');
    }
  });
});

describe.skipIf((await mmseqsVersion()) === undefined)('homologs by mmseqs (Debian: mmseqs2)', () => {
  const [mine, other] = [randomProtein(180), randomProtein(180)];
  const repeat = 'PQ'.repeat(90);
  /** Sequences that can make a profile drift: fusions of the two proteins, and low complexity. */
  const planted: [string, string][] = [
    ['fusion-1', mutated(mine, 0.4) + mutated(other, 0.3)],
    ['fusion-2', mutated(other, 0.3) + mutated(mine, 0.4)],
    ['repeat-1', randomProtein(100) + repeat],
    ['repeat-2', `${repeat}${randomProtein(100)}`],
  ];
  const fasta = join(folder, 'background.fasta');
  const all = [...members(mine, 'mine'), ...members(other, 'other'), ...planted];
  writeFileSync(fasta, all.map(([id, sequence]) => `>${id}\n${sequence}\n`).join(''));

  it(
    'are those of each protein after two rounds, without drift into a fused domain or low complexity',
    { timeout: 120_000 },
    async () => {
      const source = await addHomologSource(folder, 'planted', [fasta]);
      expect(source.sequences).toBe(all.length);
      expect(await findHomologSource(folder, 'planted')).toEqual(source);
      const finder = mmseqsHomologs(
        { database: homologSourceDatabase(folder, 'planted'), rounds: 2 },
        HOMOLOG_RULES,
        1,
      );
      const queries = [
        { sequence: mine + repeat.slice(0, 60) },
        { sequence: randomProtein(150) },
        { sequence: other },
      ];
      const [homologSet, alone, neighbour] = await finder.find(queries);
      const namesOf = ({ homologs }: typeof homologSet): string[] => [
        ...new Set(homologs.map(({ id }) => id.replace(/[-\d]+$/, ''))),
      ];
      expect(homologSet.homologs.length).toBeGreaterThan(15);
      expect(namesOf(homologSet).filter((name) => !['mine', 'fusion'].includes(name))).toEqual([]);
      expect(namesOf(neighbour).filter((name) => !['other', 'fusion'].includes(name))).toEqual([]);
      expect(alone.homologs).toEqual([]);
      // Of a fusion, only the aligned domain with its flanks may be in the homolog set.
      for (const { residues, coverage, start } of homologSet.homologs) {
        expect(residues.length).toBeLessThan(queries[0].sequence.length + 2 * 6 + 80);
        expect(coverage).toBeGreaterThanOrEqual(0.5);
        expect(start).toBeLessThan(90);
      }
      const again = await finder.find(queries.slice(0, 1));
      expect(again[0]).toEqual(homologSet);
    },
  );

  it('reject with the message of mmseqs if the database does not exist', async () => {
    const finder = mmseqsHomologs({ database: join(folder, 'nowhere'), rounds: 1 }, HOMOLOG_RULES, 1);
    await expect(finder.find([{ sequence: mine }])).rejects.toThrow(/mmseqs search failed/);
  });

  it('reject, and the process survives, if no file descriptor is left to start mmseqs', () => {
    const call = `return exports.runMmseqs(['version'], {});`;
    const outcome = withoutDescriptors(import.meta.resolve('#src/find-homologs/mmseqs-process.js'), call);
    expect(outcome).toEqual({ error: 'spawn mmseqs EMFILE' });
  });

  it('reject with the reason of the signal if the search is aborted', async () => {
    const finder = mmseqsHomologs(
      { database: homologSourceDatabase(folder, 'planted'), rounds: 2 },
      HOMOLOG_RULES,
      1,
    );
    const reason = new Error('enough');
    const stopping = AbortSignal.timeout(30);
    await expect(finder.find([{ sequence: mine }], { signal: AbortSignal.abort(reason) })).rejects.toBe(
      reason,
    );
    await expect(finder.find([{ sequence: mine }], { signal: stopping })).rejects.toThrow('timeout');
  });

  it(
    'lose what is alike by chance beside a domain if the rules say so, and reach into it otherwise',
    { timeout: 120_000 },
    async () => {
      // The homologs have the domain, and beside it, behind a gap, a stretch that resembles the rest of the protein a
      // little. In the second round each of them confirms the others.
      const domain = randomProtein(120);
      // Each third letter is kept, which BLOSUM62 scores with 5: in all 24, less than the gap and 22.
      const rest = [...randomProtein(60)]
        .map((letter, at) => (at % 3 === 0 ? 'EKQRT'[at % 5] : letter))
        .join('');
      const beside = [...rest.slice(0, 24)]
        .map((letter, at) => (at % 3 === 0 ? letter : unlike(letter)))
        .join('');
      const homologs = Array.from({ length: 12 }, (_, at): [string, string] => [
        `half${at}`,
        mutated(domain, 0.3) + randomProtein(2) + mutated(beside, 0.05) + randomProtein(80),
      ]);
      const path = join(folder, 'halves.fasta');
      writeFileSync(path, homologs.map(([id, sequence]) => `>${id}\n${sequence}\n`).join(''));
      await addHomologSource(folder, 'halves', [path]);
      const source = { database: homologSourceDatabase(folder, 'halves'), rounds: 2 };
      const sequence = domain + rest;
      const endsOf = async (areEndsCut: boolean): Promise<readonly number[]> => {
        const [{ homologs: found }] = await mmseqsHomologs(source, { ...HOMOLOG_RULES, areEndsCut }, 2).find([
          { sequence },
        ]);
        return found.map(({ start, coverage }) => Math.round(start + coverage * sequence.length));
      };
      const [whole, cut] = [await endsOf(false), await endsOf(true)];
      expect(whole.length).toBeGreaterThan(8);
      expect(whole.filter((end) => end > 138).length).toBeGreaterThan(2);
      expect(cut.length).toBe(whole.length);
      expect(cut.filter((end) => end > 138)).toEqual([]);
    },
  );

  it(
    'are left out if their composition explains them and the rules say so',
    { timeout: 120_000 },
    async () => {
      // Unrelated proteins of asparagine, lysine and isoleucine, as Plasmodium has them, and a true homolog.
      const biased = (length: number): string =>
        [...randomProtein(length)]
          .map((letter) => (random.below(100) < 60 ? 'NNNKKI'[random.below(6)] : letter))
          .join('');
      const [protein, relative] = [biased(900), randomProtein(300)];
      const entries = [
        ...Array.from({ length: 30 }, (_, at): [string, string] => [`chance${at}`, biased(900)]),
        ['true', mutated(relative, 0.3)] as const,
      ];
      const path = join(folder, 'biased.fasta');
      writeFileSync(path, entries.map(([id, sequence]) => `>${id}\n${sequence}\n`).join(''));
      await addHomologSource(folder, 'biased', [path]);
      const source = { database: homologSourceDatabase(folder, 'biased'), rounds: 2 };
      const idsOf = async (maxComposedEValue?: number): Promise<readonly (readonly string[])[]> => {
        const rules = { ...HOMOLOG_RULES, areEndsCut: true, maxComposedEValue };
        const sets = await mmseqsHomologs(source, rules, 2).find([
          { sequence: protein },
          { sequence: relative },
        ]);
        return sets.map(({ homologs }) => homologs.map(({ id }) => id));
      };
      const [chance] = await idsOf();
      expect(chance.length).toBeGreaterThan(0);
      expect(await idsOf(1e-3)).toEqual([[], ['true']]);
    },
  );
});
