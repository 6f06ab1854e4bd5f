import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { seededRandom } from '#src/random.js';
import { mmseqsVersion } from '#src/find-homologs/mmseqs-process.js';
import { AMINO_ACIDS } from '#src/sequence/substitution.js';
import { PROGRAM } from '../../tools/paths.js';
import { buildBench, type Bench, type Json, type Serving } from '../runs/runs-served.js';
import { colabfoldClient, gather } from './colabfold-client.js';

/*
 * A database whose proteins have homologs from mmseqs. The members of a query's homolog set are rows of its alignment.
 */

const FAMILY = 40;
const random = seededRandom(5);

let bench: Bench;
let serving: Serving;
/** The query, and a protein of the homolog source with an id that the database also has. */
let query: string;
let shared: string;

async function gloaming(...words: string[]): Promise<void> {
  const environment = { ...process.env, ...bench.environment };
  await promisify(execFile)(process.execPath, [PROGRAM, ...words], { env: environment });
}

function mutated(protein: string, share: number): string {
  return [...protein]
    .map((letter) => (random.below(1_000) < share * 1_000 ? AMINO_ACIDS[random.below(20)] : letter))
    .join('');
}

function writeProteins(name: string, proteins: readonly (readonly [id: string, sequence: string])[]): string {
  const file = join(bench.folder, name);
  writeFileSync(file, proteins.map(([id, sequence]) => `>${id}\n${sequence}\n`).join(''));
  return file;
}

function start(settings: Json): Promise<Serving> {
  const file = join(bench.folder, `settings-${Object.values(settings).join('-')}.json`);
  // The database has no calibration, so its rows need no E-value.
  writeFileSync(file, JSON.stringify({ colabfold: { database: 'lab', max_evalue: null, ...settings } }));
  return bench.start({ GLOAMING_CONFIG: file });
}

const headersOf = (as: 'lab' | 'other') => ({
  Authorization: `Basic ${Buffer.from(`x:${bench.keys[as]}`).toString('base64')}`,
});

async function alignmentOf(on: Serving, mode: string, as: 'lab' | 'other' = 'lab') {
  const client = colabfoldClient(() => `${on.server.url}/colabfold`);
  const { id, files } = await client.run({ sequences: [query], mode, headers: headersOf(as) });
  const text = files.get('uniref.a3m')!;
  const lines = gather(text).get(101)!;
  const rows = lines.flatMap((line, at) =>
    line.startsWith('>') && at > 0 ? [{ columns: line.slice(1).split('\t'), row: lines[at + 1]! }] : [],
  );
  return { id, text, rows };
}

async function runOf(id: string): Promise<Json> {
  return (await serving.call('GET', `/v1/runs/${id}`, {})).body.data;
}

async function endpointsOf(on: Serving, as: 'lab' | 'other' = 'lab'): Promise<readonly string[]> {
  const { data } = (await on.call('GET', '/v1/runs?limit=100', { as })).body;
  return data.map(({ endpoint }: Json) => endpoint).sort();
}

describe.skipIf((await mmseqsVersion()) === undefined)('a database with relatives by mmseqs', () => {
  beforeAll(async () => {
    bench = await buildBench(20);
    query = bench.sequences[0]!;
    const family = Array.from(
      { length: FAMILY },
      (_, at) => [`near-${at}`, mutated(query, 0.3 + 0.008 * at)] as const,
    );
    shared = family[3]![1];
    const strangers = Array.from({ length: 20 }, (_, at) => [`other-${at}`, mutated(query, 1)] as const);
    const fasta = writeProteins('background.fasta', [...family, ...strangers]);
    await gloaming('background', 'add', fasta, '--name', 'natural');
    const proteins = bench.sequences.map((sequence, at) => [`p${at}`, sequence] as const);
    const lab = writeProteins('lab.fasta', [...proteins, ['near-3', shared]]);
    await gloaming('index', 'build', lab, '--name', 'lab', '--relatives', 'natural', '--no-calibration');
    serving = await start({});
  }, 300_000);
  afterAll(async () => {
    await serving?.stop();
    bench.remove();
  });

  it('gives an alignment the members of the homolog set, each protein once, by its E-value', async () => {
    const { rows } = await alignmentOf(serving, 'nofilter');
    const ids = rows.map(({ columns }) => columns[0]!);
    expect(new Set(ids).size).toBe(ids.length);
    const homologs = rows.filter(({ columns }) => columns[1] === 'nan');
    expect(homologs.length).toBeGreaterThan(FAMILY / 2);
    for (const { columns, row } of homologs) {
      expect(columns).toHaveLength(10);
      expect(columns[0]).toMatch(/^near-/);
      const [, , identity, eValue, start, end, length, targetStart, targetEnd] = columns.map(
        Number,
      ) as number[];
      expect(eValue).toBeLessThanOrEqual(1e-5);
      expect(identity).toBeLessThan(0.95);
      expect((end! - start! + 1) / length!).toBeGreaterThanOrEqual(0.5);
      expect(row.replace(/[a-z]/g, '')).toHaveLength(query.length);
      expect(row.replace(/[^A-Za-z]/g, '')).toHaveLength(targetEnd! - targetStart! + 1);
    }
    const eValues = homologs.map(({ columns }) => Number(columns[3]));
    expect(eValues).toEqual(eValues.toSorted((a, b) => a - b));
  });

  it('has the row of the database if that contains the homolog itself', async () => {
    const { rows } = await alignmentOf(serving, 'nofilter');
    const own = rows.find(({ columns }) => columns[0] === 'near-3')!;
    expect(Number(own.columns[1])).toBeGreaterThan(0);
    expect(shared).toContain(own.row.replace(/[^A-Za-z]/g, '').toUpperCase());
  });

  it('makes the same alignment from runs of others, and reuses its own', async () => {
    const [mine, theirs] = [await alignmentOf(serving, 'env'), await alignmentOf(serving, 'env', 'other')];
    expect(theirs.text).toBe(mine.text);
    expect((await alignmentOf(serving, 'env')).id).toBe(mine.id);
    expect(await endpointsOf(serving)).toEqual(['homology.search', 'sequences.relatives']);
    expect(await endpointsOf(serving, 'other')).toEqual(['homology.search', 'sequences.relatives']);
  });

  it('pairs only proteins of the database, by their taxa', async () => {
    const client = colabfoldClient(() => `${serving.server.url}/colabfold`);
    const request = { sequences: [query], isPaired: true, headers: headersOf('lab') };
    const { run_ids: runs } = await client.submit({ ...request, mode: 'pairgreedy' });
    expect(runs).toHaveLength(1);
    expect(await endpointsOf(serving)).toEqual(['homology.search', 'sequences.relatives']);
  });

  it('excludes the homolog source if the settings say so', async () => {
    const without = await start({ background_rows: false });
    try {
      const { rows } = await alignmentOf(without, 'nofilter');
      expect(rows.filter(({ columns }) => columns[1] === 'nan')).toEqual([]);
    } finally {
      await without.stop();
    }
  });

  it('returns the homologs of a protein in a run of their own', async () => {
    const { data: runs } = (await serving.call('GET', '/v1/runs?limit=100', {})).body;
    const { id } = runs.find(({ endpoint }: Json) => endpoint === 'sequences.relatives');
    const { data: run } = (await serving.call('GET', `/v1/runs/${id}`, {})).body;
    expect(run).toMatchObject({ status: 'completed', usage: { billable_units: 1 } });
    const { data: rows } = (await serving.call('GET', `/v1/runs/${id}/results?limit=1000`, {})).body;
    expect(rows).toHaveLength(run.result.summary.query.relative_count);
    for (const { residues, target_start: start, target_end: end, cigar } of rows as readonly Json[]) {
      expect(residues).toHaveLength(end - start);
      expect(cigar).toMatch(/^(\d+[=XID])+$/);
    }
  });

  it('returns homologs in a named source for a database whose proteins have none', async () => {
    const sent = { query: { kind: 'protein_sequence', sequence: query }, database: 'demo' };
    const create = (input: Json): Promise<Json> =>
      serving.call('POST', '/v1/runs', { body: { endpoint: 'sequences.relatives', input } });
    const { id } = (await create({ ...sent, homolog_source: 'natural' })).body.data;
    await expect.poll(async () => (await runOf(id)).status, { timeout: 60_000 }).toBe('completed');
    const { data: rows } = (await serving.call('GET', `/v1/runs/${id}/results?limit=1000`, {})).body;
    expect(rows.length).toBeGreaterThan(FAMILY / 2);
    for (const row of rows as readonly Json[]) {
      expect(row.id).toMatch(/^near-/);
      expect(row.expected_false_hits).toBeLessThanOrEqual(1e-3);
    }
    const { body } = await create({ ...sent, homolog_source: 'nowhere' });
    expect(body.error).toMatchObject({ code: 'relatives_unavailable', param: 'input.homolog_source' });
    // The database has no calibration, and E-values decide what enters a profile.
    const { id: inRounds } = (await create({ ...sent, rounds: 2 })).body.data;
    await expect.poll(async () => (await runOf(inRounds)).status, { timeout: 60_000 }).toBe('failed');
    expect((await runOf(inRounds)).error.code).toBe('significance_unavailable');
  });

  it('gives an alignment rows of the source that the settings name', async () => {
    const named = await start({ database: 'demo', homolog_source: 'natural', max_sequences: 100 });
    try {
      const { rows } = await alignmentOf(named, 'nofilter');
      const homologs = rows.filter(({ columns }) => columns[1] === 'nan');
      expect(homologs.length).toBeGreaterThan(FAMILY / 2);
      for (const { columns } of homologs) expect(columns[0]).toMatch(/^near-/);
      expect(new Set(rows.map(({ columns }) => columns[0])).size).toBe(rows.length);
    } finally {
      await named.stop();
    }
  });

  it('has a search of its own for pairs only if rounds find the rows of the other search anew', async () => {
    const sequences = [query, shared];
    for (const [settings, isShared] of [
      [{ rounds: 2, max_evalue: 0.001, max_sequences: 301 }, false],
      // Rounds list no rows of greater E-values, so that the search must.
      [{ rounds: 2, max_evalue: 10, max_sequences: 302 }, true],
      [{ max_evalue: 0.001, max_sequences: 303 }, true],
    ] as const) {
      const named = await start({ database: 'demo', ...settings });
      try {
        const client = colabfoldClient(() => `${named.server.url}/colabfold`);
        const headers = headersOf('lab');
        const alone: Json = await client.submit({ sequences, mode: 'nofilter', headers });
        const paired: Json = await client.submit({
          sequences,
          mode: 'paircomplete',
          isPaired: true,
          headers,
        });
        const runs: readonly string[] = paired.run_ids;
        expect(runs).toHaveLength(sequences.length);
        expect(runs.every((id) => alone.run_ids.includes(id))).toBe(isShared);
        expect(runs.some((id) => alone.run_ids.includes(id))).toBe(isShared);
      } finally {
        await named.stop();
      }
    }
  }, 120_000);

  it('refuses homologs for a database whose proteins have none', async () => {
    const input = { query: { kind: 'protein_sequence', sequence: query }, database: 'demo' };
    const { body } = await serving.call('POST', '/v1/runs', {
      body: { endpoint: 'sequences.relatives', input },
    });
    expect(body.error).toMatchObject({
      code: 'relatives_unavailable',
      message: expect.stringContaining('demo'),
    });
  });
});
