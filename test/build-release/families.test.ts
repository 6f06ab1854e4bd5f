import { mkdirSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { BuildHomologs, BuildOptions } from '#src/build-release/build-options.js';
import { buildRelease, planShards } from '#src/build-release/release.js';
import { encodeShard } from '#src/build-release/shards/encode-shard.js';
import { filesInput } from '#src/build-release/sources/input-files.js';
import { familyHomologs } from '#src/find-homologs/families.js';
import { HOMOLOG_RULES } from '#src/homologs/rules.js';
import { profileTokenForm } from '#src/homologs/token-form.js';
import { openRelease } from '#src/release/open.js';
import { PROFILE_SCALE } from '#src/release/profile-affine.js';
import { openTokenReader } from '#src/release/rows/token-reader.js';
import { seededRandom } from '#src/random.js';
import { AMINO_ACIDS } from '#src/sequence/substitution.js';
import { withSmallScores } from '../tools/fake-encoder.js';
import { contextEncoder } from '../tools/homologs.js';
import { scratchFiles } from './scratch-files.js';

const { folder, file } = scratchFiles('family-releases');

const encoder = withSmallScores(contextEncoder());
const random = seededRandom(7);
const letter = (): string => AMINO_ACIDS[random.below(20)];

/** A Stockholm family of `members` rows, which share three quarters of their letters. */
function family(id: string, members: number): string {
  const ancestor = Array.from({ length: 50 }, letter);
  const rows = Array.from({ length: members }, (_, at) => {
    const own = ancestor.map((of) => (random.share() < 0.75 ? of : letter()));
    return `${id}_${at} ${own.join('')}\n`;
  });
  return `# STOCKHOLM 1.0\n#=GF ID ${id}\n#=GF AC ${id}.1\n${rows.join('')}//\n`;
}

const FAMILIES = [family('big', 30), family('small', 3), family('one', 1), family('other', 12)].join('');

async function optionsOf(content: string, changes: Partial<BuildOptions> = {}): Promise<BuildOptions> {
  const input = await filesInput({ proteins: [file(content)] });
  const buildHomologs: BuildHomologs = {
    finder: familyHomologs(HOMOLOG_RULES),
    form: profileTokenForm(encoder.card, PROFILE_SCALE),
    rules: HOMOLOG_RULES,
    homologSource: { method: 'families', sha256: input.digest },
  };
  const indexesFolder = mkdtempSync(join(folder, 'indexes-'));
  return { indexesFolder, slug: 'families', input, encoder, buildHomologs, ...changes };
}

describe('a release of families', () => {
  it('has the consensus sequences with tokens and profiles of their members', async () => {
    const { release } = await buildRelease(await optionsOf(FAMILIES));
    const { targets, manifest } = await openRelease(release.directory);
    expect(Array.from({ length: targets.count }, (_, at) => targets.id(at))).toEqual([
      'big.1',
      'small.1',
      'one.1',
      'other.1',
    ]);
    const counts = [0, 1, 2, 3].map((at) => targets.targetHomologs!(at));
    expect(counts.map(({ relatives }) => relatives > 0)).toEqual([true, true, false, true]);
    expect(counts[0].effectiveSequences).toBeGreaterThan(counts[1].effectiveSequences);
    expect(counts[2].effectiveSequences).toBe(1);
    expect(manifest.relatives?.background.method).toBe('families');
    expect(manifest.relatives?.counts.targets).toBe(3);
    expect(targets.attributes(0)).toMatchObject({ member_count: 30, accession: 'big.1', length: 50 });
  });

  it('has the match emissions of a HMM as profile', async () => {
    const order = [...AMINO_ACIDS].sort();
    // W is certain in the first node, and A in the second.
    const node = (certain: string, at: number): string =>
      `  ${at + 1} ${order.map((kind) => (kind === certain ? '0.00001' : '*')).join(' ')} ${at + 1} - - - -\n`;
    const nodes = [...'WA'.repeat(15)].map(node).join('');
    const hmm = `HMMER3/f\nNAME x\nLENG 30\nNSEQ 9\nEFFN 2.5\nHMM ${order.join(' ')}\n${nodes}//\n`;
    const { release } = await buildRelease(await optionsOf(hmm));
    const opened = await openRelease(release.directory);
    expect(opened.targets.sequence(0)).toBe('WA'.repeat(15));
    expect(opened.targets.targetHomologs!(0)).toEqual({ relatives: 9, effectiveSequences: 2.5 });
    const reader = await openTokenReader(opened);
    const { profile = [] } = await reader.read(0);
    await reader.close();
    const row = [...profile.slice(0, 20)];
    expect(row.indexOf(Math.max(...row))).toBe(AMINO_ACIDS.indexOf('W'));
    expect(row.toSorted((a, b) => b - a)[1]).toBe(0);
  });

  it('has the same bytes if shards encode it', async () => {
    const whole = await buildRelease(await optionsOf(FAMILIES));
    const options = await optionsOf(FAMILIES, { shardCount: 3 });
    const planned = await planShards(options, 3);
    const { buildHomologs } = options;
    for (const shard of [2, 0, 1]) {
      const task = { folder: planned!.folder, shard, task: `t${shard}` };
      await encodeShard(task, { encoder, buildHomologs }, { onResidues: () => undefined });
    }
    const sharded = await buildRelease(options);
    expect(sharded.release.manifest.files).toEqual(whole.release.manifest.files);
  });

  it('is not begun if two families have one accession, unless the caller says which stays', async () => {
    const twice = FAMILIES + family('big', 4);
    const options = await optionsOf(twice);
    await expect(buildRelease(options)).rejects.toMatchObject({
      code: 'duplicate_id',
      message: expect.stringMatching(/the id big\.1 is already used in .*line 1, record 1/),
    });
    expect(readdirSync(options.indexesFolder)).toEqual([]);
  });

  it('leaves nothing behind if a later family is malformed', async () => {
    const options = await optionsOf(`${FAMILIES}# STOCKHOLM 1.0\na MK\nb MKT\n//\n`);
    await expect(buildRelease(options)).rejects.toMatchObject({ code: 'invalid_alignment' });
    expect(readdirSync(options.indexesFolder)).toEqual([]);
  });

  it('leaves nothing behind if an ffindex points outside its data', async () => {
    const place = join(folder, 'hh');
    mkdirSync(place);
    writeFileSync(join(place, 'db_a3m.ffdata'), '>a\nMKT\n\0');
    writeFileSync(join(place, 'db_a3m.ffindex'), 'a\t0\t8\nb\t4096\t100\n');
    const input = await filesInput({ proteins: [join(place, 'db')] });
    const options = await optionsOf(FAMILIES, { input });
    await expect(buildRelease(options)).rejects.toThrow('ends at byte 4196, and the data have 8 bytes');
    expect(readdirSync(options.indexesFolder)).toEqual([]);
  });
});
