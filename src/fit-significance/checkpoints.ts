import { createHash } from 'node:crypto';
import { mkdir, open, rm, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { canonicalSha256 } from '../canonical.js';
import type { QueryTokens } from '../kernels/kernels.js';
import { lockFolder } from '../processes.js';
import type { Release } from '../release/release.js';
import { openTokenReader, type TokenReader } from '../release/rows/token-reader.js';
import { calibrationDirectory } from '../significance/card.js';

/*
 * Checkpoints of an unfinished calibration. They lie beside the release in `<release>.calibration.work/`, one file per
 * phase. A calibration that was killed continues from them and writes the same bytes. A file consists of:
 *
 *   header    SHA-256 of the inputs of the phase; a phase with other inputs starts anew
 *   record    length of the payload (uint32, little-endian), SHA-256 of the payload, payload
 *   record …  in the order of the steps
 *
 * A step whose record is truncated or damaged is repeated, with all steps that follow it.
 */

/** The checkpoint folder of one calibration. */
export interface CheckpointFolder {
  readonly folder: string;
  /** A JSON value of the inputs of every phase: release, sample, kernels, encoder, method. */
  readonly identity: unknown;
}

/**
 * Locks the checkpoint folder of a release, opens its tokens, and removes the folder after successful work.
 * @param identity  a JSON value of the inputs of the work
 * Errors  Refusal `build_running` if another process works in the folder; those of the work and of the file system
 */
export async function withCheckpoints<Result>(
  release: Release,
  identity: unknown,
  work: (checkpoints: CheckpointFolder, reader: TokenReader) => Promise<Result>,
): Promise<Result> {
  const folder = `${calibrationDirectory(release.directory)}.work`;
  await mkdir(folder, { recursive: true });
  const unlock = await lockFolder(folder, 'This release is being calibrated');
  try {
    const reader = await openTokenReader(release);
    const checkpoints = { folder, identity: canonicalSha256(identity) };
    const result = await work(checkpoints, reader).finally(() => reader.close());
    // The lock lies in this folder.
    await rm(folder, { recursive: true, force: true });
    return result;
  } catch (error) {
    await unlock();
    throw error;
  }
}

/** A sequence of steps, each of which returns a record. */
export interface Phase {
  readonly name: string;
  /** A JSON value of the inputs of this phase beside the identity of the folder. */
  readonly inputs: unknown;
  readonly stepCount: number;
  /** Computes a step. `take` has received the records of all earlier steps. */
  readonly step: (index: number) => Promise<ArrayBufferView> | ArrayBufferView;
  /** Receives the record of each step in order, whether restored or new. */
  readonly take: (record: ArrayBuffer, index: number) => void;
  /** Called with the number of finished steps: once after the restored ones, then after each step. */
  readonly report?: (doneCount: number) => void;
}

const DIGEST_BYTES = 32;
const LENGTH_BYTES = 4;

/**
 * Restores the finished steps of a phase, runs the others, and stores a record for each.
 * Errors  those of `step`, `take` and the file system; the records of earlier steps stay
 */
export async function runPhase({ folder, identity }: CheckpointFolder, phase: Phase): Promise<void> {
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

/** A phase that measures a row of numbers of each target. */
export interface TargetPhase extends Pick<Phase, 'name' | 'inputs'> {
  readonly targetCount: number;
  /** Numbers of a row. */
  readonly width: number;
  readonly measure: (tokens: QueryTokens) => Promise<ArrayLike<number>> | ArrayLike<number>;
  /** Called with each target in order, restored ones too. */
  readonly take: (row: Float32Array, target: number) => void;
  /** Called with the number of measured targets. */
  readonly report: (doneCount: number) => void;
}

interface TargetAccess {
  readonly checkpoints: CheckpointFolder;
  readonly reader: TokenReader;
  readonly signal?: AbortSignal;
}

/** Targets of one checkpoint record. */
const STEP_TARGETS = 256;

/**
 * Measures a row of each target, some targets to a checkpoint.
 * Unit    rows are stored as float32
 * Errors  those of `measure` and of the token reader; the signal's reason between two targets; those of the file system
 */
export async function measureTargets(
  { checkpoints, reader, signal }: TargetAccess,
  { name, inputs, targetCount, width, measure, take, report }: TargetPhase,
): Promise<void> {
  await runPhase(checkpoints, {
    name,
    inputs,
    stepCount: Math.ceil(targetCount / STEP_TARGETS),
    async step(index) {
      const start = index * STEP_TARGETS;
      const rows = new Float32Array(Math.min(STEP_TARGETS, targetCount - start) * width);
      let at = 0;
      for await (const tokens of reader.readInOrder(start, start + rows.length / width)) {
        signal?.throwIfAborted();
        rows.set(await measure(tokens), at);
        at += width;
      }
      return rows;
    },
    take(record, index) {
      const rows = new Float32Array(record);
      let target = index * STEP_TARGETS;
      for (let at = 0; at < rows.length; target += 1, at += width)
        take(rows.subarray(at, at + width), target);
    },
    report: (steps) => report(Math.min(targetCount, steps * STEP_TARGETS)),
  });
}

/** Opens the file of a phase. A file with another header is emptied and gets this header. */
async function openFile(path: string, digest: string): Promise<FileHandle> {
  const file = await open(path, 'a').then(async (created) => {
    await created.close();
    return open(path, 'r+');
  });
  const header = Buffer.from(digest, 'hex');
  const storedHeader = await readExactly(file, 0, DIGEST_BYTES);
  if (storedHeader !== undefined && header.equals(storedHeader)) return file;
  await file.truncate(0);
  await file.write(header, 0, DIGEST_BYTES, 0);
  return file;
}

/** Returns the payload of the record at `start`; undefined if it is truncated, damaged or absent. */
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
