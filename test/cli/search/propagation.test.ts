import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { trueHomologs } from '#src/demo/check.js';
import { DEMO_SLUG } from '#src/demo/demo.js';
import { openDemoAppliance, type DemoAppliance } from '../../tools/demo-appliance.js';
import { ROOT } from '../../tools/paths.js';
import { runProgram, type Printed } from '../../tools/served-process.js';

/* `gloaming search --propagation` and what it needs, as they are typed, on a simulated database. */

const REFUSED = 2;
let demo: DemoAppliance;
let query: string;

beforeAll(async () => {
  demo = await openDemoAppliance({ seed: 11, proteins: 120 });
  await demo.appliance.close();
  query = join(demo.folder, 'query.fasta');
  const [first, second] = demo.demo.proteins.filter(({ id }) => trueHomologs(demo.demo, id).length > 4);
  writeFileSync(query, `>unknown\n${first.sequence.slice(4)}\n>known\n${second.sequence}\n`);
}, 120_000);
afterAll(() => demo.remove());

const run = (...words: readonly string[]): Promise<Printed> => runProgram(demo.environment, words);

const search = (...words: readonly string[]): Promise<Printed> =>
  run('search', query, '-d', DEMO_SLUG, '--propagation', ...words);

interface Row {
  readonly [column: string]: string;
}

function rowsOf(tsv: string): readonly Row[] {
  const [head, ...lines] = tsv.replace(/\n$/, '').split('\n');
  const names = head.split('\t');
  return lines.map((line) => {
    const cells = line.split('\t');
    return Object.fromEntries(names.map((name, at) => [name, cells[at]]));
  });
}

describe('a release without a graph of neighbours, or without a null of walks', () => {
  it('refuses propagation in one sentence that names the command which makes it', async () => {
    const bare = await search('--format', 'tsv');
    expect(bare.code).toBe(REFUSED);
    expect(bare.stderr).toMatch(/has no graph of neighbours.*"gloaming index neighbours" makes one/);
    expect((await run('index', 'propagation', DEMO_SLUG)).stderr).toContain('has no graph of neighbours');
    const words = ['--full', '--sample', '120', '--no-qualification'];
    expect((await run('index', 'calibrate', DEMO_SLUG, ...words)).code).toBe(0);
    expect((await run('index', 'neighbours', DEMO_SLUG)).code).toBe(0);
    const unjudged = await search('--format', 'tsv');
    expect(unjudged.code).toBe(REFUSED);
    expect(unjudged.stderr).toMatch(/has no null of walks.*"gloaming index propagation" makes one/);
  }, 300_000);
});

describe('gloaming search --propagation', () => {
  beforeAll(async () => {
    const fitted = await run('index', 'propagation', DEMO_SLUG, '--sample', '100');
    expect(fitted).toMatchObject({ code: 0, stdout: expect.stringContaining('100 reversed proteins') });
  }, 120_000);

  it('lists propagated hits beside the direct ones, by the joint E-value', async () => {
    const { stdout } = await search('--format', 'tsv', '--limit', '30');
    const rows = rowsOf(stdout);
    const propagated = rows.filter((row) => row['propagation.expected_false_hits'] !== '');
    expect(propagated.length).toBeGreaterThan(0);
    expect(propagated.every((row) => Number(row['propagation.expected_false_hits']) < 100.01)).toBe(true);
    // A bridge is never the target itself, and a hit that is no candidate has one.
    expect(rows.filter((row) => row['propagation.bridge'] === row.target_id)).toEqual([]);
    const further = rows.filter(({ rank }) => rank === '');
    expect(further.every((row) => row['propagation.bridge'] !== '')).toBe(true);
    for (const id of ['unknown', 'known']) {
      const best = rows
        .filter((row) => row.query_id === id)
        .map((row) =>
          Math.min(
            ...['significance.expected_false_hits', 'propagation.expected_false_hits']
              .filter((column) => row[column] !== '')
              .map((column) => Number(row[column]) * (column.startsWith('propagation') ? 1 : 10)),
          ),
        );
      expect(best).toEqual([...best].sort((a, b) => a - b));
      const joint = rows
        .filter((row) => row.query_id === id)
        .map((row) => Number(row['propagation.joint_expected_false_hits']));
      for (const [at, value] of joint.entries()) expect(value / best[at]).toBeCloseTo(1, 2);
    }
  }, 60_000);

  it('leaves rank, measurements and significance of the candidates as they are', async () => {
    const columns = (tsv: string): readonly string[] =>
      rowsOf(tsv)
        .filter(({ rank }) => rank !== '')
        .map((row) => Object.entries(row).filter(([name]) => !name.startsWith('propagation.')))
        .map((row) => row.map(([, cell]) => cell).join('\t'))
        .sort();
    const propagated = await search('--format', 'tsv', '--limit', '30');
    const plain = await run('search', query, '-d', DEMO_SLUG, '--format', 'tsv', '--limit', '30');
    expect(columns(propagated.stdout)).toEqual(columns(plain.stdout));
  }, 60_000);

  it('adds a member to JSON with bridges and both alignments, the same bytes each time', async () => {
    const first = await search('--format', 'json', '--limit', '30');
    const second = await search('--format', 'json', '--limit', '30', '--threads', '1');
    expect(second.stdout).toBe(first.stdout);
    const answers = first.stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(answers).toHaveLength(2);
    for (const { propagation, candidates } of answers) {
      expect(propagation.graph_id).toMatch(/^graph_/);
      expect(propagation.walks_id).toMatch(/^walks_/);
      const ids = new Set(candidates.map(({ target }: { target: { id: string } }) => target.id));
      for (const hit of propagation.hits) {
        expect(hit.is_candidate).toBe(ids.has(hit.target_id));
        if (hit.bridge === undefined) continue;
        expect(hit.bridge.to_target.target_end).toBeGreaterThan(hit.bridge.to_target.target_start);
        expect(hit.bridge.from_query === undefined).toBe(!ids.has(hit.bridge.target_id));
      }
    }
    // The query that is a protein of the database is no target of its own walk.
    const own = readFileSync(query, 'utf8').trimEnd().split('\n').at(-1);
    const self = answers[1].candidates.find(
      ({ target }: { target: { sequence: string } }) => target.sequence === own,
    );
    const reached = answers[1].propagation.hits.map((hit: { target_id: string }) => hit.target_id);
    expect(reached).not.toContain(self.target.id);
  }, 60_000);

  it('puts what the walk reaches into a report', async () => {
    const [json, html] = [await search('--format', 'json'), await search('--format', 'html')];
    const reports = /<script type="application\/json" id="report">(.*)<\/script>\n<script/s.exec(
      html.stdout,
    )!;
    const { results } = JSON.parse(reports[1]) as { results: readonly { propagation: unknown }[] };
    const answers = json.stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { propagation: unknown });
    expect(results.map(({ propagation }) => propagation)).toEqual(
      answers.map(({ propagation }) => propagation),
    );
    expect(results).toHaveLength(2);
  }, 60_000);

  it.each([
    [['--format', 'm8'], '--propagation goes with --format tsv, json, arrow or html.'],
    [['--format', 'tsv', '--significance', 'not_requested'], 'Leave out one of the two.'],
    [['--format', 'tsv', '--evidence', 'candidate_measurement'], '--propagation needs alignments'],
  ])('refuses %j', async (words, message) => {
    const { code, stderr } = await search(...words);
    expect(code).toBe(REFUSED);
    expect(stderr).toContain(message);
  });
});

describe('a database with homologs', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gloaming-homolog-walks-'));
  const environment = { GLOAMING_INDEXES: join(folder, 'indexes'), GLOAMING_DATA: join(folder, 'data') };
  const gloaming = (...words: readonly string[]): Promise<Printed> => runProgram(environment, words);
  afterAll(() => rmSync(folder, { recursive: true }));

  it('gets a null of walks from reversed proteins, which have no homologs', async () => {
    const example = gunzipSync(readFileSync(join(ROOT, 'examples', 'proteins.fasta.gz'))).toString();
    const records = example.split('>').filter((_, at) => at % 8 === 1);
    const fasta = join(folder, 'some.fasta');
    writeFileSync(fasta, records.map((record) => `>${record}`).join(''));
    const alignments = join(folder, 'alignments');
    mkdirSync(alignments);
    for (const record of records) {
      const id = record.split('|')[1]!;
      const sequence = record.slice(record.indexOf('\n')).replaceAll('\n', '');
      // Each seventh or sixth residue of a homolog is another one.
      const homologs = [/(.{6})./g, /(.{5})./g].map((some) => sequence.replaceAll(some, '$1A'));
      const rows = [sequence, ...homologs].map((row, at) => `>${at === 0 ? id : `homolog_${at}`}\n${row}\n`);
      writeFileSync(join(alignments, `${id}.a3m`), rows.join(''));
    }
    for (const words of [
      ['index', 'build', fasta, '--name', 'some', '--alignments', alignments, '--no-qualification'],
      ['index', 'neighbours', 'some'],
    ])
      expect(await gloaming(...words)).toMatchObject({ code: 0 });
    expect(await gloaming('index', 'propagation', 'some', '--sample', '100')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('100 reversed proteins'),
    });
    const one = join(folder, 'one.fasta');
    writeFileSync(one, `>${records[0]}`);
    expect(await gloaming('search', one, '-d', 'some', '--propagation', '--format', 'tsv')).toMatchObject({
      code: 0,
    });
  }, 300_000);
});
