import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { seededRandom } from '#src/random.js';
import { AMINO_ACIDS } from '#src/sequence/substitution.js';
import { runProgram, type Printed } from '../../tools/served-process.js';

/* Families as queries of `gloaming search`, on a database of the same families. */

type Json = Record<string, any>;

const folder = mkdtempSync(join(tmpdir(), 'gloaming-family-query-'));
const environment = {
  GLOAMING_INDEXES: join(folder, 'indexes'),
  GLOAMING_DATA: join(folder, 'data'),
  GLOAMING_ENCODER: 'baseline-1',
};
const random = seededRandom(5);
const letter = (): string => AMINO_ACIDS[random.below(20)];
const MEMBERS = [12, 3, 1, 7];
const families = MEMBERS.map((members, at) => {
  const ancestor = Array.from({ length: 60 }, letter);
  const rows = Array.from({ length: members }, (_, row) => ({
    id: `f${at}_${row}`,
    text: ancestor.map((of) => (random.share() < 0.7 ? of : letter())).join(''),
  }));
  return { id: `fam${at}`, rows };
});
const stockholm = families
  .map(({ id, rows }) => {
    const lines = rows.map((row) => `${row.id} ${row.text}\n`).join('');
    return `# STOCKHOLM 1.0\n#=GF ID ${id}\n${lines}//\n`;
  })
  .join('');
const path = (name: string): string => join(folder, name);

const gloaming = (...words: readonly string[]): Promise<Printed> => runProgram(environment, words);

beforeAll(async () => {
  writeFileSync(path('families.sto'), stockholm);
  const plain = families.map(({ id, rows }) => `>${id}\n${rows[0].text}\n`).join('');
  writeFileSync(path('plain.fasta'), plain);
  const words = ['--no-calibration', '--no-qualification'];
  expect(await gloaming('index', 'build', path('families.sto'), '--name', 'fam', ...words)).toMatchObject({
    code: 0,
  });
  const build = ['index', 'build', path('plain.fasta'), '--name', 'plain', '--homologs', 'none', ...words];
  expect(await gloaming(...build)).toMatchObject({ code: 0 });
}, 120_000);
afterAll(() => rmSync(folder, { recursive: true }));

async function answersOf(file: string): Promise<readonly Json[]> {
  const { code, stdout } = await gloaming('search', file, '-d', 'fam', '-f', 'json', '--sort', 'rank');
  expect(code).toBe(0);
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Json);
}

describe('a family as a query', () => {
  it('is the target that was made of the same alignment', async () => {
    const answers = await answersOf(path('families.sto'));
    expect(answers.map(({ query }) => query.id)).toEqual(families.map(({ id }) => id));
    for (const { query, candidates } of answers) {
      expect(candidates[0].target.id).toBe(query.id);
      expect(candidates[0].measurements.affine.normalized_score).toBe(1);
      expect(candidates[0].measurements.maxsim.bidirectional).toBeLessThan(0.01);
    }
  }, 60_000);

  it('is not the search of its consensus alone', async () => {
    const [family] = await answersOf(path('families.sto'));
    const consensus = family.candidates[0].target.sequence as string;
    writeFileSync(path('consensus.fasta'), `>fam0\n${consensus}\n`);
    const [alone] = await answersOf(path('consensus.fasta'));
    expect(alone.query.sha256).toBe(family.query.sha256);
    expect(alone.result_sha256).not.toBe(family.result_sha256);
    const { stdout } = await gloaming('search', path('consensus.fasta'), '-d', 'fam');
    expect(stdout).toContain(
      'compared as a single sequence: only the targets of this database have homologs',
    );
    expect((await gloaming('search', path('families.sto'), '-d', 'fam')).stdout).toContain('is a family');
  }, 60_000);

  it('may be an A3M file, which is named by its file', async () => {
    const { id, rows } = families[0];
    const members = rows.map((row) => `>${row.id}\n${row.text}\n`).join('');
    writeFileSync(path(`${id}.a3m`), `>${id}\n${rows[0].text}\n${members}`);
    const [{ query, candidates }] = await answersOf(path(`${id}.a3m`));
    expect([query.id, candidates[0].target.id]).toEqual([id, id]);
  }, 60_000);

  it.each([
    ['plain', []],
    ['fam', ['--query-range', '5-20']],
  ])('is refused in one sentence by %s with %j', async (database, words) => {
    const { code, stdout, stderr } = await gloaming('search', path('families.sto'), '-d', database, ...words);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(words.length > 0 ? /is a family, which is searched as a whole/ : /have none/);
  });

  it('is refused where its rows are unequal', async () => {
    writeFileSync(path('bad.sto'), '# STOCKHOLM 1.0\na MKV\nb MKVL\n//\n');
    const { code, stdout, stderr } = await gloaming('search', path('bad.sto'), '-d', 'fam');
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain('bad.sto');
  });
});
