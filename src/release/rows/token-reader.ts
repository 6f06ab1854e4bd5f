import { PROFILE_WIDTH, type QueryTokens } from '../../kernels/kernels.js';
import { tokensOfStretch } from '../../kernels/stretch-tokens.js';
import type { Release } from '../release.js';
import { openRowReader } from './row-reader.js';

/** Tokens of a release's targets, with their profiles, as they stand in its files. */
export interface TokenReader {
  read(targetIndex: number): Promise<QueryTokens>;
  /** Yields the targets from `start` up to `end`, without it. It reads many small ones at once. */
  readInOrder(start: number, end: number): AsyncGenerator<QueryTokens>;
  close(): Promise<void>;
}

/** Most residues of several targets that are read at once: 256 KiB of tokens of dimension 64. */
const CHUNK_RESIDUES = 4_096;

/** Errors  Fault where a file ends early */
export async function openTokenReader({ tokens: source, targets }: Release): Promise<TokenReader> {
  const { residueStarts, dimension, tokens, profiles } = source;
  const values = await openRowReader({ tokens, dimension });
  const profile = profiles && (await openRowReader({ tokens: profiles, dimension: PROFILE_WIDTH }));
  async function* readInOrder(start: number, end: number): AsyncGenerator<QueryTokens> {
    for (let first = start, next = start; first < end; first = next) {
      const from = residueStarts[first];
      next = first + 1;
      while (next < end && residueStarts[next + 1] - from <= CHUNK_RESIDUES) next += 1;
      const length = residueStarts[next] - from;
      const chunk = {
        values: await values.read(from, length),
        profile: await profile?.read(from, length),
        length,
      };
      for (let target = first; target < next; target += 1) {
        const own = tokensOfStretch(chunk, residueStarts[target] - from, residueStarts[target + 1] - from);
        const effectiveSequences = targets.targetHomologs?.(target).effectiveSequences;
        yield profile === undefined ? own : { ...own, effectiveSequences };
      }
    }
  }
  return {
    readInOrder,
    async read(target) {
      const { value } = await readInOrder(target, target + 1).next();
      return value as QueryTokens;
    },
    async close() {
      await values.close();
      await profile?.close();
    },
  };
}
