import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { afterAll, describe, expect, it } from 'vitest';
import { Refusal } from '#src/errors.js';
import { fastaFile, readFasta } from '#src/sequence/fasta.js';
import { packingOf, readUnpackedFile, unpack } from '#src/sequence/unpack.js';

const folder = mkdtempSync(join(tmpdir(), 'gloaming-unpack-'));
afterAll(() => rmSync(folder, { recursive: true }));

const PROGRAMS = ['zstd', 'xz'] as const;
const missing = PROGRAMS.filter((program) => {
  try {
    execFileSync(program, ['--version']);
    return false;
  } catch {
    return true;
  }
});
if (missing.length > 0) console.log(`skipped: ${missing.join(', ')} is not installed`);
const present = PROGRAMS.filter((program) => !missing.includes(program));

const TEXT = '>a first\nMKV\n>b\nACD\n';

function packed(program: string, bytes: Buffer | string, ...options: string[]): Buffer {
  return execFileSync(program, ['-cq', ...options], { input: bytes, maxBuffer: 1 << 26 });
}

async function bytesOf(source: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const list: Uint8Array[] = [];
  for await (const chunk of source) list.push(chunk);
  return Buffer.concat(list);
}

async function refusal(source: AsyncIterable<unknown>): Promise<Refusal> {
  try {
    for await (const _ of source);
  } catch (cause) {
    if (cause instanceof Refusal) return cause;
    throw cause;
  }
  throw new Error('nothing was refused');
}

const pieces = (bytes: Buffer, size: number): Readable =>
  Readable.from(
    Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
      bytes.subarray(at * size, (at + 1) * size),
    ),
  );

describe('a compressed file', () => {
  it('is recognised by its first bytes', () => {
    expect(packingOf(Buffer.from(TEXT))).toBeUndefined();
    expect(packingOf(Buffer.alloc(0))).toBeUndefined();
    expect(packingOf(gzipSync(TEXT))).toBe('gzip');
    for (const program of present) expect(packingOf(packed(program, TEXT))).toBe(program);
  });

  it.each(present)('is read as %s, with any file name and any chunk size', async (program) => {
    const path = join(folder, `proteins-${program}`);
    writeFileSync(path, packed(program, TEXT));
    let [read, records] = [0, 0];
    for await (const { header } of readFasta(fastaFile(path, (bytes) => (read += bytes)))) {
      records += 1;
      expect(header).toBe(records === 1 ? 'a first' : 'b');
    }
    expect(records).toBe(2);
    expect(read).toBe(packed(program, TEXT).length);
    const twice = Buffer.concat([packed(program, TEXT), packed(program, TEXT)]);
    expect((await bytesOf(unpack(pieces(twice, 1), 'x'))).toString()).toBe(TEXT + TEXT);
  });

  it.each(present)('is refused in one sentence if it is damaged or truncated (%s)', async (program) => {
    const whole = packed(program, Buffer.alloc(300_000, 'MKVLAWYDEGHI'));
    const short = await refusal(unpack(pieces(whole.subarray(0, -9), 4096), 'cut.fasta'));
    expect(short.code).toBe('invalid_compression');
    expect(short.message).toMatch(
      new RegExp(
        `^cut\\.fasta cannot be decompressed by ${program}: .+\\. Copy or download the file again\\.$`,
      ),
    );
    const damaged = Buffer.from(whole);
    damaged[whole.length >> 1] ^= 0xff;
    damaged[whole.length - 5] ^= 0xff;
    expect((await refusal(unpack(pieces(damaged, 4096), 'x'))).code).toBe('invalid_compression');
  });

  it.skipIf(missing.length > 0)('that needs a larger window than the default is refused', async () => {
    const asking = packed('zstd', TEXT, '--no-content-size');
    // The second byte after the magic number is the window: 2 GiB of it.
    asking[5] = (31 - 10) << 3;
    expect((await refusal(unpack(pieces(asking, 64), 'huge.zst'))).message).toContain('memory');
    const xz = packed('xz', TEXT, '--lzma2=dict=512MiB');
    expect((await refusal(unpack(pieces(xz, 64), 'huge.xz'))).message).toMatch(/memory/i);
  });

  it.skipIf(missing.includes('zstd'))('stops its program when the reader stops', async () => {
    const path = join(folder, 'zeros');
    writeFileSync(path, packed('zstd', Buffer.alloc(1 << 24)));
    for await (const chunk of readUnpackedFile(path)) {
      expect(chunk.length).toBeGreaterThan(0);
      break;
    }
    const endless = await refusal(readFasta(fastaFile(path)));
    expect(endless.code).toBe('invalid_fasta');
  });

  it('names a missing program', async () => {
    const path = process.env.PATH;
    process.env.PATH = folder;
    try {
      const error = await refusal(unpack(pieces(Buffer.from('28b52ffd00000000', 'hex'), 64), 'up.dat.zst'));
      expect(error.code).toBe('tool_missing');
      expect(error.message).toContain('Install it (Debian: zstd)');
    } finally {
      process.env.PATH = path;
    }
  });

  it('that cannot be read is refused like a plain file', async () => {
    expect((await refusal(readUnpackedFile(join(folder, 'nowhere')))).code).toBe('file_not_found');
  });
});
