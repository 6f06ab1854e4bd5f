import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildBench, type Bench, type Json, type Serving } from '../runs/runs-served.js';

/* Tables of a real batch of searches, read by the programs that use them, and compared with those of other tools. */

const hasBiopython = canImport('Bio');
const hasPandas = canImport('pandas');
const hasBlast = existsSync('/usr/bin/blastp') && existsSync('/usr/bin/makeblastdb');
const hasDiamond = existsSync('/usr/bin/diamond');
const hasMmseqs = existsSync('/usr/bin/mmseqs');
for (const [name, has] of Object.entries({ hasBiopython, hasPandas, hasBlast, hasDiamond, hasMmseqs }))
  if (!has) console.log(`Skipped: ${name.slice(3).toLowerCase()} is not installed here.`);

const STANDARD = 'qseqid sseqid pident length mismatch gapopen qstart qend sstart send evalue bitscore';

let bench: Bench;
let serving: Serving;
let batch: Json;
let byQuery: Json[][];
let ids: string[];

beforeAll(async () => {
  bench = await buildBench();
  serving = await bench.start();
  ids = bench.sequences.slice(0, 12).map((_, at) => `P${String(at).padStart(4, '0')}5`);
  const fasta = ids
    .map((id, at) => `>sp|${id}|MADE_UP Query ${at} OS=Made up\n${bench.sequences[at]}\n`)
    .join('');
  const evidence = 'pairwise_sequence_alignment';
  batch = await run('homology.batch_search', { fasta, limit: 15, evidence });
  const { body } = await serving.call('GET', `/v1/runs/${batch.id}/results?limit=1000`);
  byQuery = body.data.map(({ candidates }: Json) => candidates);
});
afterAll(async () => {
  await serving.stop();
  bench.remove();
});

function canImport(name: string): boolean {
  try {
    execFileSync('/usr/bin/python3', ['-c', `import ${name}`], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

async function run(endpoint: string, input: Json): Promise<Json> {
  const { status, body } = await serving.call('POST', '/v1/runs', {
    body: { endpoint, input, background: false },
  });
  expect(status, JSON.stringify(body)).toBe(200);
  return body.data;
}

/** Exports the batch, and writes the file to a path that other programs can read. */
async function exported(name: string, input: Json): Promise<string> {
  const { result, error } = await run('homology.export', { run_id: batch.id, ...input });
  expect(error).toBeUndefined();
  const { file } = result.summary;
  const response = await fetch(
    `${serving.server.url}/v1/storage/files/${file.file_id}/${basename(file.path)}`,
    {
      headers: { Authorization: `Bearer ${bench.keys.lab}` },
    },
  );
  expect(response.status).toBe(200);
  const path = join(bench.folder, name);
  writeFileSync(path, Buffer.from(await response.arrayBuffer()));
  return path;
}

function read(kind: string, path: string, names: readonly string[] = []): Json {
  const script = fileURLToPath(new URL('table-readers.py', import.meta.url));
  const words = [script, kind, path, ...names];
  return JSON.parse(
    execFileSync('/usr/bin/python3', words, { stdio: ['ignore', 'pipe', 'ignore'] }).toString(),
  );
}

const aligned = (candidates: readonly Json[]): Json[] =>
  candidates.filter(({ alignment }) => alignment.cigar !== '');
const byScore = (left: Json, right: Json): number =>
  right.measurements.affine.raw_score - left.measurements.affine.raw_score || left.rank - right.rank;

/** Values that every reader must get, in the order of the file. */
const expected = (withSequences: boolean): Json[] =>
  byQuery.map((candidates, at) => ({
    query: ids[at],
    hits: aligned(candidates)
      .toSorted(byScore)
      .map(({ target, alignment }) => ({
        target: target.id,
        evalue: batch.result.summary.database.searched_target_count,
        bitscore: 0,
        place: [alignment.query_start, alignment.query_end, alignment.target_start, alignment.target_end],
        sequences: withSequences
          ? [
              bench.sequences[at]?.slice(alignment.query_start, alignment.query_end),
              target.sequence.slice(alignment.target_start, alignment.target_end),
            ]
          : null,
      })),
  }));

/** Without the gap counts, which are checked with the alignments. */
const ungapped = (results: Json[]): Json[] =>
  results.map(({ query, hits }) => ({
    query,
    hits: hits.map(({ sequences, ...hit }: Json) => ({
      ...hit,
      sequences: sequences?.map((text: string) => text.replaceAll('-', '')) ?? null,
    })),
  }));

describe.skipIf(!hasBiopython)('Biopython', () => {
  it('reads outfmt 6 with columns of its own choice, sequences among them', async () => {
    const names = `${STANDARD} qlen slen qcovs staxids stitle qseq sseq`;
    const path = await exported('six.tsv', { format: 'blast', outfmt: `6 ${names}`, sort: 'evalue' });
    expect(ungapped(read('blast-tab', path, names.split(' ')) as Json[])).toEqual(expected(true));
  });

  it('reads outfmt 7 by the names in its comments', async () => {
    const path = await exported('seven.tsv', { format: 'blast', outfmt: '7', sort: 'evalue' });
    expect(read('commented', path)).toEqual(expected(false));
  });

  it('reads outfmt 5, which is XML', async () => {
    const path = await exported('five.xml', { format: 'blast', outfmt: '5', sort: 'evalue' });
    expect(ungapped(read('blast-xml', path) as Json[])).toEqual(expected(true));
  });
});

describe('tables', () => {
  it.skipIf(!hasPandas)('are read by pandas: numbers are numbers, and nothing is missing', async () => {
    const path = await exported('m8.tsv', { format: 'm8' });
    const { types, missing, rows } = read('pandas', path, STANDARD.split(' '));
    expect(missing).toBe(0);
    const [text, real, whole] = ['object', 'float64', 'int64'];
    // Without a calibration, bit scores are written as 0.0, and E-values as whole numbers.
    expect(types).toEqual([text, text, real, ...Array(8).fill(whole), real]);
    expect(rows).toHaveLength(byQuery.flatMap(aligned).length);
    const wide = read('pandas', await exported('wide.tsv', { format: 'tsv' }));
    expect(wide.columns.slice(0, 4)).toEqual(['query_id', 'target_id', 'rank', 'maxsim.bidirectional']);
    expect(wide.rows.map(({ rank }: Json) => rank)).toEqual(
      byQuery.flatMap((each) => each.map(({ rank }) => rank)),
    );
  });

  it.each(['nan', 'empty', 'count'] as const)('hold %s where the run has no E-values', async (missing) => {
    const ends = async (input: Json): Promise<string[][]> => {
      const text = readFileSync(await exported(`missing-${missing}.tsv`, { ...input, missing }), 'utf8');
      return text.split('\n').flatMap((line) => (line === '' ? [] : [line.split('\t').slice(-2)]));
    };
    const { searched_target_count: searched } = batch.result.summary.database;
    const cells = { nan: ['nan', 'nan'], empty: ['', ''], count: [String(searched), '0.0'] }[missing];
    const rows = byQuery.flatMap(aligned).map(() => cells);
    expect(await ends({ format: 'm8' })).toEqual(rows);
    expect(await ends({ format: 'blast', outfmt: '6 qseqid evalue bitscore' })).toEqual(rows);
    const mmseqs = await ends({ format: 'mmseqs', format_output: 'query,evalue,bits' });
    expect(mmseqs.map(([, bits]) => bits)).toEqual(rows.map(([, bits]) => bits.replace('0.0', '0')));
  });

  it('come with a warning where the run has no E-values, and refuse texts in formats without any', async () => {
    const { result } = await run('homology.export', { run_id: batch.id, format: 'm8', missing: 'nan' });
    expect(result.summary.warnings).toEqual([
      {
        code: 'no_e_values',
        message: 'The run has no E-values; E-values and bit scores are written as nan.',
        details: { missing: 'nan' },
      },
    ]);
    const wide = await run('homology.export', { run_id: batch.id, format: 'tsv' });
    expect(wide.result.summary.warnings).toEqual([]);
    for (const input of [{ format: 'parquet' }, { format: 'a3m' }, { format: 'blast', outfmt: '5' }]) {
      const { status, body } = await serving.call('POST', '/v1/runs', {
        body: { endpoint: 'homology.export', input: { run_id: batch.id, missing: 'nan', ...input } },
      });
      expect(status, JSON.stringify(body)).toBe(422);
      expect(body.error).toMatchObject({ code: 'export_not_possible', param: 'input.missing' });
    }
  });

  it('join on ids in DuckDB: a protein of the database has one id as query and as target', async () => {
    const itself = bench.sequences
      .slice(0, 8)
      .map((sequence, at) => `>${byQuery[at]?.[0]?.target.id}\n${sequence}\n`)
      .join('');
    const all = await run('homology.batch_search', {
      fasta: itself,
      limit: 5,
      evidence: 'pairwise_sequence_alignment',
    });
    const path = await exported('all.m8', { run_id: all.id, format: 'm8' });
    const connection = await (await DuckDBInstance.create(':memory:')).connect();
    const columns = STANDARD.split(' ')
      .map((name) => `'${name}'`)
      .join(', ');
    const reading = `read_csv('${path}', delim = '\t', header = false, names = [${columns}])`;
    const [{ self, rows }] = (
      await connection.runAndReadAll(
        `SELECT count(*) FILTER (qseqid = sseqid AND pident = 100) AS self, count(*) AS rows FROM ${reading}`,
      )
    ).getRowObjects() as [Json];
    expect([self, rows]).toEqual([8n, 40n]);
    connection.closeSync();
  });

  it('are served over HTTP in the requested columns, page by page', async () => {
    const get = (query: string): Promise<Response> =>
      fetch(`${serving.server.url}/v1/runs/${batch.id}/results?${query}`, {
        headers: { Authorization: `Bearer ${bench.keys.lab}`, Accept: 'text/tab-separated-values' },
      });
    const wide = await get('limit=5');
    expect(wide.headers.get('content-type')).toBe('text/tab-separated-values; charset=utf-8');
    const lines = (await wide.text()).trimEnd().split('\n');
    expect(lines).toHaveLength(1 + 5 * 15);
    const next = /^<([^>]+)>; rel="next"$/.exec(wide.headers.get('link') ?? '')?.[1];
    const second = await fetch(`${serving.server.url}${next}`, {
      headers: { Authorization: `Bearer ${bench.keys.lab}`, Accept: 'text/tab-separated-values' },
    });
    expect((await second.text()).split('\n')[1]?.split('\t')[0]).toBe(ids[5]);
    const six = await get(`limit=1000&outfmt=${encodeURIComponent('6 qseqid sseqid qseq sseq')}`);
    expect(six.headers.get('link')).toBeNull();
    const rows = (await six.text()).trimEnd().split('\n');
    expect(rows).toHaveLength(byQuery.flatMap(aligned).length);
    for (const row of rows)
      expect(
        new Set(
          row
            .split('\t')
            .slice(2)
            .map(({ length }) => length),
        ).size,
      ).toBe(1);
    const mmseqs = await get('limit=1&format_output=query,fident');
    expect(await mmseqs.text()).toMatch(new RegExp(`^${ids[0]}\t[01]\\.\\d{3}\n`));
    expect((await get('outfmt=7')).status).toBe(422);
    expect((await get('outfmt=6&format_output=query')).status).toBe(422);
  });

  it('have the rows that pass the cut-offs, and count the others', async () => {
    const cutOffs = { minimum_query_coverage_ratio: 0.8, minimum_sequence_identity_ratio: 0.3 };
    const { result } = await run('homology.export', { run_id: batch.id, format: 'm8', ...cutOffs });
    const passing = byQuery.flatMap(aligned).filter(({ alignment }) => {
      return alignment.query_coverage_ratio >= 0.8 && alignment.sequence_identity_ratio >= 0.3;
    });
    expect(result.summary).toMatchObject({
      record_count: passing.length,
      left_out_count: 12 * 15 - passing.length,
    });
    const again = await run('homology.batch_search', {
      queries: bench.sequences.slice(0, 12).map((sequence) => ({ sequence })),
      limit: 15,
      evidence: 'pairwise_sequence_alignment',
      ...cutOffs,
    });
    expect(again.result.summary).toMatchObject({
      candidate_count: 12 * 15,
      left_out_count: 12 * 15 - passing.length,
      result_sha256: batch.result.summary.result_sha256,
    });
    const { body } = await serving.call('GET', `/v1/runs/${again.id}/results?limit=1000`);
    expect(body.data.flatMap(({ candidates }: Json) => candidates)).toEqual(passing);
  });

  it('refuse cut-offs that no row could pass', async () => {
    const query = { kind: 'protein_sequence', sequence: bench.sequences[0] };
    const refused = async (endpoint: string, input: Json): Promise<string | null> => {
      const { headers } = await serving.call('POST', '/v1/runs', { body: { endpoint, input } });
      return headers.get('Service-Error-Type');
    };
    expect(await refused('homology.search', { query, minimum_query_coverage_ratio: 0.5 })).toBe(
      'msa_alignments_missing',
    );
    expect(await refused('homology.search', { query, maximum_expected_false_hits: 1 })).toBe(
      'significance_unavailable',
    );
    const bounded = { run_id: batch.id, format: 'm8', maximum_expected_false_hits: 1 };
    expect(await refused('homology.export', bounded)).toBe('export_not_possible');
    expect(await refused('homology.export', { run_id: batch.id, format: 'm8', outfmt: '6' })).toBe(
      'export_not_possible',
    );
  });
});

describe('beside the tables of other tools on the same query', () => {
  const call = (program: string, ...words: string[]): string =>
    execFileSync(program, words, {
      cwd: bench.folder,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });

  /** The row of the query against itself without E-value and bit score, which differ between programs. */
  async function ours(input: Json): Promise<string[]> {
    const target = bench.sequences[0] as string;
    writeFileSync(join(bench.folder, 'target.fasta'), `>${byQuery[0]?.[0]?.target.id}\n${target}\n`);
    const path = await exported('first.tsv', { ...input, query_index: 0, sort: 'score' });
    const [first] = execFileSync('head', ['-n', '1', path], { encoding: 'utf8' }).split('\n');
    return (first as string).split('\t');
  }

  /** Writes the query, so that the other tool can search it. */
  function fastaOfQuery(): void {
    writeFileSync(join(bench.folder, 'query.fasta'), `>${ids[0]}\n${bench.sequences[0]}\n`);
  }

  it.skipIf(!hasBlast)('blastp has the same values in the same columns', async () => {
    const names = `${STANDARD} qlen slen nident positive gaps ppos qcovs qcovhsp btop score`;
    const mine = await ours({ format: 'blast', outfmt: `6 ${names}` });
    fastaOfQuery();
    call('makeblastdb', '-in', 'target.fasta', '-dbtype', 'prot', '-out', 'blast-target');
    const [line] = call(
      'blastp',
      ...['-query', 'query.fasta', '-db', 'blast-target', '-seg', 'no', '-outfmt', `6 ${names}`],
    ).split('\n');
    compare(mine, (line as string).split('\t'), names.split(' '));
  });

  it.skipIf(!hasDiamond)('DIAMOND has the same values in the same columns', async () => {
    const names = `${STANDARD} qlen slen nident positive gaps qcovhsp scovhsp btop cigar full_sseq`;
    const mine = await ours({ format: 'blast', outfmt: `6 ${names}` });
    fastaOfQuery();
    call('diamond', 'makedb', '--in', 'target.fasta', '-d', 'diamond-target', '--quiet');
    const words = [
      'blastp',
      '--masking',
      '0',
      '--quiet',
      '-q',
      'query.fasta',
      '-d',
      'diamond-target',
      '-f',
      '6',
    ];
    const [line] = call('diamond', ...words, ...names.split(' ')).split('\n');
    compare(mine, (line as string).split('\t'), names.split(' '));
  });

  it.skipIf(!hasMmseqs)('MMseqs2 has the same values in the same columns', async () => {
    const names =
      'query,target,fident,alnlen,mismatch,gapopen,qstart,qend,tstart,tend,evalue,bits,qlen,tlen,nident,qcov,tcov,' +
      'cigar,qseq,tseq,qaln,taln,pident';
    const mine = await ours({ format: 'mmseqs', format_output: names });
    fastaOfQuery();
    const words = ['easy-search', 'query.fasta', 'target.fasta', 'mmseqs.m8', 'mmseqs-work', '-v', '0'];
    call('mmseqs', ...words, '--mask', '0', '--threads', '1', '--format-output', names);
    const [line] = execFileSync('head', ['-n', '1', join(bench.folder, 'mmseqs.m8')], {
      encoding: 'utf8',
    }).split('\n');
    compare(mine, (line as string).split('\t'), names.split(','));
  });

  /** Compares numbers by value. E-value and scores are specific to each program. */
  function compare(mine: readonly string[], theirs: readonly string[], names: readonly string[]): void {
    const own = new Set(['evalue', 'bitscore', 'bits', 'score']);
    const values = (cells: readonly string[]): Json =>
      Object.fromEntries(
        names.map((name, at) => {
          const cell = cells[at] as string;
          const number = Number(cell);
          if (own.has(name)) return [name, Number.isFinite(number)];
          return [name, Number.isNaN(number) ? cell : number];
        }),
      );
    expect(values(mine)).toEqual(values(theirs));
    expect(mine).toHaveLength(names.length);
  }
});
