/*
 * Entry point of the thread that hashes stored bytes. It executes requests in order, with one buffer for all of them.
 */
import { createHash, type Hash } from 'node:crypto';
import { closeSync, openSync, readSync } from 'node:fs';
import { parentPort } from 'node:worker_threads';
import { assert } from '../../errors.js';
import { MEBIBYTE_BYTES } from '../../limits.js';

/** A request that concerns the hash with this id. */
export type HashRequest =
  | AddRequest
  /** Returns the digest and deletes the hash. */
  | { readonly kind: 'end'; readonly id: number }
  | { readonly kind: 'drop'; readonly id: number };

/** Adds bytes [start, end) of a file to the hash. */
interface AddRequest {
  readonly kind: 'add';
  readonly id: number;
  /** Starts the hash. A restarted thread must not continue a hash that it does not hold. */
  readonly isFirst: boolean;
  readonly path: string;
  readonly start: number;
  readonly end: number;
}

/** Response to a request, in the order of the requests. */
export type HashAnswer = { readonly sha256?: string } | { readonly failure: string };

assert(parentPort !== null, 'this file is run as a worker only');
const port = parentPort;
const hashes = new Map<number, Hash>();
const buffer = Buffer.allocUnsafeSlow(MEBIBYTE_BYTES);

port.on('message', (request: HashRequest) => port.postMessage(answer(request)));

function answer(request: HashRequest): HashAnswer {
  try {
    if (request.kind === 'add') return addBytes(request);
    const answered = request.kind === 'end' ? { sha256: begun(request.id).digest('hex') } : {};
    hashes.delete(request.id);
    return answered;
  } catch (error) {
    return { failure: error instanceof Error ? error.message : String(error) };
  }
}

function begun(id: number): Hash {
  const hash = hashes.get(id);
  assert(hash !== undefined, 'the thread has started the hash that the request continues');
  return hash;
}

function addBytes({ id, isFirst, path, start, end }: AddRequest): HashAnswer {
  if (isFirst) hashes.set(id, createHash('sha256'));
  const hash = begun(id);
  const file = openSync(path, 'r');
  try {
    for (let at = start; at < end;) {
      const bytesRead = readSync(file, buffer, 0, Math.min(buffer.length, end - at), at);
      if (bytesRead === 0) throw new Error(`An object ends at byte ${at}, before its size.`);
      hash.update(buffer.subarray(0, bytesRead));
      at += bytesRead;
    }
  } finally {
    closeSync(file);
  }
  return {};
}
