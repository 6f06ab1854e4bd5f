import type { Calibration } from '../significance/calibration.js';
import { UNCONTROLLED_FORMAT } from '../significance/card.js';
import { reversed } from '../significance/control.js';
import { PROFILE_WIDTH, type KernelOptions, type QueryTokens } from '../kernels/kernels.js';
import { affineParameters, type AlignedProtein } from './pairs/affine.js';
import { profileScores } from './pairs/profile-scores.js';
import type { EncodedQuery, SearchEngine, SearchSettings } from './search-types.js';

/** Scores of the reversed query with listed targets, in list order. */
export interface ControlScores {
  readonly affine: Int32Array;
  /** Zeros for a query without a profile, or if they are not used. */
  readonly profile: Int32Array;
}

/**
 * Whether nearly every query of a search needs its reversed-query control: E-values are requested, and all of them are
 * used. The encoder then gets the reversed queries together with the queries, which keeps all of its threads at work.
 */
export function controlsEachQuery(
  { significance, usedMaxEValue = Infinity }: Pick<SearchSettings, 'significance' | 'usedMaxEValue'>,
  calibration: Calibration | undefined,
): boolean {
  if (significance === 'not_requested' || calibration === undefined) return false;
  return usedMaxEValue === Infinity && calibration.card.format !== UNCONTROLLED_FORMAT;
}

/**
 * Reversed-query control of listed targets: scores of the query read backwards (significance/control.ts). The rows of a
 * profile are reversed with the residues.
 * @param usesProfileScores  false where the null does not use them, so that they are not computed
 * Shape   one score per listed target, in list order
 * Unit    as of `KernelBackend.affineScores` and `KernelBackend.profileScores`
 * Range   0 and more
 * Errors  Fault of encoder or kernels; the signal's reason
 * Cost    one alignment per target, and one more encoding of a query without profile and without `reversedTokens`
 */
export async function controlScores(
  query: AlignedProtein & Pick<EncodedQuery, 'hasMeanTokens' | 'reversedTokens'>,
  targets: Uint32Array,
  { encoder, backend, store, release }: Pick<SearchEngine, 'encoder' | 'backend' | 'store' | 'release'>,
  options: KernelOptions,
  usesProfileScores = true,
): Promise<ControlScores> {
  const { sequence, tokens, hasMeanTokens = false, reversedTokens } = query;
  const backwards = reversed(sequence);
  const encoded =
    tokens.profile !== undefined || hasMeanTokens
      ? inReverse(tokens, release.manifest.encoder.dimension)
      : (reversedTokens ?? (await encoder.encode([backwards], { signal: options.signal }))[0]);
  const parameters = affineParameters(release, { sequence: backwards, tokens: encoded }, targets);
  const { scores } = await backend.affineScores(store, encoded, targets, parameters, options);
  const profile = usesProfileScores
    ? await profileScores(store, encoded, targets, backend, options)
    : new Int32Array(targets.length);
  return { affine: scores, profile };
}

function inReverse(tokens: QueryTokens, dimension: number): QueryTokens {
  const { values, profile } = tokens;
  return {
    ...tokens,
    values: reversedRows(values, dimension),
    profile: profile && reversedRows(profile, PROFILE_WIDTH),
  };
}

function reversedRows(rows: Int8Array, width: number): Int8Array {
  const backwards = new Int8Array(rows.length);
  for (let start = 0; start < rows.length; start += width) {
    backwards.set(rows.subarray(start, start + width), rows.length - start - width);
  }
  return backwards;
}
