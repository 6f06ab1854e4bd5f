import { Fault } from '../../errors.js';
import type { PartialResult } from './scan.js';

/*
 * Format of partial results between tasks and appliances. All numbers are little-endian, the byte order of every
 * supported machine.
 *
 *   0   "GSV1", uint32 count of partial results; for each of them
 *   +0  digest of the query's tokens, 32 bytes
 *   +32 uint32 count of targets, uint32 columns: 3, or 4 with the excess of the sampled policy
 *   +40 targets, query to target, target to query, excess: a column of int32 each
 */

const MAGIC = Buffer.from('GSV1');
const START_BYTES = 8;
const DIGEST_BYTES = 32;
const HEAD_BYTES = DIGEST_BYTES + 8;

/**
 * Encodes partial results in the format above.
 * Shape   see above
 * Unit    bytes
 */
export function encodePartialResults(partialResults: readonly PartialResult[]): Buffer {
  return Buffer.concat([
    MAGIC,
    wordsOf(Uint32Array.of(partialResults.length)),
    ...partialResults.flatMap(piecesOf),
  ]);
}

/** Bytes of encoded partial results. @param columns  3, or 4 with the excess of the sampled policy */
export function writtenBytes(targetCounts: readonly number[], columns: 3 | 4): number {
  return targetCounts.reduce((sum, count) => sum + HEAD_BYTES + 4 * columns * count, START_BYTES);
}

/**
 * Decodes partial results.
 * Errors  Fault if the bytes are not encoded partial results, or are too few or too many
 */
export function decodePartialResults(bytes: Uint8Array): readonly PartialResult[] {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  const take = (count: number): Buffer => {
    if (count > buffer.length - at) throw new Fault('The partial results end too early.');
    at += count;
    return buffer.subarray(at - count, at);
  };
  const word = (): number => take(4).readUInt32LE();
  if (!take(4).equals(MAGIC)) throw new Fault('These bytes are not partial results.');
  const count = word();
  const partialResults: PartialResult[] = [];
  while (partialResults.length < count) {
    const queryTokensSha256 = take(DIGEST_BYTES).toString('hex');
    const [length, columns] = [word(), word()];
    if (columns !== 3 && columns !== 4) throw new Fault('A partial result has 3 or 4 columns.');
    // A copy, because the bytes may start at an offset that an Int32Array cannot have.
    const column = (): ArrayBuffer => Uint8Array.from(take(4 * length)).buffer;
    partialResults.push({
      queryTokensSha256,
      targets: new Uint32Array(column()),
      queryToTarget: new Int32Array(column()),
      targetToQuery: new Int32Array(column()),
      ...(columns === 4 && { queryExcess: new Int32Array(column()) }),
    });
  }
  if (at < buffer.length) throw new Fault('There are more bytes after the partial results.');
  return partialResults;
}

function piecesOf({ queryTokensSha256, targets, queryExcess, ...sums }: PartialResult): readonly Buffer[] {
  const columns = [targets, sums.queryToTarget, sums.targetToQuery, ...(queryExcess ? [queryExcess] : [])];
  return [
    Buffer.from(queryTokensSha256, 'hex'),
    wordsOf(Uint32Array.of(targets.length, columns.length)),
    ...columns.map(wordsOf),
  ];
}

function wordsOf({ buffer, byteOffset, byteLength }: Int32Array | Uint32Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
