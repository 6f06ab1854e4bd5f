import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readLabels } from '#bench/tools/labels.js';
import { createTruths } from '#bench/tools/truth.js';
import { measureSensitivity, type Hit } from '#bench/sensitivity/metrics.js';
import { seededRandom } from '#src/random.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ROOT } from '../../tools/paths.js';

/* The metrics of the bench against evaluate.py of the shared data, on random files with every special case. */

const root = ROOT;
const script = join(process.env.GLOAMING_SHARED ?? join(root, '..', 'shared'), 'data', 'evaluate.py');

const { scope, curated } = createTruths((a, b) => [a, b].some(({ superfamily }) => superfamily === 'b.1.1'));

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gloaming-metrics-'));
});

afterAll(async () => rm(folder, { recursive: true }));

describe('the sensitivity metrics', () => {
  it('count up to the first false hit at each level, and cap the recall', async () => {
    const path = await writeLabels([
      ['q', 'a.1.1.1', 'dev'],
      ['family', 'a.1.1.1', 'train'],
      ['missed', 'a.1.1.1', 'train'],
      ['cousin', 'a.1.1.2', 'train'],
      ['catch-all', 'a.1.1.0', 'train'],
      ['fold', 'a.1.2.1', 'train'],
      ['false', 'b.1.1.1', 'train'],
    ]);
    const ranked = ['q', 'family', 'fold', 'catch-all', 'false', 'cousin'];
    const hits = ranked.map((targetId, at) => ({ queryId: 'q', targetId, score: -at }));
    const figures = measureSensitivity(hits, new Set(['q']), readLabels(path), scope);
    expect(figures).toEqual({
      to1stFP_family: 1 / 2,
      to1stFP_superfamily: 0,
      to1stFP_fold: 1,
      'cR@1': 1,
      'cR@10': 3 / 4,
      'cR@100': 3 / 4,
      // The first false hit of another superfamily is in the same fold. That of another fold is the last but one.
      'sf2_SEPQ0.1': 1 / 4,
      sf2_SEPQ1: 1 / 4,
      sf2_SEPQ10: 3 / 4,
      'sf3_SEPQ0.1': 2 / 4,
      sf3_SEPQ1: 2 / 4,
      sf3_SEPQ10: 3 / 4,
    });
  });

  it('pass over pairs of related folds under the curated truth', async () => {
    const path = await writeLabels([
      ['q', 'a.1.1.1', 'dev'],
      ['family', 'a.1.1.1', 'train'],
      ['related', 'b.1.1.1', 'train'],
      ['cousin', 'a.1.1.2', 'train'],
      ['false', 'b.2.1.1', 'train'],
      ['late', 'a.1.1.2', 'train'],
    ]);
    const ranked = ['related', 'family', 'cousin', 'false', 'late'];
    const hits = ranked.map((targetId, at) => ({ queryId: 'q', targetId, score: -at }));
    const figuresOf = (truth: typeof scope) =>
      measureSensitivity(hits, new Set(['q']), readLabels(path), truth);
    const before = { to1stFP_family: 0, to1stFP_superfamily: 0, sf2_SEPQ1: 0, sf3_SEPQ1: 0 };
    expect(figuresOf(scope)).toMatchObject(before);
    const after = { to1stFP_family: 1, to1stFP_superfamily: 1 / 2, sf2_SEPQ1: 2 / 3, sf3_SEPQ1: 2 / 3 };
    expect(figuresOf(curated)).toMatchObject({ ...after, to1stFP_fold: 0, 'cR@10': 1 });
  });

  it.skipIf(!existsSync(script))('agree with evaluate.py', { timeout: 60_000 }, async () => {
    for (let seed = 1; seed <= 8; seed += 1) {
      const random = seededRandom(seed);
      const rows = Array.from({ length: 60 }, (_, at): [string, string, string] => {
        const sccs = `${'ab'[random.below(2)]}.${1 + random.below(3)}.${1 + random.below(2)}.${random.below(3)}`;
        return [`d${at}`, sccs, random.below(2) === 0 ? 'dev' : 'train'];
      });
      const path = await writeLabels(rows);
      const hits: Hit[] = rows.flatMap(([queryId]) =>
        rows
          .filter(() => random.below(3) > 0)
          // Few distinct scores, so that there are many ties.
          .map(([targetId]) => ({ queryId, targetId, score: random.below(25) / 8 - 2 })),
      );
      const file = join(folder, 'hits.tsv');
      const lines = hits.map(({ queryId, targetId, score }) => `${queryId}\t${targetId}\t${score}\n`);
      await writeFile(file, lines.join(''));
      const printed = execFileSync('python3', [script, path, file, '--split', 'dev', '--json']).toString();
      const expected = JSON.parse(printed) as Readonly<Record<string, number>>;
      const labels = readLabels(path);
      const queries = new Set([...labels].filter(([, { isDev }]) => isDev).map(([id]) => id));
      for (const [name, value] of Object.entries(measureSensitivity(hits, queries, labels, scope))) {
        expect(value, `${name}, seed ${seed}`).toBeCloseTo(expected[name]!, 9);
      }
    }
  });
});

/** The third folds of both classes count as one group. */
async function writeLabels(rows: readonly (readonly [string, string, string])[]): Promise<string> {
  const path = join(folder, 'labels.tsv');
  const group = (sccs: string): string =>
    sccs.startsWith('b.3.') ? 'a.3' : sccs.split('.').slice(0, 2).join('.');
  const lines = rows.map(([id, sccs, split]) => `${id}\t${sccs}\t${group(sccs)}\t${split}\n`);
  await writeFile(path, `id\tsccs\tfoldgroup\tsplit\n${lines.join('')}`);
  return path;
}
