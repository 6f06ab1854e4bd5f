import { pairComposition, type Composition } from './composition.js';
import { hubnessesOf, type ProteinHubness } from './hubness.js';
import type { PairMoments } from './moments.js';
import type { NullPair } from './pair-null.js';
import { repeatExcess, type RepeatModel } from './repeats.js';

/** Covariates of one protein in the null model, without its moments. */
export interface NullProtein {
  /** Unit: residues. */
  readonly length: number;
  readonly hubness: ProteinHubness;
  readonly promiscuity: number;
  readonly classBias: number;
  /** `repeatShareOf` (search/pairs/repeats.ts); 0 if the null does not use it. */
  readonly repeatShare: number;
  readonly composition: Composition;
}

/**
 * Returns the covariates of a pair. The null is symmetric in query and target.
 * @param moments  of the pair
 * @param repeats  model of the null; undefined if it does not use repeats
 */
export function nullPairOf(
  moments: PairMoments,
  query: NullProtein,
  target: NullProtein,
  repeats: RepeatModel | undefined,
): NullPair {
  const { queryHubness, targetHubness, hubnessComponents } = hubnessesOf(query.hubness, target.hubness);
  const { composition, cysteines } = pairComposition(query.composition, target.composition);
  // One literal: a search makes thousands of pairs, and spreading parts into them takes most of its judgement.
  return {
    queryLength: query.length,
    targetLength: target.length,
    meanCosine: moments.meanCosine,
    cosineSpread: moments.cosineSpread,
    logProfileMean: moments.logProfileMean,
    logProfileSpread: moments.logProfileSpread,
    logEffective: moments.logEffective,
    queryHubness,
    targetHubness,
    hubnessComponents,
    promiscuity: query.promiscuity + target.promiscuity,
    classBias: query.classBias + target.classBias,
    repeats: repeatExcess(repeats, query.repeatShare, target.repeatShare),
    composition,
    queryMembraneShare: query.composition.membraneShare,
    targetMembraneShare: target.composition.membraneShare,
    cysteines,
  };
}
