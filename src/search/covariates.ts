import type { MaxSimSums } from '../kernels/kernels.js';
import type { Release } from '../release/release.js';
import type { Calibration } from '../significance/calibration.js';
import { compositionOf } from '../significance/composition.js';
import { createHubnessTable, hubnessContribution, type ProteinHubness } from '../significance/hubness.js';
import {
  momentsOfPair,
  pairMoments,
  projectMoments,
  type PairMoments,
  type ProjectedMoments,
  type ProteinMoments,
} from '../significance/moments.js';
import type { NullProtein } from '../significance/null-pair.js';
import { classBiasOf, momentSum } from '../significance/moment-weights.js';
import { referenceSetSize as sizeOfReferenceSet } from '../significance/reference-set.js';
import { maxsimDistances } from './rank.js';

/** Covariates of one protein in the null model. */
export interface ProteinCovariates extends NullProtein {
  readonly projected: ProjectedMoments;
}

/**
 * Returns the covariates of a protein that is no target of the release, such as a query.
 * @param referenceSums  MaxSim sums of the protein with the calibration's reference set, in its order
 * @param repeatShare    that of the protein; any number if the null does not use it
 */
export function covariatesOf(
  sequence: string,
  moments: ProteinMoments,
  referenceSums: MaxSimSums,
  repeatShare: number,
  release: Release,
  calibration: Calibration,
): ProteinCovariates {
  const { length } = sequence;
  const projected = projectMoments(moments, calibration.moments.basis, calibration.moments.rank);
  return {
    length,
    projected,
    hubness: hubnessOf(length, projected, referenceSums, release, calibration),
    promiscuity: momentSum(calibration.promiscuity, projected),
    classBias: classBiasOf(calibration.classBias, projected),
    repeatShare,
    composition: compositionOf(sequence),
  };
}

/** Similarity of a protein to the reference set beyond what its length and moments explain, by component. */
function hubnessOf(
  length: number,
  projected: ProjectedMoments,
  referenceSums: MaxSimSums,
  release: Release,
  { hubness, pairNull, moments, referenceSet }: Calibration,
): ProteinHubness {
  const { inverse_step: inverseStep } = release.manifest.encoder;
  const referenceSetSize = sizeOfReferenceSet(referenceSet);
  const table = createHubnessTable(hubness, { referenceSetSize, proteinCount: 1 });
  const memberOf = (position: number): { readonly targetLength: number; readonly shared: PairMoments } => {
    if (referenceSet.kind === 'proteins') {
      const { residueStarts } = referenceSet.source;
      const targetLength = residueStarts[position + 1] - residueStarts[position];
      return { targetLength, shared: momentsOfPair(projected, referenceSet.moments[position]) };
    }
    const target = referenceSet.targets[position];
    return { targetLength: release.targets.length(target), shared: pairMoments(projected, moments, target) };
  };
  for (let position = 0; position < referenceSetSize; position += 1) {
    const { targetLength, shared } = memberOf(position);
    const sums = {
      queryToTarget: referenceSums.queryToTarget[position],
      targetToQuery: referenceSums.targetToQuery[position],
    };
    const { bidirectional } = maxsimDistances(sums, length, targetLength, inverseStep);
    const shape = { queryLength: length, targetLength, ...shared };
    table.add(0, position, hubnessContribution(hubness, pairNull.shape, shape, 1 - bidirectional));
  }
  return table.of(0);
}
