import { PROFILE_WIDTH, type QueryTokens } from '../../kernels/kernels.js';
import type { Release } from '../release.js';
import { openRowReader } from './row-reader.js';

/** Tokens of a release's targets, with their profiles, as they stand in its files. */
export interface TokenReader {
  read(targetIndex: number): Promise<QueryTokens>;
  close(): Promise<void>;
}

/** Errors  Fault where a file ends early */
export async function openTokenReader({ tokens: source, targets }: Release): Promise<TokenReader> {
  const { residueStarts, dimension, tokens, profiles } = source;
  const values = await openRowReader({ tokens, dimension });
  const profile = profiles && (await openRowReader({ tokens: profiles, dimension: PROFILE_WIDTH }));
  return {
    async read(target) {
      const [start, length] = [residueStarts[target], targets.length(target)];
      const own = { values: await values.read(start, length), length };
      if (profile === undefined) return own;
      const effectiveSequences = targets.targetHomologs?.(target).effectiveSequences;
      return { ...own, profile: await profile.read(start, length), effectiveSequences };
    },
    async close() {
      await values.close();
      await profile?.close();
    },
  };
}
