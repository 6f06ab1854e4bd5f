import { cpuBackend } from '../../kernels/choose.js';
import type { AffineParameters, KernelBackend, KernelOptions, QueryTokens } from '../../kernels/kernels.js';
import { openInMemory } from '../../kernels/memory-store.js';
import { sourceOf, tokensOfStretch } from '../../kernels/stretch-tokens.js';
import type { Release } from '../../release/release.js';
import type { Calibration } from '../../significance/calibration.js';

/** Score of two residues with equal tokens, before the offset. */
const SCORE_PER_COSINE = 80;
/** A pair of residues scores more than 0 from a cosine of .43 on, which few residues of different repeats reach. */
const OFFSET = 34;
const GAP_OPEN = 24;
const GAP_EXTEND = 2;
/** A protein of fewer residues has no two halves. */
const FEWEST_RESIDUES = 2;
const ONLY_TARGET = Uint32Array.of(0);

/**
 * Returns the repeat share of a protein. Its first half is aligned with its second half, by tokens alone. The share is
 * the score of the best local alignment ÷ the score of as many equal residues as the protein has. The CPU computes it,
 * because a GPU would load each half.
 * Unit    1
 * Range   0..0.29; of natural domains .007 on average, of propellers .04 and more
 * Errors  Fault of the kernels; the signal's reason
 */
export async function repeatShareOf(
  { values, length }: QueryTokens,
  { inverse_step: inverseStep }: Pick<Release['manifest']['encoder'], 'inverse_step'>,
  backend: KernelBackend,
  options: KernelOptions = {},
): Promise<number> {
  if (length < FEWEST_RESIDUES) return 0;
  const middle = Math.floor(length / 2);
  const firstHalf = tokensOfStretch({ values, length }, 0, middle);
  const secondHalf = sourceOf(tokensOfStretch({ values, length }, middle, length));
  const parameters: AffineParameters = {
    multiplier: Math.round((SCORE_PER_COSINE * 65_536) / inverseStep ** 2),
    offset: OFFSET,
    gapOpen: GAP_OPEN,
    gapExtend: GAP_EXTEND,
  };
  const cpu = cpuBackend(backend);
  const store = await openInMemory(secondHalf, cpu);
  const { scores } = await cpu.affineScores(store, firstHalf, ONLY_TARGET, parameters, options);
  return scores[0] / (SCORE_PER_COSINE * length);
}

/**
 * Returns the repeat share of a query, or 0 if the calibration does not use it.
 * Errors  those of `repeatShareOf`
 */
export async function repeatShareFor(
  tokens: QueryTokens,
  { release, backend }: { readonly release: Release; readonly backend: KernelBackend },
  { repeats }: Pick<Calibration, 'repeats'>,
  options: KernelOptions,
): Promise<number> {
  return repeats === undefined ? 0 : repeatShareOf(tokens, release.manifest.encoder, backend, options);
}
