import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { canonicalSha256 } from '#src/canonical.js';
import { DEMO_SLUG } from '#src/demo/demo.js';
import { homologyProbability, probabilityText, type ProbabilityCard } from '#src/significance/probability.js';
import { buildBench, type Bench, type Json, type Serving } from '../runs/runs-served.js';
import { ROOT } from '../../tools/paths.js';
import { runProgram, type Printed } from '../../tools/served-process.js';

/* Probabilities of homology: over HTTP, in runs and on the command line. */

const PROTEINS = 120;
const ENCODER = 'baseline-1';

let bench: Bench;
let serving: Serving;
let fasta: string;
let card: ProbabilityCard;

const gloaming = (...words: readonly string[]): Promise<Printed> => runProgram(bench.environment, words);

const askedFor = (members: Json): Json => ({
  query: { kind: 'protein_sequence', sequence: bench.sequences[5].slice(4) },
  limit: 20,
  ...members,
});
const ask = (members: Json = {}) => serving.call('POST', '/v1/homology', { body: askedFor(members) });

const measurementsIn = ({ candidates }: Json): Json[] =>
  candidates.map(({ significance }: Json) => significance.measurements);

beforeAll(async () => {
  bench = await buildBench(PROTEINS);
  fasta = join(bench.folder, 'query.fasta');
  writeFileSync(fasta, `>one\n${bench.sequences[5].slice(4)}\n`);
  // The encoder of the user, which hides the shipped one of the same name, has a table.
  const own = join(bench.environment.GLOAMING_INDEXES, 'encoders', ENCODER);
  cpSync(join(ROOT, 'indexes', 'encoders', ENCODER), own, { recursive: true });
  const digest = canonicalSha256(JSON.parse(readFileSync(join(own, 'card.json'), 'utf8')));
  card = {
    format: 'gloaming-probability/1',
    encoder_sha256: digest,
    target_count: 50,
    query_count: 1,
    pair_count: 1,
    log_e_values: [-10, 10],
    log_odds: [5, -5],
  };
  serving = await bench.start();
  expect((await ask({ probability: 'required' })).status).toBe(422);
  await serving.stop();
  mkdirSync(join(own, 'null'));
  writeFileSync(join(own, 'null', 'probability.json'), probabilityText(card));
  serving = await bench.start();
}, 120_000);
afterAll(async () => {
  await serving.stop();
  bench.remove();
});

describe('probabilities of homology', () => {
  it('are refused in one sentence while the release has no E-values', async () => {
    const { status, body } = await ask({ probability: 'required' });
    expect(status).toBe(422);
    expect(body.error).toMatchObject({ code: 'significance_unavailable', param: 'probability' });
    const { code, stdout, stderr } = await gloaming('search', fasta, '-d', DEMO_SLUG, '--probability');
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain('Calibrate the release first');
    const words = ['--full', '--sample', String(PROTEINS), '--no-qualification'];
    expect((await gloaming('index', 'calibrate', DEMO_SLUG, ...words)).code).toBe(0);
  }, 180_000);

  it('stand beside the E-values where a request asks for them, and change nothing else', async () => {
    const [{ body: plain }, { body }] = [await ask(), await ask({ probability: 'required' })];
    for (const measurements of measurementsIn(plain)) {
      expect(measurements).not.toHaveProperty('homology_probability');
    }
    for (const { homology_probability: probability, ...others } of measurementsIn(body)) {
      expect(measurementsIn(plain)).toContainEqual(others);
      const expected = homologyProbability(card, others.log_expected_false_hits, PROTEINS);
      expect(probability).toBeCloseTo(expected, 10);
    }
    expect(body.result_sha256).toBe(plain.result_sha256);
    const read = await serving.call('GET', `/v1/receipts/${body.receipt.id}`);
    expect(read.body.data.content.parameters.probability).toBe('required');
  });

  it('do not depend on a given database size', async () => {
    const [{ body: plain }, { body: scaled }] = [
      await ask({ probability: 'required' }),
      await ask({ probability: 'required', database_size: 1_000_000 }),
    ];
    const probabilities = (answer: Json) =>
      measurementsIn(answer).map(({ homology_probability: probability }) => probability);
    expect(probabilities(scaled)).toEqual(probabilities(plain));
  });

  it('are left out where they are asked for if available and E-values are not', async () => {
    const { status, body } = await ask({ probability: 'if_available', significance: 'not_requested' });
    expect(status).toBe(200);
    for (const measurements of measurementsIn(body)) expect(measurements).toEqual({});
    const { body: judged } = await ask({ probability: 'if_available' });
    for (const { homology_probability: probability } of measurementsIn(judged)) {
      expect(probability).toBeGreaterThan(0);
    }
  });

  it('are refused without significance', async () => {
    const { status, body } = await ask({ probability: 'required', significance: 'not_requested' });
    expect(status).toBe(422);
    expect(body.error.message).toContain('leaves out');
  });

  it('are in the rows of runs, and in the column prob of their exports', async () => {
    const run = async (endpoint: string, input: Json): Promise<Json> => {
      const headers = { Prefer: 'wait=30' };
      const { body } = await serving.call('POST', '/v1/runs', { body: { endpoint, input }, headers });
      expect(body.data.status).toBe('completed');
      return body.data;
    };
    const members = { probability: 'required', evidence: 'pairwise_sequence_alignment' };
    const { body: direct } = await ask(members);
    const { id } = await run('homology.search', askedFor(members));
    const rows = (await serving.call('GET', `/v1/runs/${id}/results`)).body.data;
    expect(rows).toEqual(direct.candidates);
    const text = { run_id: id, format: 'mmseqs', format_output: 'target,prob' };
    const { result } = await run('homology.export', text);
    const { file_id: fileId, path } = result.summary.file;
    const headers = { Authorization: `Bearer ${bench.keys.lab}` };
    const file = await fetch(`${serving.server.url}/v1/storage/files/${fileId}/${basename(path)}`, {
      headers,
    });
    const expected = direct.candidates.map(
      ({ target, significance }: Json) =>
        `${target.id}\t${significance.measurements.homology_probability.toFixed(3)}`,
    );
    expect((await file.text()).trimEnd().split('\n').sort()).toEqual([...expected].sort());
  }, 60_000);

  it('are columns of the table, of TSV and of MMseqs2 on the command line', async () => {
    const search = (...words: string[]) =>
      gloaming('search', fasta, '-d', DEMO_SLUG, '--limit', '20', ...words);
    const { stdout: table } = await search('--probability');
    expect(table).toMatch(/E-value +P +coverage/);
    const rowsOf = (text: string) =>
      text
        .trimEnd()
        .split('\n')
        .map((line) => line.split('\t'));
    const [head, ...rows] = rowsOf((await search('--probability', '--format', 'tsv')).stdout);
    expect(head.at(-1)).toBe('significance.homology_probability');
    const byTarget = new Map(rows.map((row) => [row[1], Number(row.at(-1))]));
    const { body } = await ask({ probability: 'required' });
    for (const { target, significance } of body.candidates) {
      expect(byTarget.get(target.id)).toBeCloseTo(significance.measurements.homology_probability, 10);
    }
    const { stdout } = await search('--format-output', 'target,prob');
    for (const [target, probability] of rowsOf(stdout)) {
      expect(Number(probability)).toBeCloseTo(byTarget.get(target)!, 3);
    }
    const plain = rowsOf((await search('--format', 'tsv')).stdout);
    expect(plain[0]).toEqual(head.slice(0, -1));
  }, 60_000);
});
