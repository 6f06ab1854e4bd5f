import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterAll, describe, expect, it } from 'vitest';
import type { HomologFinder } from '#src/homologs/finder.js';
import { profileTokenForm } from '#src/homologs/token-form.js';
import { HOMOLOG_RULES } from '#src/homologs/rules.js';
import { selectHomologs } from '#src/homologs/select.js';
import type { BuildHomologs, BuildOptions } from '#src/build-release/build-options.js';
import { buildRelease, planShards } from '#src/build-release/release.js';
import { encodeShard } from '#src/build-release/shards/encode-shard.js';
import { shardProgress, type PlannedShards } from '#src/build-release/shards/plan.js';
import { filesInput } from '#src/build-release/sources/input-files.js';
import { seededRandom } from '#src/random.js';
import { addHomologSource, homologSourceDatabase } from '#src/find-homologs/homolog-sources.js';
import { mmseqsVersion } from '#src/find-homologs/mmseqs-process.js';
import { mmseqsHomologs } from '#src/find-homologs/mmseqs.js';
import { PROFILE_SCALE } from '#src/release/profile-affine.js';
import type { HomologSource } from '#src/release/release.js';
import { withSmallScores } from '../tools/fake-encoder.js';
import { contextEncoder, makeHomologs, homologsOf } from '../tools/homologs.js';

/* Builds with homologs whose tasks encode shards. The number of tasks must not change the release. */

const seed = Number(process.env.GLOAMING_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));
console.log(`shards of relatives seed ${seed}`);
const folder = mkdtempSync(join(tmpdir(), 'gloaming-shards-relatives-'));
afterAll(() => rmSync(folder, { recursive: true }));
const { proteins } = makeHomologs(seededRandom(seed), { homologSets: 30, members: 10 });
const fasta = join(folder, 'proteins.fasta');
writeFileSync(fasta, proteins.map(({ id, sequence }) => `>${id}\n${sequence}\n`).join(''));
const encoder = withSmallScores(contextEncoder());

let folders = 0;
async function newBuild(buildHomologs?: BuildHomologs): Promise<BuildOptions> {
  folders += 1;
  const indexesFolder = join(folder, `indexes-${folders}`);
  return {
    indexesFolder,
    slug: 'db',
    encoder,
    input: await filesInput({ proteins: [fasta] }),
    buildHomologs,
  };
}

function homologSetsBy(finder: HomologFinder, homologSource: HomologSource): BuildHomologs {
  return {
    finder,
    homologSource,
    rules: HOMOLOG_RULES,
    form: profileTokenForm(encoder.card, PROFILE_SCALE),
  };
}

async function planned(options: BuildOptions, count: number): Promise<PlannedShards> {
  const plan = await planShards(options, count);
  if (plan === undefined) throw new Error('the release is not there yet');
  return plan;
}

const encode = (
  { folder: shards }: PlannedShards,
  shard: number,
  task: string,
  buildHomologs?: BuildHomologs,
): Promise<number> =>
  encodeShard({ folder: shards, shard, task }, { encoder, buildHomologs }, { onResidues: () => undefined });

/** Returns id, counts and file bytes of the release. */
async function finish(options: BuildOptions, shardCount?: number): Promise<Record<string, unknown>> {
  const { release, encodedResidues } = await buildRelease({ ...options, shardCount });
  if (shardCount !== undefined) expect(encodedResidues).toBe(0);
  expect(readdirSync(join(options.indexesFolder, 'db'))).toEqual([release.id]);
  const files = readdirSync(release.directory).sort();
  expect(files).toContain('profiles.arrow');
  const { counts } = release.manifest.relatives!;
  expect(counts.relatives, `seed ${seed}`).toBeGreaterThan(100);
  const bytes = files.map((name) => [
    name,
    readFileSync(join(release.directory, name)).toString('base64'),
  ]) as [string, string][];
  return { id: release.id, counts, ...Object.fromEntries(bytes) };
}

/** Compares a build with this number of shards to a build on one machine. */
async function compare(buildHomologs: BuildHomologs, counts: readonly number[]): Promise<void> {
  const whole = await finish(await newBuild(buildHomologs));
  for (const count of counts) {
    const options = await newBuild(buildHomologs);
    const build = await planned(options, count);
    for (const shard of build.plan.shards.keys())
      await encode(build, count - 1 - shard, 'one', buildHomologs);
    expect(await finish(options, count), `${count} shards, seed ${seed}`).toEqual(whole);
  }
}

/** Stub homologs of a protein: sequences of the same length with some other letters. */
const planted: HomologFinder = {
  batchProteins: 64,
  find: async (queries) =>
    queries.map(({ sequence }) => {
      const family = homologsOf(proteins, sequence).map((at) => proteins[at]!);
      const homologs = family
        .filter((other) => other.sequence !== sequence)
        .map(({ id, sequence: residues }) => ({
          ...{ id, residues, eValue: 1e-9, identity: 0.8, coverage: 1, round: 1 },
          ...{ start: 0, residueStart: 0, cigar: `${residues.length}M` },
        }));
      return selectHomologs({ sequence, homologs }, HOMOLOG_RULES);
    }),
};
const buildHomologs = homologSetsBy(planted, {
  method: 'mmseqs',
  name: 'planted',
  sha256: '0'.repeat(64),
  version: 'planted',
  rounds: 2,
});

describe('a build with homologs in shards', () => {
  it('has the bytes of a build on one machine', { timeout: 120_000 }, () =>
    compare(buildHomologs, [1, 2, 7, 64]),
  );

  it(
    'is not changed by tasks that are killed, resumed with other batch sizes, or duplicated',
    { timeout: 120_000 },
    async () => {
      const whole = await finish(await newBuild(buildHomologs));
      const options = await newBuild(buildHomologs);
      const build = await planned(options, 2);
      let batches = 0;
      // Calls of other sizes; the fourth fails after a checkpoint.
      const lost: BuildHomologs = {
        ...buildHomologs,
        finder: {
          batchProteins: 30,
          async find(queries, how) {
            batches += 1;
            // Several calls are pending at a time.
            const call = batches;
            if (call > 2) await setTimeout(1_100);
            if (call > 3) {
              while (!existsSync(join(build.folder, '0.one', 'encoded.json'))) await setTimeout(10);
              throw new Error('the node is gone');
            }
            return buildHomologs.finder.find(queries, how);
          },
        },
      };
      await expect(encode(build, 0, 'one', lost)).rejects.toThrow('the node is gone');
      expect((await shardProgress(build)).missing).toEqual([0, 1]);
      const left = await encode(build, 0, 'one', buildHomologs);
      expect(left).toBeGreaterThan(0);
      expect(left).toBeLessThan(build.plan.shards[0].residues);
      await Promise.all([encode(build, 1, 'one', buildHomologs), encode(build, 1, 'other', buildHomologs)]);
      expect(await encode(build, 1, 'third', buildHomologs)).toBe(0);
      expect(readdirSync(build.folder).sort()).toEqual(['0', '1', 'plan.json']);
      expect(await finish(options, 2)).toEqual(whole);
    },
  );

  it('names a shard with damaged profiles or homolog counts', async () => {
    const options = await newBuild(buildHomologs);
    const build = await planned(options, 1);
    await encode(build, 0, 'one', buildHomologs);
    for (const name of ['profiles.arrow', 'families.f64']) {
      const path = join(build.folder, '0', name);
      const intact = readFileSync(path);
      const flipped = Buffer.from(intact);
      flipped[intact.length - 8] ^= 1;
      for (const damaged of [Buffer.concat([intact, Buffer.from('x')]), flipped]) {
        writeFileSync(path, damaged);
        await expect(buildRelease({ ...options, shardCount: 1 })).rejects.toMatchObject({
          code: 'release_damaged',
        });
      }
      writeFileSync(path, intact);
    }
    await finish(options, 1);
  });

  it('refuses tasks with other homolog rules or without homologs', async () => {
    const build = await planned(await newBuild(buildHomologs), 2);
    const others = [
      undefined,
      { ...buildHomologs, rules: { ...buildHomologs.rules, maxEValue: 1 } },
      homologSetsBy(buildHomologs.finder, { method: 'alignments', sha256: '0' }),
    ];
    for (const other of others) {
      await expect(encode(build, 0, 'one', other)).rejects.toMatchObject({ code: 'relatives_unavailable' });
    }
    const plain = await newBuild();
    const without = await planned({ ...plain, slug: 'plain' }, 2);
    await expect(encode(without, 0, 'one', buildHomologs)).rejects.toMatchObject({
      code: 'relatives_unavailable',
    });
  });
});

describe.skipIf((await mmseqsVersion()) === undefined)('relatives by mmseqs (Debian: mmseqs2)', () => {
  it('have the same bytes if tasks have searched them', { timeout: 400_000 }, async () => {
    const { sha256, mmseqs_version: version } = await addHomologSource(folder, 'bg', [fasta]);
    const homologSource = { database: homologSourceDatabase(folder, 'bg'), rounds: 2 };
    const finder = mmseqsHomologs(homologSource, HOMOLOG_RULES, 2);
    const named = { method: 'mmseqs', name: 'bg', sha256, version, rounds: 2 } as const;
    await compare(homologSetsBy(finder, named), [2]);
  });
});
