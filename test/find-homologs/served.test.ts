import { execFile } from 'node:child_process';
import { readdirSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { seededRandom } from '#src/random.js';
import { AMINO_ACIDS } from '#src/sequence/substitution.js';
import { buildBench, type Bench, type Json, type Serving } from '../services/runs/runs-served.js';
import { PROGRAM } from '../tools/paths.js';

/* A database whose proteins are each other's relatives, built by the command line and searched on a server. */

const run = promisify(execFile);
/** Chosen because its E-value is far from the threshold even with a calibration of few simulated proteins. */
const QUERY = 33;

let bench: Bench;
let serving: Serving;
let built: string;

async function gloaming(...words: string[]): Promise<string> {
  const environment = { ...process.env, ...bench.environment };
  return (await run(process.execPath, [PROGRAM, ...words], { env: environment })).stdout;
}

beforeAll(async () => {
  bench = await buildBench(300);
  const fasta = join(dirname(bench.environment.GLOAMING_DATA!), 'lab.fasta');
  const family = Array.from({ length: 8 }, () => mutated(bench.sequences[QUERY]));
  const proteins = [...bench.sequences, ...family];
  writeFileSync(fasta, proteins.map((sequence, index) => `>p${index}\n${sequence}\n`).join(''));
  built = await gloaming('index', 'build', fasta, '--name', 'lab', '--relatives', 'self');
  serving = await bench.start();
}, 600_000);
afterAll(async () => {
  await serving.stop();
  bench.remove();
});

const random = seededRandom(3);

/** Replaces 20 % of the residues by random ones. */
function mutated(protein: string): string {
  return [...protein]
    .map((letter) => (random.below(5) < 1 ? AMINO_ACIDS[random.below(20)] : letter))
    .join('');
}

async function search(settings: Json = {}): Promise<Json> {
  const query = { kind: 'protein_sequence', sequence: bench.sequences[QUERY] };
  const body = { query, database: 'lab', limit: 10, ...settings };
  const { status, body: answer } = await serving.call('POST', '/v1/homology', { body });
  expect(status).toBe(200);
  return answer;
}

describe('a database that is built with homologs from its own proteins', () => {
  it('names the release without homologs that it was built from, which stays searchable', async () => {
    expect(built).toMatch(/[\d,]+ homologs of [\d,]+ of [\d,]+ proteins, by our own search of dbr_/);
    const { data } = (await serving.call('GET', '/v1/homology/databases/lab/releases', {})).body as Json;
    expect(data).toHaveLength(2);
  });

  it('searches homologs of a query, and reports their number and the time', async () => {
    const answer = await search();
    expect(answer.query.relative_count).toBeGreaterThan(0);
    expect(answer.performance.relatives_search_ms).toBeGreaterThan(0);
    expect(answer.candidates[0].target.id).toBe(`p${QUERY}`);
    expect(answer.candidates[0].measurements.maxsim.bidirectional).toBeLessThan(0.01);
    const isJudged = answer.candidates[0].significance.measurements.expected_false_hits !== undefined;
    const warned = answer.warnings.map(({ code }: { code: string }) => code).includes('e_values_of_families');
    expect(warned).toBe(isJudged);
    const again = await search({ limit: 9 });
    expect(again.query.relative_count).toBe(answer.query.relative_count);
    expect(again.performance.relatives_search_ms).toBeLessThanOrEqual(answer.performance.relatives_search_ms);
  });

  it('encodes a query without homologs on request, and does not confuse the two results', async () => {
    const [related, alone] = [await search(), await search({ relatives: 'none' })];
    expect(alone.query.relative_count).toBe(0);
    expect(alone.result_sha256).not.toBe(related.result_sha256);
    expect((await search()).result_sha256).toBe(related.result_sha256);
  });

  it('protects the release that is its homolog source from removal', async () => {
    const homologSource = /by our own search of (dbr_\w+)/.exec(built)![1];
    await expect(gloaming('index', 'remove', homologSource, '--yes')).rejects.toThrow('remove that first');
    const lab = join(bench.environment.GLOAMING_INDEXES!, 'lab');
    const user = readdirSync(lab).find((name) => /^dbr_\w+$/.test(name) && name !== homologSource)!;
    const manifest = join(lab, user, 'manifest.json');
    // The catalog knows the homolog source of a release that cannot be read.
    renameSync(manifest, `${manifest}.away`);
    await expect(gloaming('index', 'remove', homologSource, '--yes')).rejects.toThrow('remove that first');
    renameSync(`${manifest}.away`, manifest);
  });

  it('issues receipts that can be verified, with and without homologs of the query', async () => {
    for (const homologs of ['as_release', 'none'] as const) {
      const { receipt } = await search({ relatives: homologs });
      expect(await gloaming('verify', receipt.id)).toContain('bit for bit');
    }
  });
});
