import { RUN_DELETION, RUN_INSERTION, RUN_PAIR, type AffineAlignment } from '../kernels/kernels.js';
import type { Release } from '../release/release.js';
import { CigarWriter } from '../sequence/cigar.js';
import { mapInTurns } from '../turns.js';
import type { Candidate, PairwiseAlignment, ProteinQuery } from './search-types.js';

const RUN_KIND_MASK = 3;

/** The candidates with the alignments that their paths stand for; as they are where there are no paths. */
export async function align(
  { sequence }: ProteinQuery,
  candidates: readonly Candidate[],
  paths: readonly AffineAlignment[] | undefined,
  { targets }: Pick<Release, 'targets'>,
): Promise<readonly Candidate[]> {
  if (paths === undefined) return candidates;
  return mapInTurns(candidates, (candidate, order) => ({
    ...candidate,
    alignment: tracePath(paths[order], sequence, targets.sequence(candidate.targetIndex)),
  }));
}

/**
 * Follows the kernel's path from pair to pair: extended CIGAR and counts.
 * Unit    identity = identical residues ÷ alignment columns (pairs and gap residues), as BLAST counts it;
 *         coverage = share of a sequence between the alignment's two ends
 * Range   an alignment of score 0 has an empty CIGAR and zero counts and ratios
 */
export function tracePath(path: AffineAlignment, query: string, target: string): PairwiseAlignment {
  const cigar = new CigarWriter();
  let queryAt = path.queryStart;
  let targetAt = path.targetStart;
  let pairs = 0;
  let identical = 0;
  let gapOpenings = 0;
  let gapResidues = 0;
  for (const run of path.runs) {
    const length = run >>> 2;
    const kind = run & RUN_KIND_MASK;
    if (kind === RUN_PAIR) {
      for (let step = 0; step < length; step += 1, queryAt += 1, targetAt += 1) {
        identical += cigar.pair(query[queryAt], target[targetAt]) ? 1 : 0;
      }
      pairs += length;
      continue;
    }
    cigar.gap(kind === RUN_INSERTION ? 'I' : 'D', length);
    gapOpenings += 1;
    gapResidues += length;
    if (kind === RUN_INSERTION) queryAt += length;
    if (kind === RUN_DELETION) targetAt += length;
  }
  const columns = pairs + gapResidues;
  return {
    alignedResidueCount: pairs,
    cigar: cigar.toString(),
    gapOpeningCount: gapOpenings,
    gapResidueCount: gapResidues,
    identicalResidueCount: identical,
    queryCoverageRatio: (path.queryEnd - path.queryStart) / query.length,
    queryStart: path.queryStart,
    queryEnd: path.queryEnd,
    queryLength: query.length,
    sequenceIdentityRatio: columns === 0 ? 0 : identical / columns,
    targetCoverageRatio: (path.targetEnd - path.targetStart) / target.length,
    targetStart: path.targetStart,
    targetEnd: path.targetEnd,
    targetLength: target.length,
  };
}
