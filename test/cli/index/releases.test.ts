import { mkdirSync, mkdtempSync, readdirSync, rmSync, rmdirSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, describe, expect, it } from 'vitest';
import { formatQuantity } from '#src/cli/terminal/progress.js';
import { openProgram } from '#src/cli/program/program.js';
import { openRelease } from '#src/release/open.js';
import type { Release } from '#src/release/release.js';

/* A database whose releases follow each other: built on, annotated, compared, pruned. */

const folder = mkdtempSync(join(tmpdir(), 'gloaming-releases-'));
afterAll(() => rmSync(folder, { recursive: true }));
const indexes = join(folder, 'indexes');
const environment = { GLOAMING_INDEXES: indexes, GLOAMING_DATA: join(folder, 'data'), GLOAMING_THREADS: '1' };

async function index(...args: string[]): Promise<string> {
  const stdout = new PassThrough();
  const context = { environment, stdin: new PassThrough(), stdout, stderr: new PassThrough().resume() };
  const words = ['index', ...args];
  const program = await openProgram(words, context);
  await program.parseAsync(words, { from: 'user' });
  return String(stdout.read() ?? '');
}

function file(name: string, content: string): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

interface Listed {
  readonly default_release_id: string;
  readonly releases: readonly { readonly id: string }[];
}

async function database(): Promise<Listed> {
  const { databases } = JSON.parse(await index('list', '--json')) as { databases: Listed[] };
  return databases[0];
}

async function defaultRelease(): Promise<Release> {
  return openRelease(join(indexes, 'lab', (await database()).default_release_id));
}

const attributesOf = ({ targets }: Release, id: string) => targets.attributes(targets.find(id)!);

const NODES =
  '1\t|\t1\t|\tno rank\t|\n2\t|\t1\t|\tdomain\t|\n562\t|\t2\t|\tspecies\t|\n9606\t|\t1\t|\tspecies\t|\n';
const NAMES =
  '1\t|\troot\t|\t\t|\tscientific name\t|\n2\t|\tBacteria\t|\t\t|\tscientific name\t|\n' +
  '562\t|\tEscherichia coli\t|\t\t|\tscientific name\t|\n9606\t|\tHomo sapiens\t|\t\t|\tscientific name\t|\n';
const TAXONOMY = `${file('nodes.dmp', NODES)},${file('names.dmp', NAMES)}`;
const FIRST = file('first.fasta', '>a one\nMKVLAWYDE\n>b two\nMKVLA\n>c three\nACDEFGHIKL\n');
const NEXT = file('next.fasta', '>a one\nMKVLAWYDE\n>b another two\nMKVLAW\n>d four\nWYDEMK\n');
const TABLE = file(
  'first.tsv',
  'id\ttaxid\tec:string_list\tmass\na\t562\t1.1.1.1;2.7.-.-\t10.5\nb\t562\t\t20\nc\t562\t\t30\n',
);
const build = (...args: string[]) => index('build', ...args, '--no-calibration');

describe('the next release of a database', () => {
  it('keeps title, attributes and taxonomy of the release, and reports replaced ones', async () => {
    await build(
      FIRST,
      '--name',
      'lab',
      '--encoder',
      'baseline-1',
      '--title',
      'The lab',
      '--metadata',
      TABLE,
      '--taxonomy',
      TAXONOMY,
    );
    const report = await build(NEXT, '--from', 'lab');
    expect(report).toMatch(/reused +9 residues of earlier releases \(42\.9 %\)/);
    const next = await defaultRelease();
    expect(next.manifest).toMatchObject({ title: 'The lab', encoder: { id: 'baseline-1' } });
    expect(attributesOf(next, 'a')).toEqual({
      description: 'one',
      taxid: 562,
      ec: ['1.1.1.1', '2.7.-.-'],
      mass: 10.5,
      length: 9,
      lineage: ['Bacteria', 'Escherichia coli'],
    });
    expect(attributesOf(next, 'b')).toMatchObject({ description: 'another two', mass: 20, length: 6 });
    expect(attributesOf(next, 'd')).toEqual({ description: 'four', length: 6 });
    expect(next.fields.find(({ isTaxonomy }) => isTaxonomy)?.name).toBe('taxid');
    expect(next.lineage(562)).toEqual([562, 2, 1]);
  });

  it('reports no lost column if the new table has it', async () => {
    const table = file('next.tsv', 'id\tmass\na\t11\n');
    await build(NEXT, '--from', 'lab', '--metadata', table, '--title', 'Anew');
    const next = await defaultRelease();
    expect(attributesOf(next, 'a')).toMatchObject({ mass: 11, taxid: 562 });
    expect(attributesOf(next, 'b').mass).toBeUndefined();
    expect(attributesOf(next, 'b').taxid).toBe(562);
  });

  it('leaves the default release unchanged with --no-default', async () => {
    const before = await database();
    await build(FIRST, '--from', 'lab', '--title', 'Not yet', '--no-default');
    const after = await database();
    expect(after.releases).toHaveLength(before.releases.length + 1);
    expect(after.default_release_id).toBe(before.default_release_id);
  });

  it('needs a name, and types that agree', async () => {
    await expect(build(FIRST)).rejects.toThrow('--name <slug>, or --from <database>');
    const table = file('types.tsv', 'id\tec\na\tkinase\n');
    await expect(build(NEXT, '--from', 'lab', '--metadata', table)).rejects.toThrow(
      'The attribute ec is a string_list in Anew, and a string in the new data. Name the column "ec:string_list"',
    );
  });
});

describe('gloaming index annotate', () => {
  it('makes a release of the same tokens with other attributes', async () => {
    const before = await defaultRelease();
    const table = file('more.tsv', 'id\tmass\tfold\na\t\tTIM barrel\nx\t1\tlost\n');
    const output = await index('annotate', 'lab', '--metadata', table);
    expect(output).toMatch(
      /^Annotated lab in [\d.]+ s: dbr_[0-9a-f]{64}\n {2}1 of 2 metadata rows match no protein\.\n$/,
    );
    const after = await defaultRelease();
    expect(attributesOf(after, 'a')).toEqual({
      ...attributesOf(before, 'a'),
      mass: undefined,
      fold: 'TIM barrel',
    });
    expect(attributesOf(after, 'b')).toEqual(attributesOf(before, 'b'));
    const inode = ({ directory }: Release): number => statSync(join(directory, 'tokens.arrow')).ino;
    expect(inode(after)).toBe(inode(before));
    expect(await index('verify', after.id)).toContain('intact');
    await index('default', 'lab', '--release', before.id);
  });

  it('finds the very same release again, and takes a newer taxonomy', async () => {
    expect(await index('annotate', 'lab', '--title', 'Twice', '--no-default')).toContain('Annotated lab');
    expect(await index('annotate', 'lab', '--title', 'Twice', '--no-default')).toContain(
      'lab has this release already',
    );
    const human = file('human.tsv', 'id\ttaxid\na\t9606\n');
    await index('annotate', 'lab', '--metadata', human, '--taxonomy', TAXONOMY);
    expect(attributesOf(await defaultRelease(), 'a').lineage).toEqual(['Homo sapiens']);
  });

  it('refuses a command without data, and computed columns', async () => {
    await expect(index('annotate', 'lab')).rejects.toThrow('Nothing to annotate with');
    const table = file('length.tsv', 'id\tlength\na\t5\n');
    await expect(index('annotate', 'lab', '--metadata', table)).rejects.toThrow(
      'computes the attribute length',
    );
    expect(readdirSync(join(indexes, 'lab')).filter((name) => name.startsWith('.building'))).toEqual([]);
  });
});

describe('gloaming index diff', () => {
  it('lists proteins, sequences, attributes, fields and settings that differ', async () => {
    const after = (await database()).default_release_id;
    await build(FIRST, '--name', 'other', '--encoder', 'baseline-1');
    const difference = JSON.parse(await index('diff', 'other', after, '--json')) as unknown;
    expect(difference).toEqual({
      from: expect.stringMatching(/^dbr_/),
      to: after,
      added: ['d'],
      removed: ['c'],
      changed_sequences: ['b'],
      changed_attributes: [{ id: 'a', attributes: ['taxid', 'ec', 'mass', 'lineage'] }],
      added_fields: ['taxid', 'ec', 'mass', 'lineage'],
      removed_fields: [],
      changed_settings: ['title'],
    });
    const text = await index('diff', 'other', 'lab');
    expect(text).toMatch(/^ {2}proteins added +1 {2}d$/m);
    expect(text).toMatch(/^ {2}attributes changed +1 {2}a \(taxid, ec, mass, lineage\)$/m);
    expect(await index('diff', 'lab', after)).toMatch(/^ {2}settings changed +0$/m);
  });
});

describe('gloaming index prune', () => {
  it('lists releases and the bytes that their removal frees, not counting files with another link', async () => {
    const { releases, default_release_id: defaultReleaseId } = await database();
    const listed = await index('prune', 'lab', '--keep', '1');
    expect(listed.match(/^lab +dbr_/gm)).toHaveLength(releases.length - 2);
    expect(listed).toMatch(/\nDeleting them frees [\d.]+ [kM]B\. Nothing was deleted; --yes does it\.\n$/);
    expect(await index('prune', 'lab', '--keep', '1')).toBe(listed);
    const used = (): number =>
      readdirSync(join(indexes, 'lab'), { recursive: true, encoding: 'utf8' })
        .map((name) => statSync(join(indexes, 'lab', name)))
        .filter((status, at, all) => status.isFile() && all.findIndex(({ ino }) => ino === status.ino) === at)
        .reduce((sum, { size }) => sum + size, 0);
    const before = used();
    const deleted = await index('prune', 'lab', '--keep', '1', '--yes');
    const freed = before - used();
    expect(deleted).toContain(`Deleted them; ${formatQuantity(freed, 'B')} are free.`);
    expect((await database()).releases.map(({ id }) => id)).toContain(defaultReleaseId);
    expect((await database()).releases).toHaveLength(2);
  });

  it('keeps the release before the default, and one after it that is not served', async () => {
    const { default_release_id: standing } = await database();
    await index('annotate', 'lab', '--title', 'Later', '--no-default');
    const { releases, default_release_id: defaultId } = await database();
    expect(defaultId).toBe(standing);
    expect(releases).toHaveLength(3);
    expect(releases[1]!.id).toBe(standing);
    expect(await index('prune', 'lab', '--keep', '1')).toContain('Nothing to prune');
    const listed = await index('prune', 'lab', '--keep', '0');
    expect(listed.match(/^lab +dbr_/gm)).toHaveLength(2);
  });

  it('says after a change of attributes that the neighbours are missing', async () => {
    const graph = `${(await defaultRelease()).directory}.neighbours`;
    mkdirSync(graph);
    const output = await index('annotate', 'lab', '--title', 'Later', '--no-default').finally(() =>
      rmdirSync(graph),
    );
    expect(output).toContain(
      'It has no neighbours, so that --propagation is refused: "gloaming index neighbours lab"',
    );
  });

  it('has nothing to do afterwards, and refuses an unknown database', async () => {
    expect(await index('prune')).toContain('Nothing to prune');
    await expect(index('prune', 'lba')).rejects.toThrow('No database is called "lba". There are: ');
  });
});
