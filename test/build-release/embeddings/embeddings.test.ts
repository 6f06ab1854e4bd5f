import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { openFeatureTokens } from '#src/encoder/features.js';
import { readFloats } from '#src/build-release/embeddings/floats.js';
import { openEmbeddings } from '#src/build-release/embeddings/open.js';
import { buildRelease } from '#src/build-release/release.js';
import { filesInput } from '#src/build-release/sources/input-files.js';
import { openRelease } from '#src/release/open.js';
import { fakeEncoder, tokensOf } from '../../tools/fake-encoder.js';
import { refusal } from './refusal.js';
import { ROOT } from '../../tools/paths.js';

const folder = mkdtempSync(join(tmpdir(), 'gloaming-embeddings-'));
afterAll(() => rmSync(folder, { recursive: true }));

/**
 * Written by h5py 3.7 in UniProt's form: the stub encoder's vectors of the proteins below, chunked and compressed, in
 * half, single and double precision; and objects that are not embeddings.
 */
const HDF5 = join(ROOT, 'test', 'fixtures', 'embeddings', 'per-residue.h5');
const SEQUENCES = { P00001: 'MKVLAWYDEFGHIKLMNPQR', P00002: 'ACDEFGH', P00003: 'WWYDEAK', P00004: 'MKV' };

function npy(rows: number, columns: number, bytes: Buffer, descr = '<f4', order = 'False'): Buffer {
  const header =
    `{'descr': '${descr}', 'fortran_order': ${order}, 'shape': (${rows}, ${columns}), }`.padEnd(117) + '\n';
  const head = Buffer.from(`\x93NUMPY\x01\x00\x00\x00${header}`, 'latin1');
  head.writeUInt16LE(header.length, 8);
  return Buffer.concat([head, bytes]);
}

function npyFolder(files: Readonly<Record<string, Buffer>>): string {
  const path = mkdtempSync(join(folder, 'npy-'));
  for (const [name, bytes] of Object.entries(files)) writeFileSync(join(path, name), bytes);
  return path;
}

const floats = (numbers: Iterable<number>): Buffer => Buffer.from(Float32Array.from(numbers).buffer);
const embedded = (sequence: string): Buffer => npy(sequence.length, 32, floats(tokensOf(sequence)));

let builds = 0;
async function build(
  fasta: Readonly<Record<string, string>>,
  path: string | undefined,
  encode = fakeEncoder(),
) {
  builds += 1;
  const file = join(folder, `given-${builds}.fasta`);
  writeFileSync(
    file,
    Object.entries(fasta)
      .map(([id, sequence]) => `>${id}\n${sequence}\n`)
      .join(''),
  );
  const embeddings =
    path === undefined
      ? undefined
      : { embeddings: await openEmbeddings(path), project: await openFeatureTokens('', encode.card) };
  const indexesFolder = join(folder, `indexes-${builds}`);
  mkdirSync(indexesFolder);
  try {
    const input = await filesInput({ proteins: [file] });
    return await buildRelease({ indexesFolder, slug: 'db', encoder: encode, input, embeddings });
  } finally {
    embeddings?.embeddings.close();
  }
}

describe('embeddings in HDF5', () => {
  it('are read in half, single and double precision, chunked or not, by id', async () => {
    const embeddings = await openEmbeddings(HDF5);
    for (const [id, sequence] of Object.entries(SEQUENCES)) {
      expect(embeddings.shapeOf(id)).toEqual({ residues: sequence.length, features: 32 });
      expect([...embeddings.read(id)]).toEqual([...tokensOf(sequence)]);
    }
    expect(embeddings.digest).toMatch(/^[0-9a-f]{64}$/);
    embeddings.close();
  });

  it('do not include groups, links to other files and missing ids', async () => {
    const embeddings = await openEmbeddings(HDF5);
    for (const id of ['P99999', 'group', 'group/P00005', 'lost', 'out', '/P00001', '.', '']) {
      expect(embeddings.shapeOf(id)).toBeUndefined();
    }
    for (const id of ['text', 'cube', 'big', 'ints']) {
      expect(() => embeddings.shapeOf(id)).toThrow(`${id} is not a table of residues and features`);
    }
    embeddings.close();
  });

  it('are refused if the file is truncated or damaged', async () => {
    const whole = readFileSync(HDF5);
    const cut = join(folder, 'cut.h5');
    writeFileSync(cut, whole.subarray(0, whole.length >> 1));
    const error = await refusal(() => openEmbeddings(cut));
    expect(error.code).toBe('invalid_embeddings');
    expect(error.message).toMatch(/the file cannot be read; HDF5 reports: [^\n]+\.$/);
    const text = join(folder, 'text.h5');
    writeFileSync(text, 'P00001');
    expect((await refusal(() => openEmbeddings(text))).message).toContain(
      'neither an HDF5 file, nor a NumPy archive',
    );
    expect((await refusal(() => openEmbeddings(join(folder, 'nowhere')))).code).toBe('file_not_found');
  });
});

describe("embeddings in NumPy's files", () => {
  it('are read from a folder by id, in every precision', async () => {
    const doubles = Buffer.from(Float64Array.from(tokensOf('MKV')).buffer);
    const path = npyFolder({
      'a.npy': embedded('ACDEFGH'),
      'b.npy': npy(3, 32, doubles, '<f8'),
      'c.npy': npy(1, 2, Buffer.from('003c00c0', 'hex'), '<f2'),
      'notes.txt': Buffer.from('x'),
    });
    const embeddings = await openEmbeddings(path);
    expect([...embeddings.read('a')]).toEqual([...tokensOf('ACDEFGH')]);
    expect([...embeddings.read('b')]).toEqual([...tokensOf('MKV')]);
    expect([...embeddings.read('c')]).toEqual([1, -2]);
    for (const id of ['d', '../a', 'notes.txt', '']) expect(embeddings.shapeOf(id)).toBeUndefined();
  });

  it.each([
    ['none', Buffer.from('hello'), 'not a NumPy file'],
    ['of integers', npy(3, 32, floats(tokensOf('MKV')), '<i4'), 'floating-point numbers'],
    ['by columns', npy(3, 32, floats(tokensOf('MKV')), '<f4', 'True'), 'floating-point numbers'],
    ['too short', embedded('MKV').subarray(0, -4), 'does not match 3 by 32 numbers'],
    ['of a giant', npy(999_999_999, 999_999_999, Buffer.alloc(0)), 'does not match'],
  ])('are refused where a file is %s', async (_name, bytes, message) => {
    const embeddings = await openEmbeddings(npyFolder({ 'a.npy': bytes }));
    expect(() => embeddings.shapeOf('a')).toThrow(message);
    expect(() => embeddings.read('a')).toThrow(message);
  });

  it('are hashed with their names, and an empty folder is refused', async () => {
    const [first, other, same] = [
      { 'a.npy': embedded('MKV') },
      { 'b.npy': embedded('MKV') },
      { 'a.npy': embedded('MKV') },
    ];
    const digests = await Promise.all(
      [first, other, same].map(async (files) => (await openEmbeddings(npyFolder(files))).digest),
    );
    expect(digests[0]).toBe(digests[2]);
    expect(digests[0]).not.toBe(digests[1]);
    expect((await refusal(() => openEmbeddings(npyFolder({})))).message).toContain(
      'has no file that ends in .npy',
    );
  });
});

describe('half precision', () => {
  it('is converted for the largest and smallest numbers, infinities and NaN of IEEE 754', () => {
    const bits = [0x0000, 0x8000, 0x3c00, 0x3555, 0x7bff, 0x0400, 0x0001, 0xfc00, 0x7e00];
    const bytes = Buffer.alloc(2 * bits.length);
    bits.forEach((value, at) => bytes.writeUInt16LE(value, 2 * at));
    const largest = [65_504, 2 ** -14, 2 ** -24, -Infinity, NaN];
    expect([...readFloats(bytes, 2)]).toEqual([0, -0, 1, Math.fround(0.333251953125), ...largest]);
  });
});

describe('a build from embeddings', () => {
  it('encodes only a sample and proteins without embedding', async () => {
    const encoded: string[] = [];
    const encoder = fakeEncoder();
    const watched = {
      ...encoder,
      encode: async (sequences: readonly string[]) => {
        encoded.push(...sequences);
        return encoder.encode(sequences);
      },
    };
    const many = Object.fromEntries(
      Array.from({ length: 40 }, (_, at) => [`p${at}`, 'ACDEFGHIKL'.slice(at % 5)]),
    );
    const path = npyFolder(
      Object.fromEntries(Object.entries(many).map(([id, sequence]) => [`${id}.npy`, embedded(sequence)])),
    );
    const report = await build({ ...many, extra: 'WWWWW' }, path, watched);
    // Eight of forty proteins for the sample, and the one without embedding.
    expect(encoded).toHaveLength(9);
    expect(encoded.at(-1)).toBe('WWWWW');
    expect(report.notes).toEqual([
      'Proteins with precomputed embeddings: 40; encoded now: 1.',
      expect.stringMatching(
        /^A sample of 8 was encoded again: the lowest mean cosine is (1\.000|0\.99\d)\.$/,
      ),
    ]);
    const { manifest, tokens } = await openRelease(report.release.directory);
    expect(manifest.embeddings).toEqual({ sha256: (await openEmbeddings(path)).digest, targets: 40 });
    // Unit vectors, quantised by the step of the card.
    const place = tokens.tokens as { path: string; byteOffset: number };
    const first = new Int8Array(readFileSync(place.path).subarray(place.byteOffset, place.byteOffset + 32));
    const raw = tokensOf('A').slice(0, 32);
    const norm = Math.sqrt(raw.reduce((sum, value) => sum + value * value, 0));
    expect([...first]).toEqual([...raw].map((value) => Math.round(Math.fround(value / norm) * 173)));
  });

  it('gives the same release in every build, with another id than a build by the encoder', async () => {
    const fasta = { P00001: SEQUENCES.P00001, P00002: SEQUENCES.P00002 };
    const [plain, first, second] = [
      await build(fasta, undefined),
      await build(fasta, HDF5),
      await build(fasta, HDF5),
    ];
    expect(first.release.id).toBe(second.release.id);
    expect(first.release.id).not.toBe(plain.release.id);
    expect(plain.release.manifest).not.toHaveProperty('embeddings');
  });

  it.each([
    ['another length', { P00002: 'ACDEFG' }, undefined, /P00002 has 7 residues, and its sequence has 6/],
    [
      'another model',
      { P00002: 'HGFEDCA' },
      undefined,
      /P00002 differs from that of fake: the mean cosine .* below 0\.95/,
    ],
    [
      'another width',
      { a: 'MKV' },
      npy(3, 16, floats(new Float32Array(48))),
      /16 features per residue, and the encoder has 32/,
    ],
    ['no protein of the build', { P77777: 'MKV' }, undefined, /None of these proteins has an embedding/],
    ['no number', { P00006: 'MKV' }, undefined, /P00006 has numbers that are not finite/],
    [
      'very long proteins alone',
      { a: 'MKVL'.repeat(300) },
      embedded('MKVL'.repeat(300)),
      /needed to check the embeddings against the encoder/,
    ],
  ] as const)('is refused where the embedding is of %s', async (_name, fasta, bytes, message) => {
    const path = bytes === undefined ? HDF5 : npyFolder({ 'a.npy': bytes });
    const error = await refusal(() => build(fasta, path));
    expect(error.code).toBe('invalid_embeddings');
    expect(error.message).toMatch(message);
  });
});
