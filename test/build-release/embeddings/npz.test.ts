import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { Refusal } from '#src/errors.js';
import { openEmbeddings } from '#src/build-release/embeddings/open.js';
import { seededRandom } from '#src/random.js';
import { tokensOf } from '../../tools/fake-encoder.js';
import { refusal } from './refusal.js';
import { ROOT } from '../../tools/paths.js';

const folder = mkdtempSync(join(tmpdir(), 'gloaming-npz-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Proteins with embeddings in half, single, double and single precision. */
const SEQUENCES = { P00001: 'MKVLAWYDEFGHIKLMNPQR', P00002: 'ACDEFGH', P00003: 'WWYDEAK', P00004: 'MKV' };

describe("embeddings in NumPy's archive", () => {
  /** Written by numpy.savez and numpy.savez_compressed 1.24 with the vectors of the proteins above. */
  const archiveOf = (name: string): string => join(ROOT, 'test', 'fixtures', 'embeddings', name);
  let changes = 0;
  const changed = async (change: (bytes: Buffer) => Buffer): Promise<Refusal> => {
    const path = join(folder, `changed-${(changes += 1)}.npz`);
    writeFileSync(path, change(readFileSync(archiveOf('stored.npz'))));
    return refusal(async () => {
      const embeddings = await openEmbeddings(path);
      try {
        return embeddings.read('P00001');
      } finally {
        embeddings.close();
      }
    });
  };

  it.each(['stored.npz', 'deflated.npz'])('are read from %s by id', async (name) => {
    const embeddings = await openEmbeddings(archiveOf(name));
    for (const [id, sequence] of Object.entries(SEQUENCES)) {
      expect(embeddings.shapeOf(id)).toEqual({ residues: sequence.length, features: 32 });
      expect([...embeddings.read(id)]).toEqual([...tokensOf(sequence)]);
    }
    for (const id of ['P99999', 'P00001.npy', '../P00001', ''])
      expect(embeddings.shapeOf(id)).toBeUndefined();
    expect(() => embeddings.read('P99999')).toThrow('there is no embedding of P99999');
    // A pickled object.
    expect(() => embeddings.shapeOf('pickled')).toThrow('floating-point numbers');
    embeddings.close();
  });

  it('are read if lengths and offsets need 64 bits', async () => {
    const path = join(folder, 'long.npz');
    writeFileSync(path, withLongNumbers(readFileSync(archiveOf('stored.npz'))));
    const embeddings = await openEmbeddings(path);
    for (const [id, sequence] of Object.entries(SEQUENCES))
      expect([...embeddings.read(id)]).toEqual([...tokensOf(sequence)]);
    embeddings.close();
  });

  it('are refused if the archive is truncated, encrypted, compressed otherwise, or has a name twice', async () => {
    const start = (bytes: Buffer): number => bytes.readUInt32LE(bytes.length - 6);
    const set = (place: number, value: number) => (bytes: Buffer) => {
      bytes.writeUInt16LE(value, start(bytes) + place);
      return bytes;
    };
    expect((await changed((bytes) => bytes.subarray(0, -1))).message).toContain('truncated');
    expect((await changed(set(8, 1))).message).toContain('is encrypted');
    expect((await changed(set(10, 14))).message).toContain('unsupported compression method');
    expect((await changed(set(0, 0))).message).toContain('the directory is damaged');
    const giant = await changed((bytes) => {
      bytes.writeUInt32LE(0xfffffff0, start(bytes) + 20);
      return bytes;
    });
    expect(giant.message).toContain('is outside the archive');
    const twice = (bytes: Buffer): Buffer =>
      Buffer.from(bytes.toString('latin1').replaceAll('P00002.npy', 'P00001.npy'), 'latin1');
    expect((await changed(twice)).message).toContain('has P00001.npy twice');
    expect(
      (await changed((bytes) => Buffer.concat([bytes.subarray(0, 100), bytes.subarray(101)]))).code,
    ).toBe('invalid_embeddings');
  });

  it('give the exact numbers or a refusal after a change of any byte', async () => {
    const seed = Number(process.env.GLOAMING_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));
    console.log(`seed ${seed}`);
    const { below } = seededRandom(seed);
    const path = join(folder, 'mutated.npz');
    let refused = 0;
    for (let round = 0; round < 400; round += 1) {
      const bytes = readFileSync(archiveOf(round % 2 === 0 ? 'stored.npz' : 'deflated.npz'));
      for (let more = below(3); more >= 0; more -= 1) bytes[below(bytes.length)] = below(256);
      writeFileSync(path, bytes);
      const error = await refusalOrNumbers(path);
      if (error !== undefined) refused += 1;
    }
    expect(refused).toBeGreaterThan(50);
  });

  /** Returns undefined if each protein has its exact numbers or none. */
  async function refusalOrNumbers(path: string): Promise<Refusal | undefined> {
    try {
      const embeddings = await openEmbeddings(path);
      try {
        for (const [id, sequence] of Object.entries(SEQUENCES)) {
          if (embeddings.shapeOf(id) === undefined) continue;
          expect([...embeddings.read(id)]).toEqual([...tokensOf(sequence)]);
        }
      } finally {
        embeddings.close();
      }
      return undefined;
    } catch (cause) {
      if (cause instanceof Refusal) return cause;
      throw cause;
    }
  }

  /** Returns the archive with all numbers of its directory in ZIP64 fields. */
  function withLongNumbers(bytes: Buffer): Buffer {
    const [count, length, start] = [
      bytes.readUInt16LE(bytes.length - 12),
      ...[10, 6].map((place) => bytes.readUInt32LE(bytes.length - place)),
    ] as [number, number, number];
    const entries: Buffer[] = [];
    for (let at = start; at < start + length;) {
      const [name, extra, comment] = [28, 30, 32].map((place) => bytes.readUInt16LE(at + place)) as [
        number,
        number,
        number,
      ];
      const entry = Buffer.from(bytes.subarray(at, at + 46 + name));
      const long = Buffer.alloc(28);
      long.writeUInt16LE(1, 0);
      long.writeUInt16LE(24, 2);
      for (const [place, field] of [24, 20, 42].entries()) {
        long.writeBigUInt64LE(BigInt(entry.readUInt32LE(field)), 4 + 8 * place);
        entry.writeUInt32LE(0xffffffff, field);
      }
      entry.writeUInt16LE(long.length, 30);
      entry.writeUInt16LE(0, 32);
      entries.push(entry, long);
      at += 46 + name + extra + comment;
    }
    const directory = Buffer.concat(entries);
    const end = Buffer.alloc(56 + 20 + 22);
    end.writeUInt32LE(0x06064b50, 0);
    end.writeBigUInt64LE(44n, 4);
    for (const [place, value] of [count, count, directory.length, start].entries())
      end.writeBigUInt64LE(BigInt(value), 24 + 8 * place);
    end.writeUInt32LE(0x07064b50, 56);
    end.writeBigUInt64LE(BigInt(start + directory.length), 64);
    end.writeUInt32LE(1, 72);
    end.writeUInt32LE(0x06054b50, 76);
    end.fill(0xff, 84, 96);
    return Buffer.concat([bytes.subarray(0, start), directory, end]);
  }
});
