import { createHash } from 'node:crypto';
import { mkdir, open, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { canonicalSha256 } from '../canonical.js';

/*
 * What an unfinished calibration has done lies beside its release in `<release>.calibration.work/`, a file for each
 * phase, so that one that was killed at any moment goes on from there and ends with the same bytes:
 *
 *   header    SHA-256 of what the phase depends on: another header, and all is done anew
 *   record    length of its payload (uint32, little-endian), SHA-256 of the payload, payload
 *   record …  in the order of the steps
 *
 * A step that is cut off or damaged, and all that follow it, are done again.
 */

/** Where an unfinished calibration keeps its phases. */
export interface Workplace {
  readonly folder: string;
  /** All that every phase depends on: release, sample, kernels, encoder, method. */
  readonly identity: unknown;
}

/** A phase of the work: steps in order, each of which gives a record. */
export interface Phase {
  readonly name: string;
  /** What it depends on beside the identity of the workplace; a value of JSON. */
  readonly inputs: unknown;
  readonly stepCount: number;
  /** Does a step. All before it have been taken. */
  readonly step: (index: number) => Promise<ArrayBufferView> | ArrayBufferView;
  /** Takes what a step gave, now or before a kill; in order. */
  readonly take: (record: ArrayBuffer, index: number) => void;
  /** Told how many steps are done: those of before at once, and then each. */
  readonly report?: (doneCount: number) => void;
}

const DIGEST_BYTES = 32;
const LENGTH_BYTES = 4;

/** Errors  those of a step and of the file system; the steps before it are kept */
export async function runPhase({ folder, identity }: Workplace, phase: Phase): Promise<void> {
  const { name, inputs, stepCount, step, take, report } = phase;
  await mkdir(folder, { recursive: true });
  const file = await openFile(join(folder, `${name}.steps`), canonicalSha256({ identity, inputs }));
  try {
    let end = DIGEST_BYTES;
    let index = 0;
    for (; index < stepCount; index += 1) {
      const payload = await readRecord(file, end);
      if (payload === undefined) break;
      take(payload, index);
      end += LENGTH_BYTES + DIGEST_BYTES + payload.byteLength;
    }
    await file.truncate(end);
    report?.(index);
    for (; index < stepCount; index += 1) {
      const { buffer, byteOffset, byteLength } = await step(index);
      const payload = new Uint8Array(buffer, byteOffset, byteLength).slice();
      const { bytesWritten } = await file.writev([headOf(payload), payload], end);
      end += bytesWritten;
      take(payload.buffer, index);
      report?.(index + 1);
    }
  } finally {
    await file.close();
  }
}

/** The phase's file with this header; empty behind it where it had another. */
async function openFile(path: string, digest: string): Promise<FileHandle> {
  const file = await open(path, 'a').then(async (made) => {
    await made.close();
    return open(path, 'r+');
  });
  const wanted = Buffer.from(digest, 'hex');
  const header = await readExactly(file, 0, DIGEST_BYTES);
  if (header !== undefined && wanted.equals(header)) return file;
  await file.truncate(0);
  await file.write(wanted, 0, DIGEST_BYTES, 0);
  return file;
}

/** The payload of the record that begins here; undefined where there is none that is whole. */
async function readRecord(file: FileHandle, start: number): Promise<ArrayBuffer | undefined> {
  const head = await readExactly(file, start, LENGTH_BYTES + DIGEST_BYTES);
  if (head === undefined) return undefined;
  const length = Buffer.from(head.buffer).readUInt32LE(0);
  const { size } = await file.stat();
  if (start + head.length + length > size) return undefined;
  const payload = await readExactly(file, start + head.length, length);
  if (payload === undefined || !headOf(payload).equals(head)) return undefined;
  return payload.buffer;
}

async function readExactly(
  file: FileHandle,
  start: number,
  length: number,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const bytes = new Uint8Array(length);
  const { bytesRead } = await file.read(bytes, 0, length, start);
  return bytesRead === length ? bytes : undefined;
}

function headOf(payload: Uint8Array): Buffer {
  const head = Buffer.alloc(LENGTH_BYTES);
  head.writeUInt32LE(payload.length, 0);
  return Buffer.concat([head, createHash('sha256').update(payload).digest()]);
}
