import {
  RUN_DELETION,
  RUN_INSERTION,
  RUN_KIND_MASK,
  RUN_PAIR,
  type AffineAlignment,
  type KernelOptions,
} from '../kernels/kernels.js';
import { CigarWriter } from '../sequence/cigar.js';
import { mapInTurns } from '../turns.js';
import { eValueOf } from './pairs/candidate-significance.js';
import { findPaths } from './rescore.js';
import type {
  Candidate,
  EncodedQuery,
  PairwiseAlignment,
  SearchEngine,
  SearchResult,
  SearchSettings,
} from './search-types.js';

/**
 * Adds alignments to the candidates that need one: those within the largest E-value of the settings.
 * Errors  Fault of the kernels; the signal's reason
 */
export async function align(
  query: EncodedQuery,
  candidates: readonly Candidate[],
  { evidence, alignedMaxEValue = Infinity }: Pick<SearchSettings, 'evidence' | 'alignedMaxEValue'>,
  engine: SearchEngine,
  options: KernelOptions,
): Promise<readonly Candidate[]> {
  if (evidence === 'candidate_measurement') return candidates;
  const isAligned = (candidate: Candidate): boolean => (eValueOf(candidate) ?? Infinity) <= alignedMaxEValue;
  const paths = await findPaths(query, candidates.filter(isAligned), engine, options);
  const next = paths.values();
  const { targets } = engine.release;
  return mapInTurns(candidates, (candidate) => {
    if (!isAligned(candidate)) return candidate;
    const alignment = tracePath(next.next().value!, query.sequence, targets.sequence(candidate.targetIndex));
    return { ...candidate, alignment };
  });
}

/**
 * Follows an alignment path from pair to pair, for the extended CIGAR and the counts.
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

/**
 * Moves the alignments of a stretch to the coordinates of its query. E-values, MaxSim and the digest stay those of the
 * stretch.
 * @param start  first residue of the stretch, zero-based
 * @param queryLength  residues of the whole query
 */
export function inWhole(result: SearchResult, start: number, queryLength: number): SearchResult {
  const moved = <Alignment extends PairwiseAlignment>(alignment: Alignment): Alignment => {
    // An empty alignment has no place.
    if (alignment.cigar === '') return { ...alignment, queryLength };
    const { queryStart, queryEnd } = alignment;
    return {
      ...alignment,
      queryStart: queryStart + start,
      queryEnd: queryEnd + start,
      queryLength,
      queryCoverageRatio: (queryEnd - queryStart) / queryLength,
    };
  };
  const candidates = result.candidates.map((candidate) => {
    const { alignment, further } = candidate;
    return {
      ...candidate,
      ...(alignment && { alignment: moved(alignment) }),
      ...(further && {
        further: {
          ...further,
          ...(further.best && { best: moved(further.best) }),
          alignments: further.alignments.map(moved),
        },
      }),
    };
  });
  return { ...result, candidates };
}
