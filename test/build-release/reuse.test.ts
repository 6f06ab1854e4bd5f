import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { sha256Hex } from '#src/canonical.js';
import type { Encoder } from '#src/encoder/encoder.js';
import { withoutHomologs } from '#src/homologs/finder.js';
import { profileTokenForm } from '#src/homologs/token-form.js';
import { HOMOLOG_RULES } from '#src/homologs/rules.js';
import type { BuildHomologs, BuildOptions } from '#src/build-release/build-options.js';
import { buildRelease } from '#src/build-release/release.js';
import { createSequenceTable } from '#src/build-release/sequence-table.js';
import { filesInput } from '#src/build-release/sources/input-files.js';
import { manifestText, releaseId } from '#src/release/manifest.js';
import { openRelease } from '#src/release/open.js';
import { PROFILE_SCALE } from '#src/release/profile-affine.js';
import { fakeEncoder, withSmallScores } from '../tools/fake-encoder.js';
import { randomProteins } from '../tools/random-proteins.js';

const folder = mkdtempSync(join(tmpdir(), 'gloaming-reuse-'));
afterAll(() => rmSync(folder, { recursive: true }));

const PROTEINS = randomProteins(40, { seed: 7, minResidues: 10, maxResidues: 90 });
const OLD = PROTEINS.slice(2);
const encoded: string[] = [];

function recordingEncoder(): Encoder {
  const plain = withSmallScores(fakeEncoder());
  return {
    ...plain,
    async encode(sequences, options) {
      encoded.push(...sequences);
      return plain.encode(sequences, options);
    },
  };
}

/** Names proteins by their order, so that equal sequences have different ids in different builds. */
async function build(
  indexesFolder: string,
  slug: string,
  sequences: readonly string[],
  options: Partial<BuildOptions> = {},
) {
  const path = join(folder, 'given.fasta');
  writeFileSync(path, sequences.map((sequence, at) => `>${slug}${at}\n${sequence}\n`).join(''));
  encoded.length = 0;
  const input = await filesInput({ proteins: [path] });
  return buildRelease({ indexesFolder, slug, encoder: recordingEncoder(), input, ...options });
}

const newIndexes = (): string => mkdtempSync(join(folder, 'indexes-'));

function digests(directory: string): Record<string, string> {
  return Object.fromEntries(
    readdirSync(directory).map((name) => [name, sha256Hex(readFileSync(join(directory, name)))]),
  );
}

function flipByte(path: string, at: number): void {
  const bytes = readFileSync(path);
  bytes[at] ^= 1;
  writeFileSync(path, bytes);
}

const ALONE: BuildHomologs = {
  finder: {
    batchProteins: 4,
    find: async (proteins) => proteins.map(({ sequence }) => withoutHomologs(sequence)),
  },
  form: profileTokenForm(withSmallScores(fakeEncoder()).card, PROFILE_SCALE),
  rules: HOMOLOG_RULES,
  homologSource: { method: 'alignments', sha256: '0'.repeat(64) },
};

/**
 * Stub finder: a protein's homolog is its own suffix with another last letter. Records the proteins it is called with.
 */
function related(requested: string[], sha256 = '1'.repeat(64)): BuildHomologs {
  const finder: BuildHomologs['finder'] = {
    batchProteins: 4,
    find: async (proteins) => {
      requested.push(...proteins.map(({ sequence }) => sequence));
      return proteins.map(({ sequence }) => {
        const residues = `${sequence.slice(2, -1)}W`;
        const homolog = {
          id: `of ${sequence}`,
          eValue: 1e-9,
          identity: 0.8,
          coverage: 0.8,
          round: 1,
          residues,
          start: 2,
          residueStart: 0,
          cigar: `${residues.length}M`,
        };
        // Every third protein has no homolog.
        const homologs = sequence.length % 3 === 0 ? [] : [homolog];
        return { sequence, homologs, averaged: homologs };
      });
    },
  };
  return {
    ...ALONE,
    finder,
    homologSource: { method: 'mmseqs', name: 'b', sha256, version: '1', rounds: 1 },
  };
}

describe('a build with homologs after earlier builds', () => {
  it('searches homologs of new proteins only, and has the bytes of a full build', async () => {
    const indexes = newIndexes();
    await build(indexes, 'old', OLD, { buildHomologs: related([]) });
    const requested: string[] = [];
    const again = await build(indexes, 'new', PROTEINS, { buildHomologs: related(requested) });
    expect(requested.sort()).toEqual(PROTEINS.slice(0, 2).sort());
    expect(again.reusedResidues).toBe(OLD.join('').length);
    const all: string[] = [];
    const full = await build(newIndexes(), 'new', PROTEINS, { buildHomologs: related(all) });
    expect(all).toHaveLength(PROTEINS.length);
    expect(full.release.manifest.relatives?.counts.relatives).toBeGreaterThan(PROTEINS.length / 2);
    expect(digests(again.release.directory)).toEqual(digests(full.release.directory));
  });

  it('reads no plain tokens if earlier releases have all profile tokens', async () => {
    const indexes = newIndexes();
    const { directory } = (await build(indexes, 'plain', PROTEINS)).release;
    await build(indexes, 'old', PROTEINS, { buildHomologs: related([]) });
    flipByte(join(directory, 'tokens.arrow'), 5_000);
    const requested: string[] = [];
    const { notes } = await build(indexes, 'new', PROTEINS, { buildHomologs: related(requested) });
    expect([requested, notes]).toEqual([[], []]);
    const more = [...PROTEINS, 'MKWVTFISLLFLFSSAYS'];
    const { notes: laterNotes } = await build(indexes, 'more', more, { buildHomologs: related(requested) });
    expect(requested).toEqual(more.slice(-1));
    expect(laterNotes).toEqual([expect.stringMatching(/of plain is damaged/)]);
  });

  it('stores the effective number of sequences of each target, which earlier versions lack', async () => {
    const { release } = await build(newIndexes(), 'now', OLD, { buildHomologs: related([]) });
    const { targets } = await openRelease(release.directory);
    expect(targets.targetHomologs!(0).relatives).toBe(OLD[0].length % 3 === 0 ? 0 : 1);
    expect(targets.targetHomologs!(0).effectiveSequences).toBeGreaterThanOrEqual(1);
    const { form_id: _, ...homologs } = release.manifest.relatives!;
    const earlier = { ...release.manifest, relatives: homologs };
    const directory = join(dirname(release.directory), releaseId(earlier));
    renameSync(release.directory, directory);
    writeFileSync(join(directory, 'manifest.json'), manifestText(earlier));
    await expect(openRelease(directory)).rejects.toThrow('of an earlier version; build it again');
  });

  it('searches all homologs if the homolog source differs or alignments were given', async () => {
    const indexes = newIndexes();
    await build(indexes, 'old', OLD, { buildHomologs: related([]) });
    const requested: string[] = [];
    await build(indexes, 'new', PROTEINS, { buildHomologs: related(requested, '2'.repeat(64)) });
    expect(requested).toHaveLength(PROTEINS.length);
    const given = { ...related(requested), homologSource: ALONE.homologSource };
    await build(indexes, 'given', OLD, { buildHomologs: given });
    requested.length = 0;
    await build(indexes, 'again', OLD, { buildHomologs: given });
    expect(requested).toHaveLength(OLD.length);
  });

  it('reuses nothing from a release with damaged profiles', async () => {
    const indexes = newIndexes();
    const { directory } = (await build(indexes, 'old', OLD, { buildHomologs: related([]) })).release;
    flipByte(join(directory, 'profiles.arrow'), 700);
    const requested: string[] = [];
    const { notes } = await build(indexes, 'new', PROTEINS, { buildHomologs: related(requested) });
    expect(requested).toHaveLength(PROTEINS.length);
    expect(notes).toEqual([expect.stringMatching(/^Release dbr_\w{12} of old is damaged/)]);
  });
});

describe('a build after earlier builds', () => {
  it('encodes only new sequences, and has the bytes of a build that encodes all', async () => {
    const indexes = newIndexes();
    await build(indexes, 'old', OLD);
    const again = await build(indexes, 'new', PROTEINS);
    expect([...encoded].sort()).toEqual(PROTEINS.slice(0, 2).sort());
    const residues = (some: readonly string[]): number => some.join('').length;
    expect(again.encodedResidues).toBe(residues(PROTEINS.slice(0, 2)));
    expect(again.reusedResidues).toBe(residues(OLD));
    const full = await build(newIndexes(), 'new', PROTEINS);
    expect(encoded).toHaveLength(PROTEINS.length);
    expect(digests(again.release.directory)).toEqual(digests(full.release.directory));
  });

  it('reuses tokens of several releases, but none of another encoder', async () => {
    const indexes = newIndexes();
    await build(indexes, 'one', PROTEINS.slice(0, 10));
    await build(indexes, 'two', PROTEINS.slice(5, 30));
    const other = { ...recordingEncoder(), digest: 'f'.repeat(64) };
    await build(indexes, 'foreign', PROTEINS, { encoder: other });
    const again = await build(indexes, 'all', PROTEINS);
    expect(encoded).toEqual(PROTEINS.slice(30));
    const full = await build(newIndexes(), 'all', PROTEINS);
    expect(digests(again.release.directory)).toEqual(digests(full.release.directory));
  });

  it('resumes after an interruption and still reuses tokens', async () => {
    const indexes = newIndexes();
    await build(indexes, 'old', OLD);
    const failing: Encoder = {
      ...withSmallScores(fakeEncoder()),
      encode: async () => {
        throw new Error('the power went');
      },
    };
    await expect(build(indexes, 'new', PROTEINS, { encoder: failing })).rejects.toThrow('the power went');
    const again = await build(indexes, 'new', PROTEINS);
    const full = await build(newIndexes(), 'new', PROTEINS);
    expect(digests(again.release.directory)).toEqual(digests(full.release.directory));
  });

  it.each(['tokens.arrow', 'targets.arrow'])(
    'reuses nothing from a release with a damaged %s',
    async (name) => {
      const indexes = newIndexes();
      const { directory } = (await build(indexes, 'old', OLD)).release;
      flipByte(join(directory, name), 700);
      const again = await build(indexes, 'new', PROTEINS);
      expect(encoded).toHaveLength(PROTEINS.length);
      expect(again.notes).toEqual([expect.stringMatching(/^Release dbr_\w{12} of old is damaged/)]);
      const full = await build(newIndexes(), 'new', PROTEINS);
      expect(digests(again.release.directory)).toEqual(digests(full.release.directory));
    },
  );

  it('reuses plain tokens for profiles, but profile tokens never for plain ones', async () => {
    const indexes = newIndexes();
    await build(indexes, 'plain', PROTEINS);
    const related = await build(indexes, 'related', PROTEINS, { buildHomologs: ALONE });
    expect(encoded).toEqual([]);
    const full = await build(newIndexes(), 'related', PROTEINS, { buildHomologs: ALONE });
    expect(digests(related.release.directory)).toEqual(digests(full.release.directory));
    const only = newIndexes();
    await build(only, 'related', PROTEINS, { buildHomologs: ALONE });
    await build(only, 'plain', PROTEINS);
    expect(encoded).toHaveLength(PROTEINS.length);
  });

  it('does not read the tokens of a release that shares few residues', async () => {
    const indexes = newIndexes();
    const many = randomProteins(300, { seed: 8, minResidues: 50, maxResidues: 60 });
    await build(indexes, 'large', [...many, PROTEINS[0]]);
    const { reusedResidues, notes } = await build(indexes, 'small', PROTEINS);
    expect(reusedResidues).toBe(0);
    expect(notes).toEqual([]);
  });
});

describe('a table of sequences', () => {
  it('returns the number of each of many sequences', () => {
    const sequences = [...new Set(randomProteins(5_000, { seed: 9, minResidues: 3, maxResidues: 5 }))];
    const table = createSequenceTable();
    sequences.forEach((sequence, at) => table.set(sequence, at));
    expect(table.count).toBe(sequences.length);
    expect(sequences.every((sequence, at) => table.get(sequence) === at)).toBe(true);
    table.set(sequences[0], 77);
    expect([table.count, table.get(sequences[0]), table.get('WWWWWWWWW')]).toEqual([
      sequences.length,
      77,
      undefined,
    ]);
  });
});
