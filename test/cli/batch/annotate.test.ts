import { execFile } from 'node:child_process';
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { promisify } from 'node:util';
import { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openAppliance } from '#src/appliance.js';
import { register } from '#src/cli/batch/annotate.js';
import { summaryPage } from '#src/cli/report/domain-summary.js';
import { loadConfig } from '#src/config.js';
import { simulateProteins } from '#src/demo/simulate.js';
import { annotateProteins } from '#src/pipelines/domains/annotate.js';
import type { AnnotatedProtein } from '#src/domains/domain.js';
import { openSearcher } from '#src/searcher.js';
import { copyDemoRelease } from '../../tools/fixtures.js';
import { PROGRAM } from '../../tools/paths.js';

/* `gloaming annotate` on a small simulated database, whose proteins serve as families of one. */

const folder = mkdtempSync(join(tmpdir(), 'gloaming-annotate-'));
const environment = {
  GLOAMING_INDEXES: join(folder, 'indexes'),
  GLOAMING_DATA: join(folder, 'data'),
  GLOAMING_ENCODER: 'baseline-1',
};
const { proteins } = simulateProteins(11, 120);
const [first, second] = proteins.filter(({ sequence }) => sequence.length > 100);
const fasta = join(folder, 'proteome.fasta');
/**
 * Two proteins of the database one behind the other, the first of them alone, one of a composition that the calibration
 * does not cover, and one that is shorter than it covers.
 */
const PROTEOME = [
  ['fusion', first.sequence + second.sequence],
  ['alone', first.sequence],
  ['odd', 'G'.repeat(60)],
  ['short', first.sequence.slice(0, 12)],
] as const;

let releaseId: string;
beforeAll(async () => {
  writeFileSync(fasta, PROTEOME.map(([id, sequence]) => `>${id}\n${sequence}\n`).join(''));
  const appliance = await openAppliance(loadConfig(environment));
  const release = await copyDemoRelease(environment.GLOAMING_INDEXES, 11, 120);
  releaseId = release.id;
  const publishedAt = new Date().toISOString();
  await appliance.releases.publish({ id: releaseId, slug: 'demo', publishedAt, manifest: release.manifest });
  await appliance.close();
  await expect(run(fasta, '-d', 'demo', '-o', join(folder, 'early'))).rejects.toThrow(
    '"gloaming index calibrate demo" computes them',
  );
  const words = ['index', 'calibrate', 'demo', '--full', '--sample', '120', '--no-qualification'];
  await promisify(execFile)(process.execPath, [PROGRAM, ...words], {
    env: { ...process.env, ...environment },
  });
}, 120_000);
afterAll(() => rmSync(folder, { recursive: true }));

/** Standard error of the last run. */
let warned = '';

async function run(...words: readonly string[]): Promise<string> {
  let printed = '';
  warned = '';
  const sink = (take: (text: string) => void): Writable =>
    new Writable({
      write(chunk: Buffer, _, done) {
        take(chunk.toString());
        done();
      },
    });
  const program = new Command('gloaming').exitOverride();
  const stdout = sink((text) => (printed += text));
  const stderr = sink((text) => (warned += text));
  register(program, { environment, stdin: Readable.from([]), stdout, stderr });
  await program.parseAsync(['annotate', ...words], { from: 'user' });
  return printed;
}

describe('gloaming annotate', () => {
  it('finds each piece of a fusion at its place, and writes five files', async () => {
    const output = join(folder, 'out');
    const printed = await run(
      fasta,
      '-d',
      'demo',
      '-o',
      output,
      '--guarantee',
      'exhaustive',
      '--max-evalue',
      '10',
    );
    expect(printed).toMatch(/^\d+ domains in [23] of 4 proteins\.\n/);
    expect(warned).toContain('demo has proteins, not families: each hit is written as a domain.\n');
    expect(printed).toContain('Proteins of a length or composition without E-values: 2.\n');
    expect(readdirSync(output).toSorted()).toEqual([
      'domains.domtblout',
      'domains.gff3',
      'domains.parquet',
      'domains.tsv',
      'summary.html',
    ]);
    const domtblout = readFileSync(join(output, 'domains.domtblout'), 'utf8').trimEnd().split('\n');
    const ofFusion = domtblout.map((line) => line.split(/\s+/)).filter((cells) => cells[3] === 'fusion');
    expect(ofFusion.length).toBeGreaterThanOrEqual(2);
    // Each E-value counts all families, and the conditional one those with hits in the protein.
    for (const [conditional, independent] of ofFusion.map((cells) => [
      Number(cells[11]),
      Number(cells[12]),
    ])) {
      if (independent > 1e-200) expect(conditional / independent).toBeLessThan(1);
      expect(conditional).toBeLessThanOrEqual(independent);
    }
    const rows = readFileSync(join(output, 'domains.tsv'), 'utf8')
      .trimEnd()
      .split('\n')
      .slice(1)
      .map((line) => line.split('\t'));
    const fusion = rows.filter(([id]) => id === 'fusion');
    for (const [piece, offset] of [
      [first, 0],
      [second, first.sequence.length],
    ] as const) {
      const [, , start, end] = fusion.find(([, , , , family]) => family === piece.id)!.map(Number);
      expect(Math.abs(start - 1 - offset)).toBeLessThanOrEqual(10);
      expect(Math.abs(end - offset - piece.sequence.length)).toBeLessThanOrEqual(10);
    }
    for (const row of rows) expect(Number(row[13])).toBeLessThanOrEqual(10);
    expect(readFileSync(join(output, 'domains.parquet')).subarray(0, 4).toString()).toBe('PAR1');
  });

  it('gives a stretch one domain of a family of which several members are targets', async () => {
    const source = join(folder, 'families.sto');
    // One family has two members besides its consensus; the others are proteins.
    const stockholm = proteins.map(({ id, sequence }) => {
      const others = [/(.{7})./g, /(.{6})./g].map((eighth) => sequence.replaceAll(eighth, '$1A'));
      const rows = id === first.id ? [sequence, ...others] : [sequence];
      const lines = rows.map((row, at) => `row_${at} ${row}\n`).join('');
      return `# STOCKHOLM 1.0\n#=GF ID fam_${id}\n${lines}//\n`;
    });
    writeFileSync(source, stockholm.join(''));
    for (const words of [
      ['index', 'build', source, '--name', 'members', '--members', '--no-calibration', '--no-qualification'],
      ['index', 'calibrate', 'members', '--full', '--sample', '120', '--no-qualification'],
    ])
      await promisify(execFile)(process.execPath, [PROGRAM, ...words], {
        env: { ...process.env, ...environment },
      });
    const output = join(folder, 'of-members');
    await run(fasta, '-d', 'members', '-o', output, '--guarantee', 'exhaustive', '--max-evalue', '10');
    expect(warned).not.toContain('not families');
    const domains = readFileSync(join(output, 'domains.tsv'), 'utf8')
      .split('\n')
      .map((line) => line.split('\t'))
      .filter(([id, , , , family]) => id === 'fusion' && family.startsWith(`fam_${first.id}`));
    expect(domains.map((cells) => cells[4])).toEqual([`fam_${first.id}`]);
  }, 120_000);

  it('marks what another annotation does not have, in every file and in the summary', async () => {
    const output = join(folder, 'against');
    const given = join(folder, 'hmmscan.domtblout');
    const { length } = first.sequence;
    // The first piece of the fusion is known, and a domain of the other protein above the threshold of HMMER.
    const row = (protein: string, eValue: number, from: number, to: number): string =>
      `fam - 90 ${protein} - 300 1e-9 30.0 0.0 1 1 ${eValue} ${eValue} 30 0 1 90 ${from} ${to} ${from} ${to} 1 -\n`;
    const rows = [row('fusion', 1e-9, 1, length - 5), row('alone', 5, 1, length)];
    writeFileSync(given, `#\n${rows.join('')}# Program: hmmscan\n`);
    const words = ['-d', 'demo', '-o', output, '--guarantee', 'exhaustive', '--max-evalue', '10'];
    const printed = await run(fasta, ...words, '--against', given);
    const [head, ...lines] = readFileSync(join(output, 'domains.tsv'), 'utf8').trimEnd().split('\n');
    expect(head.split('\t').at(-1)).toBe('new');
    const marks = lines.map((line) => line.split('\t')).map((cells) => [cells[0], cells[4], cells.at(-1)]);
    expect(marks).toContainEqual(['fusion', first.id, '0']);
    expect(marks).toContainEqual(['fusion', second.id, '1']);
    const alone = marks.filter(([protein]) => protein === 'alone');
    expect(alone.length).toBeGreaterThan(0);
    expect(alone.every(([, , mark]) => mark === '1')).toBe(true);
    const newCount = marks.filter(([, , mark]) => mark === '1').length;
    expect(printed).toContain(`Domains that hmmscan.domtblout does not have: ${newCount}.`);
    const gff = readFileSync(join(output, 'domains.gff3'), 'utf8');
    expect(gff.match(/;new=1$/gm)).toHaveLength(newCount);
    const summary = readFileSync(join(output, 'summary.html'), 'utf8');
    expect(summary).toContain(`<dt>new against hmmscan.domtblout</dt><dd>${newCount} domains in 2 proteins`);
    expect(summary).toContain(', new</title>');
  }, 60_000);

  it.each([
    ['>fasta\nMKV\n', 'neither that of an InterProScan TSV nor that of a HMMER --domtblout'],
    ['#\nfam - 90 p - 300\n', '22 columns'],
  ])('refuses %j as another annotation, with nothing written', async (text, message) => {
    const given = join(folder, 'bad.txt');
    writeFileSync(given, text);
    const output = join(folder, 'none');
    await expect(run(fasta, '-d', 'demo', '-o', output, '--against', given)).rejects.toThrow(message);
    expect(readdirSync(folder)).not.toContain('none');
  });

  it('goes on where it was killed, with the same bytes', async () => {
    const output = join(folder, 'resumed');
    mkdirSync(output);
    const searcher = await openSearcher(loadConfig(environment));
    const engine = await searcher.engines.open(releaseId);
    const head = { database: 'demo', releaseId, maxEValue: 10 };
    const summaryOf = (annotated: readonly AnnotatedProtein[]): string => summaryPage(head, annotated);
    const options = {
      fasta,
      output,
      database: 'demo',
      maxEValue: 10,
      rounds: 4,
      limit: 100,
      summaryOf,
    } as const;
    const checkpoint = join(output, '.annotation.jsonl');
    try {
      // Results that cannot be put in place leave the checkpoint of all proteins behind.
      mkdirSync(join(output, 'summary.html'));
      await expect(annotateProteins(engine, { ...options, guarantee: 'exhaustive' }, {})).rejects.toThrow();
      const lines = readFileSync(checkpoint, 'utf8').split('\n');
      expect(lines).toHaveLength(PROTEOME.length + 2);
      rmSync(join(output, 'summary.html'), { recursive: true });
      // A call that was killed while it wrote the second protein.
      writeFileSync(checkpoint, `${lines.slice(0, 2).join('\n')}\n`);
      appendFileSync(checkpoint, lines[2].slice(0, 20));
      const done: number[] = [];
      await annotateProteins(
        engine,
        { ...options, guarantee: 'exhaustive' },
        { onProgress: (state) => done.push(state.done) },
      );
      expect(done[0]).toBe(1);
    } finally {
      await searcher.close();
    }
    for (const name of [
      'domains.tsv',
      'domains.gff3',
      'domains.domtblout',
      'domains.parquet',
      'summary.html',
    ]) {
      expect(readFileSync(join(output, name)).equals(readFileSync(join(folder, 'out', name))), name).toBe(
        true,
      );
    }
  });

  it('writes into a folder for one of two calls at once, and refuses the other one', async () => {
    const output = join(folder, 'shared');
    const words = ['-d', 'demo', '-o', output, '--guarantee', 'exhaustive', '--max-evalue', '10'];
    const ends = await Promise.allSettled([run(fasta, ...words), run(fasta, ...words)]);
    const refused = ends.filter(({ status }) => status === 'rejected') as PromiseRejectedResult[];
    expect(refused.map(({ reason }) => String(reason))).toEqual([
      expect.stringMatching(/Process \d+ is annotating proteins into .*shared; wait until it is done/),
    ]);
    expect(readdirSync(output)).toHaveLength(5);
    for (const name of readdirSync(output)) {
      expect(readFileSync(join(output, name)).equals(readFileSync(join(folder, 'out', name))), name).toBe(
        true,
      );
    }
  });

  it.each([
    ['a database that is not there', ['-d', 'nope'], /There are: demo/],
    ['an E-value that is no number', ['-d', 'demo', '--max-evalue', 'x'], /Expected a number above 0/],
  ])('refuses %s, and writes nothing', async (_, words, message) => {
    const output = join(folder, 'refused');
    await expect(run(fasta, '-o', output, ...words)).rejects.toThrow(message);
    expect(readdirSync(folder)).not.toContain('refused');
  });
});
