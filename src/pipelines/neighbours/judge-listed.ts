import type { KernelOptions } from '../../kernels/kernels.js';
import { unfilteredSpace } from '../../release/filter/target-space.js';
import { affineParameters } from '../../search/pairs/affine.js';
import { compareReferenceSet } from '../../search/exhaustive.js';
import { maxsimDistances } from '../../search/rank.js';
import type { Candidate, EncodedQuery, Scored, SearchEngine } from '../../search/search-types.js';
import { createJudge } from '../../search/significance.js';

/**
 * Measures a query with listed targets and judges each pair among all targets of the release. A pair has the E-value of
 * a search of the whole release.
 * Shape   one candidate per listed target, in list order; normalised scores are left at 0
 * Unit    targets: indices in the release, ascending
 * Errors  Fault of encoder or kernels; the signal's reason
 */
export async function judgeListed(
  query: EncodedQuery,
  targets: Uint32Array,
  engine: SearchEngine,
  options: KernelOptions,
): Promise<readonly Candidate[]> {
  const { release, backend, store, calibration } = engine;
  const { tokens, sequence } = query;
  const parameters = affineParameters(release, query, targets);
  const measured = await backend.measure(store, tokens, targets, parameters, options);
  const referenceSums = await compareReferenceSet([tokens], calibration?.referenceSet, engine, options);
  const inverseStep = release.manifest.encoder.inverse_step;
  const scored = Array.from(targets, (targetIndex, at): Scored => {
    const sums = {
      queryToTarget: measured.queryToTarget[at],
      targetToQuery: measured.targetToQuery[at],
    };
    return {
      rank: at + 1,
      targetIndex,
      queryToTargetSum: sums.queryToTarget,
      targetToQuerySum: sums.targetToQuery,
      maxsim: maxsimDistances(sums, tokens.length, release.targets.length(targetIndex), inverseStep),
      affine: { rawScore: measured.scores[at], normalizedScore: 0 },
    };
  });
  const settings = { significance: 'if_available', targetSpace: unfilteredSpace(release) } as const;
  const judge = createJudge(settings, [sequence], engine);
  return (await judge(query, scored, referenceSums?.[0], options)).candidates;
}
