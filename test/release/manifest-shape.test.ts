// @module-tag fast

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readManifest } from '#src/release/manifest.js';
import { findWrongMember } from '#src/release/manifest-shape.js';
import type { HomologsManifest, ReleaseManifest } from '#src/release/release.js';
import { makeRelease, writeManifestFolder } from './make-release.js';

const folder = mkdtempSync(join(tmpdir(), 'gloaming-shape-'));
afterAll(() => rmSync(folder, { recursive: true }));

const DIGEST = 'a'.repeat(64);
const entry = (path: string) => ({ path, size_bytes: 1, sha256: DIGEST });
const affine = { multiplier: 1, offset: 1, gap_open: 1, gap_extend: 1, blosum62: 2 };

const HOMOLOGS: HomologsManifest = {
  form_id: 'gloaming-family/2',
  background: { method: 'alignments', sha256: DIGEST },
  rules: { max_expected: 1, min_coverage: 1, max_identity: 1, profile_count: 1, vector_count: 1 },
  encoder_dimension: 32,
  profile_share: 0.5,
  counts: { targets: 1, relatives: 1 },
};

/** A manifest with every member. */
let whole: ReleaseManifest;
beforeAll(async () => {
  const directory = await makeRelease(folder, {
    fields: [{ name: 'gene', type: 'string' }],
    targets: [{ id: 'a', sequence: 'MKV' }],
  });
  const made = await readManifest(directory);
  const rows = { ...entry('profiles.arrow'), values_byte_offset: 0, values_byte_length: 1 };
  whole = {
    ...made,
    affine: { ...affine, profile: { ...affine, scale: 16, weight: 1 } },
    relatives: HOMOLOGS,
    embeddings: { sha256: DIGEST, targets: 1 },
    files: { ...made.files, profiles: rows, taxonomy: entry('taxonomy.arrow'), names: entry('names.index') },
  };
});

type Tree = Record<string, any>;

/** Copies the manifest with one member changed; undefined removes the member. */
function withMember(place: string, value: unknown): Tree {
  const copy = structuredClone(whole) as Tree;
  const names = place.split('.');
  const parent = names.slice(0, -1).reduce((at: Tree, name) => at[name], copy);
  if (value === undefined) delete parent[names.at(-1)!];
  else parent[names.at(-1)!] = value;
  return copy;
}

/** Places of all objects, lists and values of a manifest, without those of `relatives.background` and its rules. */
function placesIn(value: unknown, place = ''): string[] {
  if (typeof value !== 'object' || value === null || place.startsWith('relatives.background')) return [place];
  if (place === 'relatives.rules') return [place];
  const inside = Object.entries(value).flatMap(([name, member]) =>
    placesIn(member, place === '' ? name : `${place}.${name}`),
  );
  return place === '' ? inside : [place, ...inside];
}

const OPTIONAL = [
  'affine.blosum62',
  'affine.profile',
  'affine.profile.blosum62',
  'relatives',
  'relatives.form_id',
  'embeddings',
  'files.profiles',
  'files.taxonomy',
  'files.names',
];
const written = (place: string): string => place.replace(/\.(\d+)/g, '[$1]');

describe('the shape of a manifest', () => {
  it('allows what releases of early versions lack, and members of later versions', () => {
    expect(findWrongMember(whole)).toBeUndefined();
    for (const place of OPTIONAL)
      expect(findWrongMember(withMember(place, undefined)), place).toBeUndefined();
    expect(findWrongMember(withMember('later', {}))).toBeUndefined();
  });

  it('names the member that is missing or of another type', () => {
    const places = placesIn(whole);
    expect(places.length).toBeGreaterThan(50);
    for (const place of places) {
      expect(findWrongMember(withMember(place, null)), place).toBe(written(place));
      const isNeeded = !OPTIONAL.includes(place) && !/\.\d+$/.test(place);
      if (isNeeded) expect(findWrongMember(withMember(place, undefined)), place).toBe(written(place));
    }
    for (const value of [null, 5, 'text', []]) expect(findWrongMember(value)).toBe('format');
  });

  it('names paths that are not those of the format, and wrong counts and digests', () => {
    const others: readonly (readonly [place: string, value: unknown])[] = [
      ['files.names.path', '../../../secret.txt'],
      ['files.targets.path', 'tokens.arrow'],
      ['files.tokens.path', ['tokens.arrow']],
      ['files.tokens.size_bytes', -1],
      ['files.tokens.values_byte_offset', 0.5],
      ['files.attributes.sha256', DIGEST.toUpperCase()],
      ['counts.targets', 2 ** 53],
      ['counts.residues', '3'],
      ['encoder.sha256', ''],
      ['filter_schema.fields', {}],
      ['filter_schema.fields.0.type', 'date'],
      ['policies', {}],
      ['policies.0.guarantee', 'none'],
      ['format', 'gloaming-release/2'],
    ];
    for (const [place, value] of others)
      expect(findWrongMember(withMember(place, value)), place).toBe(written(place));
  });
});

describe('a manifest under its own id', () => {
  it('is not read without its members or with a path out of the folder', async () => {
    const empty = writeManifestFolder(folder, { format: 'gloaming-release/1' });
    await expect(readManifest(empty)).rejects.toThrow(/manifest\.json has no valid title; /);
    const away = writeManifestFolder(folder, withMember('files.names.path', '../../../secret.txt'));
    await expect(readManifest(away)).rejects.toThrow(/manifest\.json has no valid files\.names\.path; /);
  });
});
