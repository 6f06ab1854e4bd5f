import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { promisify } from 'node:util';
import { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openAppliance } from '#src/appliance.js';
import { simulateProteins } from '#src/demo/simulate.js';
import { trueHomologs } from '#src/demo/check.js';
import { register } from '#src/cli/search/search.js';
import { loadConfig } from '#src/config.js';
import { addHomologSource } from '#src/find-homologs/homolog-sources.js';
import { mmseqsVersion } from '#src/find-homologs/mmseqs-process.js';
import { searchHomology } from '#src/contract/search/homology.js';
import { createValidators } from '#src/contract/document/validation.js';
import { copyDemoRelease } from '../../tools/fixtures.js';
import { PROGRAM } from '../../tools/paths.js';

/* `gloaming search` as it is typed, on a small simulated database. */

const folder = mkdtempSync(join(tmpdir(), 'gloaming-search-'));
const environment = {
  GLOAMING_INDEXES: join(folder, 'indexes'),
  GLOAMING_DATA: join(folder, 'data'),
  GLOAMING_ENCODER: 'baseline-1',
};
const demo = simulateProteins(11, 120);
const query = demo.proteins.find(({ id }) => trueHomologs(demo, id).length > 4)!;
const fastaOf = (proteins: readonly { id: string; sequence: string }[]): string =>
  proteins.map(({ id, sequence }) => `>${id} a query\n${sequence}\n`).join('');
const one = join(folder, 'one.fasta');
const many = join(folder, 'many.fasta');
const hasMmseqs = (await mmseqsVersion()) !== undefined;
let releaseId: string;

beforeAll(async () => {
  writeFileSync(one, fastaOf([query]));
  writeFileSync(many, fastaOf(demo.proteins.slice(0, 40)));
  const appliance = await openAppliance(loadConfig(environment));
  const release = await copyDemoRelease(environment.GLOAMING_INDEXES, 11, 120);
  releaseId = release.id;
  const publishedAt = new Date().toISOString();
  await appliance.releases.publish({ id: releaseId, slug: 'demo', publishedAt, manifest: release.manifest });
  await appliance.close();
});
afterAll(() => rmSync(folder, { recursive: true }));

interface Printed {
  readonly stdout: string;
  readonly stderr: string;
}

async function run(words: readonly string[], stdin = '', terminal = {}): Promise<Printed> {
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
    environment,
    stdin: Readable.from([Buffer.from(stdin)]),
    stdout: Object.assign(sink('stdout'), terminal),
    stderr: sink('stderr'),
  });
  await program.parseAsync(['search', ...words], { from: 'user' });
  return printed;
}

const rowsOf = ({ stdout }: Printed): string[][] =>
  stdout
    .trimEnd()
    .split('\n')
    .slice(1)
    .map((line) => line.split('\t'));

describe('gloaming search', () => {
  it('finds the query itself first, and relatives after it', async () => {
    const { stdout } = await run([one, '--limit', '6']);
    expect(stdout).toContain('120 proteins, all of them compared');
    const ids = [...stdout.matchAll(/^ +\d+ {2}(SIM\d+)/gm)].map(([, id]) => id);
    expect(ids).toHaveLength(6);
    expect(ids[0]).toBe(query.id);
    expect(trueHomologs(demo, query.id)).toContain(ids[1]);
  });

  it('answers many queries in one call as it answers them one by one', async () => {
    const together = rowsOf(await run([many, '--format', 'tsv', '--limit', '3', '--alignments']));
    expect(together).toHaveLength(120);
    const last = demo.proteins[39];
    const alone = rowsOf(
      await run(['-', '--format', 'tsv', '--limit', '3', '--alignments'], fastaOf([last])),
    );
    expect(together.slice(-3)).toEqual(alone);
  });

  it('finds a database by slug, by release id and as the default', async () => {
    const answers: Printed[] = [];
    for (const words of [[], ['--database', 'demo'], ['--database', releaseId]]) {
      answers.push(await run([one, '-f', 'json', ...words]));
    }
    expect(new Set(answers.map(({ stdout }) => stdout)).size).toBe(1);
    expect(JSON.parse(answers[0].stdout)).toMatchObject({
      database: { slug: 'demo', release_id: releaseId },
    });
  });

  it('searches only what passes the filter', async () => {
    const words = [one, '-f', 'json', '--filter', 'length>200', '--filter', 'reviewed=true'];
    const { database, candidates } = JSON.parse((await run(words)).stdout) as {
      database: { searched_target_count: number; target_space_id: string };
      candidates: { target: { attributes: { length: number; reviewed: boolean } } }[];
    };
    const expected = demo.proteins.filter(
      ({ sequence, reviewed }) => sequence.length > 200 && reviewed,
    ).length;
    expect(database).toMatchObject({ searched_target_count: expected });
    expect(database.target_space_id).toMatch(/^htsp_/);
    expect(candidates).toHaveLength(expected);
    for (const { target } of candidates) expect(target.attributes.length).toBeGreaterThan(200);
  });

  it('answers with the members of the contract, without those of an HTTP request', async () => {
    const { stdout } = await run([one, '-f', 'json', '--alignments']);
    const {
      query: queryOfAnswer,
      execution,
      ...answer
    } = JSON.parse(stdout) as Record<string, Record<string, unknown>>;
    const { id, ...rest } = queryOfAnswer;
    expect(id).toBe(query.id);
    const whole = {
      ...answer,
      query: rest,
      execution: { ...execution, created_at: '2026-08-08T00:00:00Z' },
      receipt: { id: `rcpt_${'0'.repeat(64)}`, sha256: '0'.repeat(64), bytes: 1 },
      request_id: `req_${'0'.repeat(24)}`,
      performance: { is_cache_hit: false, queue_wait_ms: 0, search_execution_ms: 1, server_total_ms: 1 },
      usage: { logical_bytes_returned: 1 },
    };
    const validator = createValidators([searchHomology]).get(searchHomology)!;
    expect(validator.checkSuccess(whole)).toEqual([]);
    expect(validator.checkSuccess({ ...whole, ranking: undefined })).not.toEqual([]);
  });

  it('accepts a scientific name as well as a taxid, and counts the proteins below an empty taxon', async () => {
    const counted = async (filter: string): Promise<number> => {
      const { database } = JSON.parse((await run([one, '-f', 'json', '-l', '1', '--filter', filter])).stdout);
      return database.searched_target_count as number;
    };
    const taxid = demo.taxonomy.nodes.find(({ name }) => name === 'Fictibacteria')!.taxid;
    const under = await counted('taxid under fictibacteria');
    expect(under).toBe(await counted(`taxid under ${taxid}`));
    expect(under).toBeGreaterThan(0);
    const { stdout } = await run([one, '--filter', `taxid=${taxid}`]);
    expect(stdout).toContain(`taxid ${taxid} itself has none; \`taxid under ${taxid}\` has ${under}`);
    await expect(counted('taxid under Bacteria')).rejects.toThrow('no taxon of this name');
    const [first, second] = demo.proteins.map(({ organism }) => organism);
    const both = demo.proteins.filter(({ organism }) => organism === first || organism === second).length;
    expect(await counted(`organism in (${first}, "${second}")`)).toBe(both);
  });

  it('reports a filter that no protein passes', async () => {
    const { stdout } = await run([one, '--filter', 'length>100000', '--filter', 'reviewed=true']);
    expect(stdout).toContain('so nothing was compared');
    expect(stdout).toMatch(/length > "100000" has none; length is \d+ to \d+ here/);
    expect(stdout).toMatch(/reviewed = "true" alone has \d+/);
    const { stderr } = await run([one, '-f', 'tsv', '--filter', 'organism=fictus']);
    expect(stderr).toMatch(/target_space_empty: .*organism = "fictus" has none; near: ".+" \(\d+\)/);
  });

  it('writes a file whole or not at all', async () => {
    const path = join(folder, 'found.arrow');
    await run([one, '-f', 'arrow', '--output', path]);
    expect(readFileSync(path).subarray(0, 6).toString()).toBe('ARROW1');
    const broken = join(folder, 'broken.fasta');
    writeFileSync(broken, `${fastaOf(demo.proteins.slice(0, 33))}>bad\nMKT1A\n`);
    await expect(run([broken, '-f', 'tsv', '-o', join(folder, 'none.tsv')])).rejects.toThrow(
      /broken\.fasta, line \d+, record 34 \(bad\)/,
    );
    expect(readdirSync(folder).filter((name) => name.startsWith('none'))).toEqual([]);
  });

  it.skipIf(!existsSync('/dev/full'))('ends when its disk is full, and leaves nothing running', async () => {
    const main = PROGRAM;
    const words = [main, 'search', many, '-f', 'tsv', '-o', '/dev/full'];
    const ended = promisify(execFile)(process.execPath, words, {
      env: { ...process.env, ...environment },
      timeout: 30_000,
    });
    await expect(ended).rejects.toMatchObject({
      code: 1,
      killed: false,
      stderr: expect.stringContaining('ENOSPC'),
    });
  });

  it.skipIf(!existsSync('/dev/full'))('reports a full disk behind standard output in one line', async () => {
    const command = `'${process.execPath}' '${PROGRAM}' search '${one}' -f tsv > /dev/full`;
    const ended = promisify(execFile)('sh', ['-c', command], { env: { ...process.env, ...environment } });
    const line = /^gloaming: The output cannot be written\. ENOSPC[^\n]*\n$/m;
    await expect(ended).rejects.toMatchObject({ code: 1, stderr: expect.stringMatching(line) });
  });

  it('orders by score without a calibration, warns, and selects by the other cut-offs', async () => {
    const all = await run([one, '-f', 'tsv', '--alignments', '--limit', '40']);
    expect(all.stderr).toMatch(/^Ordered by score, as there are no E-values/m);
    const scores = rowsOf(all).map((row) => Number(row[6]));
    expect(scores).toEqual(scores.toSorted((left, right) => right - left));
    const cut = await run([one, '-f', 'tsv', '-a', '-l', '40', '--min-identity', '30%', '--sort', 'rank']);
    const covering = rowsOf(all).filter((row) => row[14] !== '' && Number(row[14]) >= 0.3);
    expect(cut.stderr).toContain(`${40 - covering.length} of 40 candidates do not pass the cut-offs`);
    expect(rowsOf(cut)).toEqual(covering.toSorted((left, right) => Number(left[2]) - Number(right[2])));
    await expect(run([one, '-e', '1'])).rejects.toThrow('no qualified calibration');
  });

  it.each([
    [['-f', 'table']],
    [['-f', 'json']],
    [['-f', 'tsv']],
    [['-f', 'm8']],
    [['-f', 'fasta']],
    [['-f', 'a3m']],
    [['-f', 'html']],
    [['--outfmt', '7']],
    [['--format-output', 'query,evalue']],
  ])('warns on standard error, as %j, that nothing is calibrated', async (format) => {
    expect((await run([one, ...format, '-l', '2'])).stderr).toMatch(
      /warning: no_e_values: demo has no calibration/,
    );
    const printed = await run([one, ...format, '-l', '2', '--significance', 'not_requested']);
    expect(printed.stderr).not.toContain('no_e_values');
  });

  it('writes a text in place of absent E-values', async () => {
    const endOf = async (...words: string[]): Promise<string[]> =>
      (await run([one, '-l', '1', ...words])).stdout.trimEnd().split('\t').slice(-2);
    expect(await endOf('-f', 'm8')).toEqual(['120', '0.0']);
    expect(await endOf('-f', 'm8', '--missing', 'count')).toEqual(['120', '0.0']);
    expect(await endOf('-f', 'm8', '--missing', 'nan')).toEqual(['nan', 'nan']);
    expect(await endOf('--outfmt', '6 qseqid evalue bitscore', '--missing', 'nan')).toEqual(['nan', 'nan']);
    expect(await endOf('--format-output', 'evalue,bits', '--missing', 'nan')).toEqual(['nan', 'nan']);
    const { stdout } = await run([one, '-l', '1', '-f', 'm8', '--missing', 'empty']);
    expect(stdout).toMatch(/\t\t\n$/);
    await expect(run([one, '-f', 'tsv', '--missing', 'nan'])).rejects.toThrow('--missing');
    await expect(run([one, '--outfmt', '5', '--missing', 'nan'])).rejects.toThrow('numbers only');
  });

  it('shows a protein at distance 0 from itself in TSV, and at the measured one in JSON', async () => {
    const { stdout } = await run([many, '-f', 'json', '-l', '3']);
    const nearest = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).candidates[0].measurements.maxsim.bidirectional);
    for (const distance of nearest) expect(distance).toBeCloseTo(0, 2);
    expect(Math.min(...nearest)).toBeLessThan(0);
    const tsv = rowsOf(await run([many, '-f', 'tsv', '-l', '3']));
    for (const row of tsv) expect(Math.min(...row.slice(3, 6).map(Number))).toBeGreaterThanOrEqual(0);
  });

  it('writes JSON in the order of the table, and in another where --sort names one', async () => {
    const idsOf = async (...words: string[]): Promise<string[]> =>
      JSON.parse((await run([one, '-f', 'json', '-l', '20', ...words])).stdout).candidates.map(
        ({ target }: { target: { id: string } }) => target.id,
      );
    const tsv = async (...words: string[]): Promise<string[]> =>
      rowsOf(await run([one, '-f', 'tsv', '-l', '20', ...words])).map(([, id]) => id);
    expect(await idsOf()).toEqual(await tsv());
    expect(await idsOf('--sort', 'distance')).toEqual(await tsv('--sort', 'rank'));
    const html = (await run([one, '-f', 'html', '-l', '20', '--sort', 'score'])).stdout;
    expect(html).toContain('"sort":"score"');
    expect(html).toContain('<title>Search of demo</title>');
  });

  it('writes the alignments of many queries into a folder or a tar', async () => {
    const three = join(folder, 'three.fasta');
    writeFileSync(three, fastaOf(demo.proteins.slice(0, 3)));
    const alignments = join(folder, 'alignments');
    const { stderr } = await run([three, '-f', 'a3m', '-o', `${alignments}/`]);
    expect(stderr).toContain('3 alignments in ');
    const names = readdirSync(alignments).toSorted();
    expect(names).toEqual(demo.proteins.slice(0, 3).map(({ id }, index) => `${index}-${id}.a3m`));
    const alone = await run([one, '-f', 'a3m']);
    writeFileSync(three, fastaOf([query, demo.proteins[1]]));
    await run([three, '-f', 'a3m', '-o', alignments]);
    expect(readFileSync(join(alignments, `0-${query.id}.a3m`), 'utf8')).toBe(alone.stdout);
    const tar = join(folder, 'alignments.tar');
    await run([three, '-f', 'a3m', '-o', tar]);
    expect(readFileSync(tar).includes(alone.stdout)).toBe(true);
    await expect(run([three, '-f', 'tsv', '-o', alignments])).rejects.toThrow('is a folder');
  });

  it.skipIf(!hasMmseqs)(
    'adds rows of a homolog source to an alignment, each protein once (Debian: mmseqs2)',
    async () => {
      const others = demo.proteins.map(({ id, sequence }) => ({ id: `source_${id}`, sequence }));
      const known = demo.proteins.slice(0, 60);
      const source = join(folder, 'source.fasta');
      writeFileSync(source, fastaOf([...known, ...others]));
      await addHomologSource(environment.GLOAMING_INDEXES, 'source', [source]);
      const words = [one, '-f', 'a3m', '--max-identity', '1'];
      const [plain, deep] = [await run(words), await run([...words, '--homolog-rows', 'source'])];
      const idsIn = ({ stdout }: Printed): string[] => [...stdout.matchAll(/^>(\S+)/gm)].map(([, id]) => id);
      const added = idsIn(deep).filter((id) => !idsIn(plain).includes(id));
      expect(added.length).toBeGreaterThan(0);
      const related = new Set([...trueHomologs(demo, query.id), query.id]);
      for (const id of added) expect(related).toContain(id.replace('source_', ''));
      expect(new Set(idsIn(deep)).size).toBe(idsIn(deep).length);
      expect(idsIn(deep)).toEqual(expect.arrayContaining(idsIn(plain)));
    },
  );

  it('says which letters of a query it replaces', async () => {
    const odd = join(folder, 'odd.fasta');
    const { sequence } = query;
    writeFileSync(odd, `>odd\n${sequence.slice(0, 40)}*${sequence.slice(40)}*\n>even\n${sequence}\n`);
    const { stderr } = await run([odd, '-f', 'tsv', '-l', '1']);
    expect(stderr).toMatch(/warning: letters_replaced: odd: 1 \* /);
    expect(stderr).not.toContain('letters_replaced: even');
  });

  it('writes the bytes of an export of a run', async () => {
    const { stdout } = await run([many, '--outfmt', '6 qseqid sseqid qlen', '-l', '3']);
    const rows = stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.split('\t'));
    expect(new Set(rows.map(([id]) => id)).size).toBe(40);
    for (const row of rows) expect(row).toHaveLength(3);
    await expect(run([one, '-f', 'tsv', '--outfmt', '6'])).rejects.toThrow('Give one');
    await expect(run([one, '--max-sequences', '3'])).rejects.toThrow('--format a3m');
    await expect(run([one, '--outfmt', '6', '--evidence', 'candidate_measurement'])).rejects.toThrow(
      'needs alignments',
    );
  });

  it.each([
    ['a database that is not there', [one, '-d', 'nope'], /There are: demo/],
    ['an output that is the file of queries', [one, '-o', one], /is the input\. Name another file/],
    ['two queries for one alignment', [many, '-f', 'a3m'], /alignment of one query/],
    ['significance without a calibration', [one, '--significance', 'required'], /no qualified calibration/],
    ['rounds without a calibration', [one, '-f', 'a3m', '--rounds', '2'], /"gloaming index calibrate"/],
    [
      'rows of a homolog source that is not there',
      [one, '-f', 'a3m', '--homolog-rows', 'nope'],
      /There is no homolog source nope\. "gloaming homolog-source add"/,
    ],
    ['a field that is not there', [one, '--filter', 'organsim=x'], /Did you mean "organism"/],
    ['a file that is not there', [join(folder, 'absent.fasta')], /does not exist/],
    ['a sequence as a file', ['MKTAYIAKQR'], /name looks like a protein sequence/],
  ])('refuses %s', async (_, words, message) => {
    await expect(run(words)).rejects.toMatchObject({
      name: 'Refusal',
      message: expect.stringMatching(message),
    });
  });

  it('writes to standard output if the output is "-"', async () => {
    expect((await run([one, '-f', 'tsv', '-o', '-'])).stdout).toBe((await run([one, '-f', 'tsv'])).stdout);
  });

  it('searches a stretch of a query alone, with the positions of the whole query', async () => {
    const stretch = join(folder, 'stretch.fasta');
    writeFileSync(stretch, fastaOf([{ ...query, sequence: query.sequence.slice(19, 80) }]));
    const rowsOf = async (words: readonly string[]): Promise<string[][]> => {
      const outfmt = '6 sseqid score qstart qend sstart send qlen qseq';
      const { stdout } = await run([...words, '-l', '10', '--outfmt', outfmt]);
      return stdout
        .trimEnd()
        .split('\n')
        .map((line) => line.split('\t'));
    };
    const alone = await rowsOf([stretch]);
    const within = await rowsOf([one, '--query-range', '20-80']);
    const { length } = query.sequence;
    const moved = alone.map(([id, score, start, end, from, to, , letters]) => {
      return [id, score, `${Number(start) + 19}`, `${Number(end) + 19}`, from, to, `${length}`, letters];
    });
    expect(within).toEqual(moved);
    const beyond = run([one, '--query-range', `5-${length + 1}`]);
    await expect(beyond).rejects.toThrow(`The query range ends at residue ${length + 1}`);
  });

  it('refuses to print binary on a terminal', async () => {
    await expect(run([one, '-f', 'arrow'], '', { isTTY: true })).rejects.toThrow('--output');
  });
});
