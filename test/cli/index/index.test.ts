import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, describe, expect, it } from 'vitest';
import { CARD_FILE, CARD_FORMAT, calibrationDirectory } from '#src/significance/card.js';
import { codebookDefinition, type PolicyCard } from '#src/recall/policy-card.js';
import { writePolicyCard } from '#src/recall/policy-sidecar.js';
import { openJob } from '#src/services/jobs.js';
import { openProgram } from '#src/cli/program/program.js';
import { writeManifestFolder } from '../../release/make-release.js';

const folder = mkdtempSync(join(tmpdir(), 'gloaming-index-'));
afterAll(() => rmSync(folder, { recursive: true }));
const indexes = join(folder, 'indexes');
const environment = { GLOAMING_INDEXES: indexes, GLOAMING_DATA: join(folder, 'data'), GLOAMING_THREADS: '1' };

/** Runs one index command in this process and gives what it printed. */
async function index(...args: string[]): Promise<string> {
  return (await indexWith('', ...args)).stdout;
}

/** Runs `gloaming index` with a text on standard input. Returns standard output and standard error. */
async function indexWith(input: string, ...args: string[]): Promise<{ stdout: string; stderr: string }> {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  stdin.end(input);
  const words = ['index', ...args];
  const program = await openProgram(words, { environment, stdin, stdout, stderr });
  await program.parseAsync(words, { from: 'user' });
  return { stdout: String(stdout.read() ?? ''), stderr: String(stderr.read() ?? '') };
}

function fasta(name: string, content: string): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

const ALPHA = fasta('alpha.fasta', '>a one\nMKVLAWYDE\n>b two\nMUVLA\n');
const BETA = fasta('beta.fasta', '>c three\nACDEFGHIKL\n');
const build = (file: string, name: string, ...rest: string[]) =>
  index('build', file, '--name', name, '--encoder', 'baseline-1', ...rest);

describe('gloaming index', () => {
  it('starts without databases and prints the command that adds one', async () => {
    expect(await index('list')).toContain('gloaming index build');
    await expect(index('verify')).rejects.toThrow('No database is built yet');
  });

  it('builds a database, reports it and makes the first one the default', async () => {
    const report = await build(ALPHA, 'alpha');
    expect(report).toMatch(
      /^Built alpha\.\n {2}release +dbr_[0-9a-f]{64}\n {2}proteins +2\n {2}residues +14\n/,
    );
    expect(report).toContain('replaced letters  1 U');
    expect(report).toContain('Search it:  gloaming search query.fasta\n');
    expect(await build(BETA, 'beta')).toContain('--database beta');
    expect(await index('default')).toBe('alpha\n');
    expect(await index('default', 'beta')).toBe('Requests that name no database now search beta.\n');
    expect(await index('default')).toBe('beta\n');
    expect(await build(ALPHA, 'alpha')).toContain('alpha is this release already');
  });

  it('estimates time and size of a build with --estimate, and builds nothing', async () => {
    const printed = await build(ALPHA, 'estimated', '--estimate');
    expect(printed).toMatch(/^input +2 proteins, 14 residues$/m);
    expect(printed).toMatch(/^time +[\d.:]+( s)?$/m);
    expect(printed).toMatch(/^disk +.*B, and .* of work files meanwhile$/m);
    expect(printed).toMatch(/^memory +.* to build, .* to search$/m);
    expect(printed).toContain('Nothing was built.');
    await expect(index('fields', 'estimated')).rejects.toThrow('No database or release');
    await expect(build(join(folder, 'absent.fasta'), 'estimated', '--estimate')).rejects.toThrow(
      'absent.fasta',
    );
  });

  it('names the process that already computes the calibration', async () => {
    await build(BETA, 'busy', '--no-calibration');
    await expect(index('calibration', 'busy')).rejects.toThrow(
      'make one with "gloaming index calibrate busy"',
    );
    const job = openJob(environment.GLOAMING_DATA, { command: 'index calibrate', database: 'busy' });
    job.update({ stage: 'Calibrating', unit: 'pairs', done: 54, total: 100 });
    await expect(index('calibration', 'busy')).rejects.toThrow(
      `process ${process.pid} works on it ("gloaming index calibrate"; Calibrating: 54 %)`,
    );
    job.close();
    await index('remove', 'busy', '--yes');
  });

  it('reads standard input, prints the format of each file, and reports duplicate ids', async () => {
    const blast = '>WP_1.1 kinase [Mus musculus] >WP_2.1 kinase [Rattus]\nMKVLAWYDE\n>WP_1.1 again\nMKV\n';
    const options = ['--name', 'piped', '--encoder', 'baseline-1', '--duplicates', 'first'];
    const { stdout, stderr } = await indexWith(blast, 'build', '-', ALPHA, ...options);
    expect(stderr).toContain('standard input: FASTA\n');
    expect(stderr).toContain('alpha.fasta: FASTA\n');
    expect(stdout).toMatch(/^ {2}note +Proteins left out because of a repeated id: 1/m);
    expect(await index('fields', 'piped')).toMatch(/^organisms +string_list +1 +2 +Mus musculus \(1\)/m);
    await index('remove', 'piped', '--yes');
    await expect(indexWith('', 'build', '-', '-', ...options)).rejects.toThrow('name - once');
    await expect(indexWith('', 'build', '-', ...options)).rejects.toThrow('holds no FASTA record');
  });

  it('reports how many proteins have homologs, and builds without homologs if none has', async () => {
    const given = join(folder, 'given');
    mkdirSync(given);
    for (const [id, row] of [
      ['a', 'MKVLAWYDE'],
      ['unknown', 'ACDEF'],
    ]) {
      writeFileSync(join(given, `${id}.a3m`), `>${id}\n${row}\n>other\n${row.replace('A', 'G')}\n`);
    }
    const options = ['--alignments', given, '--no-calibration'];
    expect(await build(ALPHA, 'related', ...options)).toContain(
      'homologs          1 homologs of 1 of 2 proteins, by the given alignments',
    );
    const words = ['build', BETA, '--name', 'alone', '--encoder', 'baseline-1', ...options];
    const { stdout, stderr } = await indexWith('', ...words);
    expect(stderr).toContain('No protein has homologs by the given alignments: alone is built without');
    expect(stdout).not.toContain('homologs');
    expect(readdirSync(join(indexes, 'alone'))).toHaveLength(1);
    expect(await index('list')).toMatch(/^related .* with homologs$/m);
    expect(await index('list')).not.toMatch(/^alone .* with homologs$/m);
    for (const name of ['related', 'alone']) await index('remove', name, '--yes');
  });

  it('finds homologs in the release that the build created or found, not in a newer one', async () => {
    const idOf = (report: string): string | undefined => /dbr_[0-9a-f]{64}/.exec(report)?.[0];
    const older = idOf(await build(ALPHA, 'own', '--no-calibration'));
    expect(idOf(await build(BETA, 'own', '--no-calibration'))).not.toBe(older);
    const ofItself = build(ALPHA, 'own', '--no-calibration', '--relatives', 'self');
    await expect(ofItself).rejects.toThrow(`and release ${older} has none: calibrate it`);
    await index('remove', 'own', '--yes');
  });

  it('accepts embeddings for protein sequences only, and names what is wrong with them', async () => {
    const given = ['--embeddings', ALPHA];
    await expect(build(ALPHA, 'embedded', ...given)).rejects.toThrow(
      'neither an HDF5 file, nor a NumPy archive',
    );
    const both = build(ALPHA, 'embedded', ...given, '--relatives', 'self');
    await expect(both).rejects.toThrow('--embeddings are of proteins alone');
    expect(await index('list')).not.toContain('embedded');
  });

  it('lists the fields of filters with types, counts and frequent values', async () => {
    const header = (id: string, organism: string) =>
      `sp|${id}|X_Y Some protein OS=${organism} OX=83333 PE=1 SV=1`;
    const named = fasta(
      'named.fasta',
      `>${header('P00001', 'Escherichia coli')}\nMKVLAWYDE\n>${header('P00002', 'Escherichia coli')}\nMKVLA\n` +
        `>${header('P00003', 'Mus musculus')}\nMKVWA\n`,
    );
    await build(named, 'gamma');
    const listed = await index('fields', 'gamma');
    expect(listed).toMatch(/^organism +string +3 +2 +Escherichia coli \(2\), Mus musculus \(1\)$/m);
    expect(listed).toMatch(/^taxid +integer +3 +1 +83333 \(3\)$/m);
    expect(listed).toMatch(/^string: eq, ne, .*contains/m);
    expect(listed).toMatch(/--filter writes them shorter: = is eq, != is ne, .*~ is contains/);
    await index('remove', 'gamma', '--yes');
  });

  it('keeps old releases when a database is built anew, and lets one of them be the default again', async () => {
    const before = readdirSync(join(indexes, 'alpha'))[0];
    await build(ALPHA, 'alpha', '--title', 'Second');
    const list = await index('list');
    expect(list.match(/^alpha /gm)).toHaveLength(2);
    expect(list.match(/^alpha .* no( +default release)? *$/gm)).toHaveLength(2);
    expect(list).not.toMatch(new RegExp(`${before.slice(0, 16)}.*default release`));
    await index('default', 'alpha', '--release', before.slice(0, 20));
    expect(await index('list')).toMatch(new RegExp(`${before.slice(0, 16)}.*default release`));
  });

  it('says how to go back where the new release has fewer proteins', async () => {
    await build(ALPHA, 'shrunk');
    const one = fasta('one.fasta', '>a one\nMKVLAWYDE\n');
    const report = await build(one, 'shrunk');
    expect(report).toMatch(/before +2 proteins in dbr_[0-9a-f]+, which stays/);
    const [command] = /gloaming index default shrunk --release dbr_[0-9a-f]+/.exec(report)!;
    await index(...command.split(' ').slice(2));
    expect(await index('list')).toMatch(/^shrunk .* 2 .*default release/m);
    expect(await build(ALPHA, 'shrunk')).not.toContain('which stays');
    await index('remove', 'shrunk', '--yes');
  });

  it('reports the measured losses of a release with a codebook policy', async () => {
    const [release] = readdirSync(join(indexes, 'beta'));
    const directory = join(indexes, 'beta', release);
    const of = (mean: number) => ({ query_count: 1, wanted_count: 1, found_count: 1, mean, low: 0, high: 1 });
    const file = { path: `words-${'0'.repeat(64)}.bin`, size_bytes: 1, sha256: '0'.repeat(64) };
    const card = (evident: number): PolicyCard => ({
      format: 'gloaming-policy/1',
      release_id: release,
      calibration_id: 'calib_test',
      policy_id: 'pol_test',
      policy: codebookDefinition(100, 50, 600),
      codes: { words: file, codes: file },
      seed: 1,
      evident_expected_false_hits: 1e-3,
      compared_target_count: 2,
      recalls: { nearest_10: of(0.95), nearest_100: of(0.8), evident: of(evident) },
      strata: [],
      tried: [],
      required_recall: 0.9,
      required_evident_recall: 0.75,
    });
    await writePolicyCard(directory, card(0.77));
    expect(await index('list')).toMatch(
      /^Searched by a codebook: beta dbr_\w{12}; it misses 5\.0 % of the 10 nearest, 20\.0 % .* 23\.0 % of all/m,
    );
    await writePolicyCard(directory, card(0.7));
    expect(await index('list')).not.toContain('Searched by a codebook');
    const [sample, supported] = [
      { pair_count: 1, protein_count: 2, connected_pair_count: 0, link_count: 0 },
      {},
    ];
    const measured = {
      format: CARD_FORMAT,
      release_id: release,
      sample,
      supported,
      bins: [],
      populations: [],
    };
    writeFileSync(join(calibrationDirectory(directory), CARD_FILE), JSON.stringify(measured));
    const shown = await index('calibration', 'beta');
    expect(shown).toMatch(
      /^policy +coded: it misses 5\.0 % .*30\.0 % of all .*, so that it is not offered$/m,
    );
    rmSync(calibrationDirectory(directory), { recursive: true });
  });

  it('finds its releases again when the catalog is lost', async () => {
    rmSync(join(folder, 'data'), { recursive: true });
    const list = await index('list');
    expect(list.match(/^alpha /gm)).toHaveLength(2);
    expect(list.match(/^beta /gm)).toHaveLength(1);
  });

  it('verifies, and names the file whose byte was flipped', async () => {
    expect(await index('verify')).toMatch(/^(\w+ dbr_\w{12}: intact \(5 files, [^)]*\)\n){3}$/);
    const [release] = readdirSync(join(indexes, 'beta'));
    const path = join(indexes, 'beta', release, 'tokens.arrow');
    const intact = readFileSync(path);
    const bytes = Buffer.from(intact);
    bytes[500] ^= 4;
    writeFileSync(path, bytes);
    await expect(index('verify', 'beta')).rejects.toThrow('Damaged: 1 of 1');
    writeFileSync(path, intact);
    expect(await index('verify', release.slice(0, 12))).toContain('intact');
  });

  it('lists a damaged manifest and can remove that release', async () => {
    const [release] = readdirSync(join(indexes, 'beta'));
    writeFileSync(join(indexes, 'beta', release, 'manifest.json'), '{}');
    expect(await index('list')).toContain(`Damaged: beta ${release.slice(0, 16)}`);
    await expect(index('remove', 'beta')).rejects.toThrow('Say so with --yes');
    expect(await index('remove', 'beta', '--yes')).toBe(`Deleted beta ${release.slice(0, 16)}.\n`);
    expect(await index('list')).not.toContain('beta');
  });

  it('deletes no release of another database whose id starts alike, or is the same', async () => {
    const [first, second] = readdirSync(join(indexes, 'alpha'));
    await expect(index('remove', 'dbr_', '--yes')).rejects.toThrow(
      `2 releases start with dbr_; name one of them by more of its id: alpha ${first.slice(0, 16)}, alpha `,
    );
    await expect(index('verify', 'dbr_')).rejects.toThrow('2 releases start with dbr_');
    cpSync(join(indexes, 'alpha', second), join(indexes, 'copied', second), { recursive: true });
    const command = `gloaming index remove alpha --release ${second.slice(0, 16)}`;
    await expect(index('remove', second, '--yes')).rejects.toThrow(
      `2 databases have the release ${second}: alpha, copied. Name the database, as in "${command}"`,
    );
    expect(await index('verify', second)).toMatch(/^(\w+ dbr_\w{12}: intact .*\n){2}$/);
    expect(await index('remove', 'copied', '--release', second.slice(0, 16), '--yes')).toBe(
      `Deleted copied ${second.slice(0, 16)}.\n`,
    );
    await expect(index('remove', 'alpha', '--release', 'dbr_', '--yes')).rejects.toThrow(
      '2 releases of alpha start with dbr_; one is expected',
    );
    expect(readdirSync(join(indexes, 'alpha'))).toEqual([first, second]);
  });

  it('deletes no release that an unfinished build needs, also if that build began after the question', async () => {
    const [first, second] = readdirSync(join(indexes, 'alpha'));
    const work = join(indexes, 'later', '.building-0123456789abcdef');
    const begin = (): void => {
      mkdirSync(work, { recursive: true });
      writeFileSync(join(work, 'sources.json'), JSON.stringify({ release_ids: [first] }));
    };
    const [stdin, stdout] = [new PassThrough(), new PassThrough()];
    const stderr = Object.assign(new PassThrough(), { isTTY: true });
    stderr.once('data', () => {
      begin();
      stdin.write('y\n');
    });
    const words = ['index', 'remove', 'alpha'];
    const program = await openProgram(words, { environment, stdin, stdout, stderr });
    const message =
      `alpha ${first.slice(0, 16)} is needed by an unfinished build of later: wait until it is done, or drop it ` +
      'with "gloaming index remove later --unfinished".';
    await expect(program.parseAsync(words, { from: 'user' })).rejects.toThrow(message);
    await expect(index('remove', first, '--yes')).rejects.toThrow(message);
    await index('default', 'alpha', '--release', second);
    expect(await index('prune', 'alpha', '--keep', '0', '--yes')).toContain('Nothing to prune');
    expect(readdirSync(join(indexes, 'alpha'))).toEqual([first, second]);
    expect(await index('remove', 'later', '--unfinished')).toBe('Dropped 1 unfinished build of later.\n');
  });

  it('lists a manifest without members under its own id, and builds and removes beside it', async () => {
    const forged = writeManifestFolder(join(indexes, 'forged'), { format: 'gloaming-release/1' });
    const id = basename(forged);
    expect(await build(BETA, 'beside')).toContain('Built beside.');
    const listed = await index('list');
    expect(listed).toContain(
      `Damaged: forged ${id.slice(0, 16)}: ${join(forged, 'manifest.json')} has no valid title; `,
    );
    expect(listed).toMatch(/^beside /m);
    expect(listed).not.toMatch(/^forged /m);
    await index('remove', 'beside', '--yes');
    expect(await index('remove', id, '--yes')).toBe(`Deleted forged ${id.slice(0, 16)}.\n`);
  });

  it('shows unfinished builds and drops them', async () => {
    mkdirSync(join(indexes, 'alpha', '.building-0123456789abcdef', 'release'), { recursive: true });
    expect(await index('list')).toContain('Unfinished: alpha');
    expect(await index('remove', 'alpha', '--unfinished')).toBe('Dropped 1 unfinished build of alpha.\n');
    expect(await index('list')).not.toContain('Unfinished');
  });

  it('removes a database with all its releases and what was measured of them', async () => {
    const [release] = readdirSync(join(indexes, 'alpha'));
    mkdirSync(join(indexes, 'alpha', `${release}.calibration`));
    await index('remove', 'alpha', '--yes');
    expect(await index('list')).toContain('No database is built yet');
    expect(readdirSync(join(indexes, 'alpha'))).toEqual([]);
  });

  it('leaves nothing in the catalog when a build is refused', async () => {
    await expect(build(fasta('bad.fasta', '>x\nMKV\n>x\nMKV\n'), 'bad')).rejects.toThrow(
      'Ids must be unique',
    );
    expect(await index('list')).not.toMatch(/^bad /m);
    await expect(index('build', ALPHA, '--name', 'UPPER')).rejects.toThrow('cannot name a database');
    await expect(build(ALPHA, 'x', '--taxonomy', 'only-nodes')).rejects.toThrow('nodes.dmp,names.dmp');
    await expect(index('default', 'nowhere')).rejects.toThrow('No database or release is called "nowhere"');
  });
});
