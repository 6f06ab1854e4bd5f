import { open } from 'node:fs/promises';
import { Fault } from '../errors.js';
import type { QueryTokens } from '../kernels/kernels.js';
import type { Release } from '../release/release.js';

/** Tokens of a release's targets, as they stand in its file. */
export interface TokenReader {
  read(targetIndex: number): Promise<QueryTokens>;
  close(): Promise<void>;
}

/** Errors  Fault where the file ends early */
export async function openTokenReader({ tokens, targets }: Release): Promise<TokenReader> {
  const { dimension, residueStarts } = tokens;
  const lengthOf = (target: number): number => targets.length(target);
  if ('values' in tokens.tokens) {
    const { values } = tokens.tokens;
    return {
      read: async (target) => {
        const start = residueStarts[target] * dimension;
        return {
          values: values.subarray(start, start + lengthOf(target) * dimension),
          length: lengthOf(target),
        };
      },
      close: async () => undefined,
    };
  }
  const { path, byteOffset } = tokens.tokens;
  const handle = await open(path, 'r');
  return {
    async read(target) {
      const bytes = new Int8Array(lengthOf(target) * dimension);
      const position = byteOffset + residueStarts[target] * dimension;
      const { bytesRead } = await handle.read(bytes, 0, bytes.length, position);
      if (bytesRead !== bytes.length) throw new Fault(`${path} ends within target ${target}.`);
      return { values: bytes, length: lengthOf(target) };
    },
    close: () => handle.close(),
  };
}
