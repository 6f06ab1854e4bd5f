import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterAll, describe, expect, it } from 'vitest';
import type { Encoder } from '#src/encoder/encoder.js';
import type { BuildOptions } from '#src/build-release/build-options.js';
import { Fault } from '#src/errors.js';
import { buildRelease, planShards } from '#src/build-release/release.js';
import { encodeShard } from '#src/build-release/shards/encode-shard.js';
import { shardProgress, type PlannedShards } from '#src/build-release/shards/plan.js';
import { filesInput } from '#src/build-release/sources/input-files.js';
import { seededRandom } from '#src/random.js';
import { fakeEncoder } from '../tools/fake-encoder.js';

const seed = Number(process.env.GLOAMING_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));
console.log(`shards seed ${seed}`);
const { below } = seededRandom(seed);
const folder = mkdtempSync(join(tmpdir(), 'gloaming-shards-'));
afterAll(() => rmSync(folder, { recursive: true }));

// One protein is longer than a 64th of all residues, so some of 64 shards are empty.
const lengths = Array.from({ length: 150 }, (_, at) => (at === 40 ? 4_000 : 1 + below(120)));
const sequences = lengths.map((length) =>
  Array.from({ length }, () => 'ACDEFGHIKLMNPQRSTVWY'[below(20)]).join(''),
);
const fasta = join(folder, 'proteins.fasta');
writeFileSync(
  fasta,
  sequences.map((sequence, at) => `>sp|Q${at}|N${at} Protein ${at}\n${sequence}\n`).join(''),
);

let folders = 0;
async function newBuild(): Promise<BuildOptions> {
  folders += 1;
  const indexesFolder = join(folder, `indexes-${folders}`);
  return {
    indexesFolder,
    slug: 'db',
    encoder: fakeEncoder(),
    input: await filesInput({ proteins: [fasta] }),
  };
}

const quiet = { onResidues: () => undefined };
const encode = (
  planned: PlannedShards,
  shard: number,
  task = 'one',
  encoder = fakeEncoder(),
): Promise<number> => encodeShard({ folder: planned.folder, shard, task }, { encoder }, quiet);

async function planned(options: BuildOptions, count: number): Promise<PlannedShards> {
  const plan = await planShards(options, count);
  if (plan === undefined) throw new Error('the release is not there yet');
  return plan;
}

/** Returns id and file bytes of the release, and checks that the build folder is gone. */
async function finish(options: BuildOptions, shardCount?: number): Promise<Record<string, string>> {
  const { release, isKnown, encodedResidues } = await buildRelease({ ...options, shardCount });
  expect(isKnown).toBe(false);
  if (shardCount !== undefined) expect(encodedResidues).toBe(0);
  expect(readdirSync(join(options.indexesFolder, 'db'))).toEqual([release.id]);
  const files = readdirSync(release.directory).sort();
  return Object.fromEntries(
    [['id', release.id]].concat(
      files.map((name) => [name, readFileSync(join(release.directory, name)).toString('base64')]),
    ),
  );
}

const whole = newBuild().then((options) => finish(options));

describe('a build in shards', () => {
  for (const count of [1, 2, 7, 64]) {
    it(`of ${count}, encoded in any order, gives the bytes of a build on one machine`, async () => {
      const options = await newBuild();
      const build = await planned(options, count);
      const { shards } = build.plan;
      expect(shards.reduce((sum, { targets }) => sum + targets, 0)).toBe(sequences.length);
      const order = shards.map((_, shard) => shard).sort(() => below(3) - 1);
      for (const shard of order) expect(await encode(build, shard)).toBe(shards[shard].residues);
      expect(await finish(options, count)).toEqual(await whole);
    });
  }

  it('has shards of about equal numbers of residues, determined by the input alone', async () => {
    const [one, other] = [await planned(await newBuild(), 7), await planned(await newBuild(), 7)];
    expect(one.plan).toEqual(other.plan);
    const share = lengths.reduce((sum, length) => sum + length, 0) / 7;
    for (const { residues } of one.plan.shards) expect(Math.abs(residues - share)).toBeLessThanOrEqual(4_000);
  });

  it('resumes a shard under the same task name, and starts again under another', async () => {
    const options = await newBuild();
    const build = await planned(options, 2);
    const plain = fakeEncoder();
    let batches = 0;
    // Fails after the first checkpoint; checkpoints are at least a second apart.
    const lost: Encoder = {
      ...plain,
      async encode(proteins, encodeOptions) {
        batches += 1;
        const isLast = batches > 20;
        if (batches > 10) await setTimeout(1_100);
        while (isLast && !existsSync(join(build.folder, '1.one', 'encoded.json'))) await setTimeout(10);
        if (isLast) throw new Error('the node is gone');
        return plain.encode(proteins, encodeOptions);
      },
    };
    await expect(encode(build, 1, 'one', lost)).rejects.toThrow('the node is gone');
    expect((await shardProgress(build)).missing).toEqual([0, 1]);
    const left = await encode(build, 1, 'one');
    expect(left).toBeGreaterThan(0);
    expect(left).toBeLessThan(build.plan.shards[1].residues);
    expect(await encode(build, 0, 'other')).toBe(build.plan.shards[0].residues);
    expect(await shardProgress(build)).toEqual({
      residues: build.plan.shards.map(({ residues }) => residues),
      missing: [],
    });
    expect(await finish(options, 2)).toEqual(await whole);
  });

  it('is not changed by a duplicate task, at the same time or later', async () => {
    const options = await newBuild();
    const build = await planned(options, 2);
    const both = await Promise.all([encode(build, 0, 'one'), encode(build, 0, 'other')]);
    expect(both).toEqual([build.plan.shards[0].residues, build.plan.shards[0].residues]);
    expect(await encode(build, 0, 'third')).toBe(0);
    await encode(build, 1);
    expect(readdirSync(build.folder).sort()).toEqual(['0', '1', 'plan.json']);
    expect(await finish(options, 2)).toEqual(await whole);
    // A late task finds no build folder and creates none.
    await expect(encode(build, 1, 'late')).rejects.toMatchObject({ code: 'build_not_found' });
    expect(await planShards(options, 2)).toBeUndefined();
  });

  it('names missing and damaged shards', async () => {
    const options = await newBuild();
    const build = await planned(options, 7);
    for (const shard of [0, 1, 3, 4, 5]) await encode(build, shard);
    await expect(buildRelease({ ...options, shardCount: 7 })).rejects.toMatchObject({
      code: 'build_incomplete',
      message: '2 of 7 shards are not encoded yet: 2, 6.',
    });
    await encode(build, 2);
    await encode(build, 6);
    const place = join(build.folder, '3');
    const state = readFileSync(join(place, 'encoded.json'), 'utf8');
    const { scores: _, ...earlier } = (JSON.parse(state) as { files: Record<string, unknown> }).files;
    for (const [name, damage] of [
      ['tokens.arrow', (bytes: Buffer) => Buffer.concat([bytes, Buffer.from('x')])],
      [
        'self-scores.i32',
        (bytes: Buffer) => Buffer.from(bytes.map((byte, at) => (at === 4 ? byte ^ 1 : byte))),
      ],
      ['self-scores.i32', (bytes: Buffer) => bytes.subarray(4)],
      ['encoded.json', () => JSON.stringify({ ...(JSON.parse(state) as object), files: earlier })],
    ] as const) {
      const path = join(place, name);
      const intact = readFileSync(path);
      writeFileSync(path, damage(intact));
      await expect(buildRelease({ ...options, shardCount: 7 }), name).rejects.toMatchObject({
        code: 'release_damaged',
        message:
          `Shard 3 in ${place} is damaged or of an earlier version; ` +
          'remove this folder and encode the shard again.',
      });
      writeFileSync(path, intact);
    }
    expect(await finish(options, 7)).toEqual(await whole);
  });

  it('names a shard of which a file is missing or is none that a task wrote', async () => {
    const options = await newBuild();
    const build = await planned(options, 2);
    for (const shard of [0, 1]) await encode(build, shard);
    const place = join(build.folder, '1');
    const refused = async (what: string): Promise<void> => {
      await expect(buildRelease({ ...options, shardCount: 2 }), what).rejects.toMatchObject({
        code: 'release_damaged',
        message: expect.stringContaining(`Shard 1 in ${place} is damaged`),
      });
    };
    for (const name of ['encoded.json', 'tokens.arrow', 'self-scores.i32']) {
      const path = join(place, name);
      renameSync(path, `${path}.away`);
      await refused(`no ${name}`);
      renameSync(`${path}.away`, path);
    }
    const state = join(place, 'encoded.json');
    const intact = readFileSync(state);
    for (const text of ['', 'null', '{}', intact.toString().slice(0, -9)]) {
      writeFileSync(state, text);
      await refused(`encoded.json: ${text}`);
    }
    writeFileSync(state, intact);
    renameSync(place, `${build.folder}/../away`);
    writeFileSync(place, '');
    await refused('a file in the place of the folder');
    rmSync(place);
    renameSync(`${build.folder}/../away`, place);
    expect(await finish(options, 2)).toEqual(await whole);
  });

  it('says which damaged file of the build is to be removed, and then ends well', async () => {
    const options = await newBuild();
    const build = await planned(options, 2);
    const damage = async (path: string, work: () => Promise<unknown>): Promise<void> => {
      for (const text of ['', '{"corpus', 'null', '[]']) {
        writeFileSync(path, text);
        await expect(work(), `${path}: ${text}`).rejects.toEqual(
          new Fault(`${path} is damaged; remove it and run the command of the build again.`),
        );
      }
      rmSync(path);
    };
    const plan = join(build.folder, 'plan.json');
    await damage(plan, () => encode(build, 0));
    expect((await planned(options, 2)).plan).toEqual(build.plan);
    for (const shard of [0, 1]) await encode(build, shard);
    const work = join(build.folder, '..', '..');
    for (const name of ['read.json', 'encoded.json']) {
      await damage(join(work, name), () => buildRelease({ ...options, shardCount: 2 }));
    }
    expect(await finish(options, 2)).toEqual(await whole);
  });

  it('encodes no shard of a proteins.jsonl that is cut off, which the next build reads again', async () => {
    const options = await newBuild();
    const build = await planned(options, 2);
    const spool = join(build.folder, '..', '..', 'proteins.jsonl');
    truncateSync(spool, build.plan.shards[1].startOffset + 500);
    await encode(build, 0);
    await expect(encode(build, 1)).rejects.toThrow(
      'proteins.jsonl is damaged. Run the command of the build again',
    );
    expect((await shardProgress(build)).missing).toEqual([1]);
    expect((await planned(options, 2)).plan).toEqual(build.plan);
    await encode(build, 1);
    expect(await finish(options, 2)).toEqual(await whole);
  });

  it('refuses another encoder, an unknown shard, and counts out of range', async () => {
    const options = await newBuild();
    const build = await planned(options, 2);
    const other = { ...fakeEncoder(), digest: 'another' };
    await expect(encode(build, 0, 'one', other)).rejects.toMatchObject({ code: 'encoder_changed' });
    await expect(encode(build, 2)).rejects.toMatchObject({ code: 'invalid_option' });
    for (const count of [0, 1.5, 1_001]) {
      await expect(planShards(options, count)).rejects.toMatchObject({ code: 'invalid_option' });
    }
  });
});
