import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { register } from '#src/cli/runs/runs.js';
import { buildBench, type Bench, type Serving } from '../../services/runs/runs-served.js';

/* `gloaming runs` as it is typed, against a server on a free port. */

let bench: Bench;
let serving: Serving;

beforeAll(async () => {
  bench = await buildBench();
  serving = await bench.start();
});
afterAll(async () => {
  await serving.stop();
  bench.remove();
});

interface Printed {
  readonly stdout: string;
  readonly stderr: string;
}

async function run(words: readonly string[], { stdin = '', environment = {} } = {}): Promise<Printed> {
  const printed = { stdout: '', stderr: '' };
  const sink = (name: keyof Printed): Writable =>
    new Writable({
      write(chunk: Buffer, _, done) {
        printed[name] += chunk.toString();
        done();
      },
    });
  const program = new Command('gloaming').exitOverride();
  register(program, {
    environment: { GLOAMING_URL: serving.server.url, GLOAMING_API_KEY: bench.keys.lab, ...environment },
    stdin: Readable.from([stdin]),
    stdout: sink('stdout') as never,
    stderr: sink('stderr') as never,
  });
  await program.parseAsync(['node', 'gloaming', 'runs', ...words]);
  return printed;
}

const fasta = (count: number): string =>
  bench.sequences
    .slice(0, count)
    .map((sequence, index) => `>q${index}\n${sequence}\n`)
    .join('');

describe('gloaming runs', () => {
  it('submits a FASTA file, watches it to its end and writes the rows in columns', async () => {
    const file = join(bench.folder, 'queries.fasta.gz');
    writeFileSync(file, gzipSync(fasta(30)));
    const submitted = await run(['submit', file, '--limit', '2', '--watch']);
    const id = submitted.stdout.trim();
    expect(id).toMatch(/^run_[0-9a-f]{24}$/);
    expect(submitted.stderr).toContain(`${id} completed: 30 queries, 30 rows, `);
    const { stdout } = await run(['results', id, '--format', 'tsv']);
    const lines = stdout
      .slice(0, -1)
      .split('\n')
      .map((line) => line.split('\t'));
    expect(lines[0].slice(0, 3)).toEqual(['query_id', 'target_id', 'rank']);
    expect(lines).toHaveLength(1 + 30 * 2);
    expect([lines[1][0], lines[1][2]]).toEqual(['q0', '1']);
    expect(lines.every((cells) => cells.length === lines[0].length)).toBe(true);
  });

  it('refuses an empty file before it asks the server', async () => {
    const empty = join(bench.folder, 'empty.fasta');
    writeFileSync(empty, '\n');
    await expect(run(['submit', empty])).rejects.toThrow(`${empty} holds no FASTA record.`);
  });

  it('submits with a filter and cut-offs, waits, and writes the selected candidates as a table', async () => {
    const output = join(bench.folder, 'kept.tsv');
    const words = ['submit', '-', '-l', '10', '--filter', 'length<=100000', '--guarantee', 'exhaustive'];
    const cutOffs = ['--min-identity', '30%', '--min-query-coverage', '0.2', '-f', 'tsv', '-o', output];
    const { stderr } = await run([...words, ...cutOffs], { stdin: fasta(6) });
    expect(stderr).toMatch(
      /^run_\S+ completed: 6 queries, 6 rows, \d+ candidates left out by the cut-offs, /,
    );
    const [header, ...rows] = readFileSync(output, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => line.split('\t'));
    expect(rows.length).toBeGreaterThanOrEqual(6);
    const at = header.indexOf('identity');
    for (const row of rows) expect(Number(row[at])).toBeGreaterThanOrEqual(0.3);
    const unwanted = run(['submit', '-', '--max-evalue', '1'], { stdin: fasta(1) });
    await expect(unwanted).rejects.toMatchObject({ code: 'significance_unavailable' });
  });

  it('takes standard input, and writes results of a run that is still at work to their end', async () => {
    const { stdout: id } = await run(['submit', '-', '--limit', '1', '--label', 'piped'], {
      stdin: fasta(25),
    });
    const { stdout } = await run(['results', id.trim()]);
    const rows = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(rows.map(({ query_id }) => query_id)).toEqual(
      Array.from({ length: 25 }, (_, index) => `q${index}`),
    );
  });

  it('submits a whole request of any endpoint', async () => {
    const file = join(bench.folder, 'request.json');
    const query = { kind: 'protein_sequence', sequence: bench.sequences[0] };
    writeFileSync(
      file,
      JSON.stringify({ endpoint: 'homology.search', input: { query, limit: 3 }, label: 'whole' }),
    );
    const { stdout: id } = await run(['submit', file, '--request', '--watch']);
    const { stdout } = await run(['results', id.trim()]);
    expect(
      stdout
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line).rank),
    ).toEqual([1, 2, 3]);
    const { stdout: table } = await run(['list', '--status', 'completed']);
    expect(table).toContain('whole');
    // The table shows the name of the file and not its folder.
    expect(table).toMatch(/ queries\.fasta\.gz$/m);
    expect(table).not.toContain(bench.folder);
    expect(table.split('\n')[0]).toMatch(/^run +endpoint +status +done +created +label$/);
  });

  it('exports a run to a file, with its progress, to standard output, or leaves it in storage', async () => {
    const { stdout } = await run(['submit', '-', '--limit', '3', '--watch'], { stdin: fasta(4) });
    const id = stdout.trim();
    const file = join(bench.folder, 'exported.fasta');
    const { stderr } = await run(['export', id, '--format', 'fasta', '--output', file]);
    expect(stderr).toMatch(
      /Downloading: \d.*B in .*\n\d+ records, .* in .*exported\.fasta\.\nOrdered by E-value/,
    );
    expect(existsSync(`${file}.part`)).toBe(false);
    const piped = await run(['export', id, '-f', 'fasta', '-q', '1', '-o', '-', '--path', 'one.fasta']);
    expect(piped.stdout.match(/^>/gm)).toHaveLength(3);
    for (const [record] of piped.stdout.matchAll(/^>[^>]+/gm)) {
      const [header, ...lines] = record.split('\n');
      expect(readFileSync(file, 'utf8')).toContain(`${header.split(' ')[0]} `);
      expect(readFileSync(file, 'utf8')).toContain(lines.join('\n'));
    }
    const remote = await run(['export', id, '--format', 'arrow', '--remote']);
    expect(remote.stdout).toMatch(/^http:.*\/v1\/storage\/files\/fil_.*\.arrow\n$/);
    await expect(run(['export', id, '--format', 'm8'])).rejects.toMatchObject({
      code: 'export_not_possible',
    });
  });

  it('exports the text that --missing names in place of E-values, with a warning', async () => {
    const words = ['submit', '-', '-l', '2', '--evidence', 'pairwise_sequence_alignment', '--wait'];
    const id = /run_[0-9a-f]{24}/.exec((await run(words, { stdin: fasta(1) })).stdout)?.[0] ?? '';
    const endsOf = (table: string): string[] =>
      table
        .trimEnd()
        .split('\n')
        .map((line) => line.split('\t').slice(-2).join(','));
    const nan = await run(['export', id, '--format', 'm8', '--missing', 'nan', '-o', '-']);
    expect(endsOf(nan.stdout)).toEqual(['nan,nan', 'nan,nan']);
    expect(nan.stderr).toContain('warning: no_e_values: The run has no E-values;');
    const chosen = ['--outfmt', '6 qseqid evalue bitscore', '--missing', 'empty', '-o', '-'];
    expect((await run(['export', id, ...chosen])).stdout).toBe('q0\t\t\nq0\t\t\n');
    const count = await run(['export', id, '--format', 'm8', '-o', '-']);
    expect(endsOf(count.stdout)).toEqual(Array(2).fill(`${bench.sequences.length},0.0`));
    await expect(run(['export', id, '--format', 'fasta', '--missing', 'nan'])).rejects.toMatchObject({
      code: 'invalid_option',
    });
  });

  it('cancels, and reports the same for a second cancel', async () => {
    const { stdout } = await run(['submit', '-', '--label', 'never'], { stdin: fasta(300) });
    const id = stdout.trim();
    expect((await run(['cancel', id])).stdout).toBe(`${id} is cancelled.\n`);
    expect((await run(['cancel', id])).stdout).toBe(`${id} is cancelled.\n`);
    await expect(run(['watch', id])).rejects.toThrow(`${id} was cancelled`);
    await expect(run(['results', id])).rejects.toMatchObject({
      code: 'run_cancelled',
      message: `${id} was cancelled`,
    });
  });

  it('passes refusals of the server on, and reports a missing key or server', async () => {
    await expect(run(['submit', '-'], { stdin: '>a\nMK1\n' })).rejects.toThrow(
      /1 of 1 queries cannot be searched/,
    );
    await expect(run(['watch', `run_${'0'.repeat(24)}`])).rejects.toMatchObject({ code: 'run_not_found' });
    await expect(run(['list'], { environment: { GLOAMING_API_KEY: '' } })).rejects.toThrow(
      /GLOAMING_API_KEY/,
    );
    const nowhere = { GLOAMING_URL: 'http://127.0.0.1:1' };
    await expect(run(['list'], { environment: nowhere })).rejects.toThrow(/cannot be reached/);
  });
});
