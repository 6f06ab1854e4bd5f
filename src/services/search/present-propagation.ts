import type { PropagatedHit } from '../../propagation/propagate.js';
import type { PresentedPropagation } from '../../contract/search/propagation.js';
import type { Candidate, SearchEngine } from '../../search/search-types.js';
import { propagateSearch, type PropagatedSearch, type Propagation } from './propagation.js';

type PresentedHit = PresentedPropagation['hits'][number];

/**
 * Walks from the candidates of one search. Returns the propagated hits in their contract form, by E-value.
 * Cost  milliseconds; nothing is cached
 */
export function presentWalk(
  searched: PropagatedSearch,
  engine: Pick<SearchEngine, 'release'>,
  propagation: Propagation,
): PresentedPropagation {
  return presentPropagation(
    propagateSearch(searched, engine, propagation),
    searched.candidates,
    engine,
    propagation,
  );
}

function presentPropagation(
  hits: readonly PropagatedHit[],
  candidates: readonly Candidate[],
  engine: Pick<SearchEngine, 'release'>,
  propagation: Propagation,
): PresentedPropagation {
  const direct = new Map(candidates.map((candidate) => [candidate.targetIndex, candidate]));
  const { targets } = engine.release;
  const present = ({ target, logEValue, bridge }: PropagatedHit): PresentedHit => ({
    target_id: targets.id(target),
    expected_false_hits: Math.exp(logEValue),
    log_expected_false_hits: logEValue,
    is_candidate: direct.has(target),
    ...(bridge !== undefined && {
      bridge: {
        target_id: targets.id(bridge),
        ...queryStretch(direct.get(bridge)),
        ...edgeStretch(bridge, target, propagation),
      },
    }),
  });
  return { graph_id: propagation.neighbours.id, walks_id: propagation.walksId, hits: hits.map(present) };
}

/** The alignment of query and bridge. Absent if several steps lead to the bridge. */
function queryStretch(candidate: Candidate | undefined) {
  const alignment = candidate?.alignment;
  if (alignment === undefined || alignment.cigar === '') return {};
  const { queryStart, queryEnd, targetStart, targetEnd } = alignment;
  return {
    from_query: {
      query_start: queryStart,
      query_end: queryEnd,
      bridge_start: targetStart,
      bridge_end: targetEnd,
    },
  };
}

/** The alignment of bridge and target, which the graph has. */
function edgeStretch(bridge: number, target: number, { neighbours: { graph } }: Propagation) {
  const row = graph.targets.subarray(graph.offsets[bridge], graph.offsets[bridge + 1]);
  const edge = graph.offsets[bridge] + row.indexOf(target);
  return {
    to_target: {
      bridge_start: graph.queryStarts[edge],
      bridge_end: graph.queryEnds[edge],
      target_start: graph.targetStarts[edge],
      target_end: graph.targetEnds[edge],
      log_expected_false_hits: graph.logEValues[edge],
    },
  };
}
