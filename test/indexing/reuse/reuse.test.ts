import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { sha256Hex } from '#src/canonical.js';
import type { Encoder } from '#src/encoder/encoder.js';
import { aloneFamily } from '#src/families/finder.js';
import { familyForm } from '#src/families/form.js';
import { RELATIVE_RULES } from '#src/families/rules.js';
import type { BuildFamilies, BuildOptions } from '#src/indexing/build-options.js';
import { buildRelease } from '#src/indexing/release.js';
import { createSequenceTable } from '#src/indexing/reuse/sequence-table.js';
import { filesInput } from '#src/indexing/sources/input-files.js';
import { PROFILE_SCALE } from '#src/release/profile-affine.js';
import { fakeEncoder } from '../../tools/fake-encoder.js';
import { randomProteins } from '../../tools/random-proteins.js';

const folder = mkdtempSync(join(tmpdir(), 'gloaming-reuse-'));
afterAll(() => rmSync(folder, { recursive: true }));

const PROTEINS = randomProteins(40, { seed: 7, minResidues: 10, maxResidues: 90 });
const OLD = PROTEINS.slice(2);
const encoded: string[] = [];

function recordingEncoder(): Encoder {
  const plain = fakeEncoder();
  return {
    ...plain,
    async encode(sequences, options) {
      encoded.push(...sequences);
      return plain.encode(sequences, options);
    },
  };
}

/** The proteins are called by their order, so that equal sequences have other ids in another build. */
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

const ALONE: BuildFamilies = {
  finder: {
    batchProteins: 4,
    find: async (proteins) => proteins.map(({ sequence }) => aloneFamily(sequence)),
  },
  form: familyForm(fakeEncoder().card, PROFILE_SCALE),
  rules: RELATIVE_RULES,
  background: { method: 'alignments', sha256: '0'.repeat(64) },
};

describe('a build after others', () => {
  it('encodes what no release has, and is the same to the byte as one that encodes all', async () => {
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

  it('takes from several releases, and nothing of another encoder', async () => {
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

  it('goes on after an interruption with what releases have', async () => {
    const indexes = newIndexes();
    await build(indexes, 'old', OLD);
    const failing: Encoder = {
      ...fakeEncoder(),
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
    'takes nothing from a release whose %s changed',
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

  it('gives families the plain tokens that it has, and takes none of a release of families', async () => {
    const indexes = newIndexes();
    await build(indexes, 'plain', PROTEINS);
    const related = await build(indexes, 'related', PROTEINS, { families: ALONE });
    expect(encoded).toEqual([]);
    const full = await build(newIndexes(), 'related', PROTEINS, { families: ALONE });
    expect(digests(related.release.directory)).toEqual(digests(full.release.directory));
    const only = newIndexes();
    await build(only, 'related', PROTEINS, { families: ALONE });
    await build(only, 'plain', PROTEINS);
    expect(encoded).toHaveLength(PROTEINS.length);
  });

  it('does not read the tokens of a release that has little to give', async () => {
    const indexes = newIndexes();
    const many = randomProteins(300, { seed: 8, minResidues: 50, maxResidues: 60 });
    await build(indexes, 'large', [...many, PROTEINS[0]]);
    const { reusedResidues, notes } = await build(indexes, 'small', PROTEINS);
    expect(reusedResidues).toBe(0);
    expect(notes).toEqual([]);
  });
});

describe('a table of sequences', () => {
  it('gives each sequence its own number back, however many there are', () => {
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
