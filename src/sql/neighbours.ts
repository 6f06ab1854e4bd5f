import type { Neighbours } from '../neighbours/sidecar.js';
import type { TargetTable } from '../release/release.js';

/** One edge of a graph of neighbours. Coordinates are zero-based and half-open. */
export interface NeighbourRow {
  readonly queryIndex: number;
  readonly queryId: string;
  readonly targetIndex: number;
  readonly targetId: string;
  readonly eValue: number;
  /** Natural logarithm, which does not underflow. */
  readonly logEValue: number;
  readonly affineScore: number;
  readonly queryStart: number;
  readonly queryEnd: number;
  readonly targetStart: number;
  readonly targetEnd: number;
}

/** A column of the table of neighbours. */
interface NeighbourColumn {
  readonly name: string;
  readonly type: 'string' | 'number' | 'int32';
  readonly read: (row: NeighbourRow) => string | number;
}

export const NEIGHBOUR_COLUMNS: readonly NeighbourColumn[] = [
  { name: 'query_id', type: 'string', read: ({ queryId }) => queryId },
  { name: 'target_id', type: 'string', read: ({ targetId }) => targetId },
  { name: 'e_value', type: 'number', read: ({ eValue }) => eValue },
  { name: 'log_e_value', type: 'number', read: ({ logEValue }) => logEValue },
  { name: 'affine_score', type: 'int32', read: ({ affineScore }) => affineScore },
  { name: 'query_start', type: 'int32', read: ({ queryStart }) => queryStart },
  { name: 'query_end', type: 'int32', read: ({ queryEnd }) => queryEnd },
  { name: 'target_start', type: 'int32', read: ({ targetStart }) => targetStart },
  { name: 'target_end', type: 'int32', read: ({ targetEnd }) => targetEnd },
];

/** Lists the edges by query and then by E-value. */
export function* neighbourRows(
  targets: Pick<TargetTable, 'count' | 'id'>,
  { graph }: Pick<Neighbours, 'graph'>,
): Generator<NeighbourRow> {
  for (let query = 0; query < targets.count; query += 1) {
    const queryId = targets.id(query);
    for (let edge = graph.offsets[query]; edge < graph.offsets[query + 1]; edge += 1) {
      const targetIndex = graph.targets[edge];
      const logEValue = graph.logEValues[edge];
      yield {
        queryIndex: query,
        queryId,
        targetIndex,
        targetId: targets.id(targetIndex),
        eValue: Math.exp(logEValue),
        logEValue,
        affineScore: graph.affineScores[edge],
        queryStart: graph.queryStarts[edge],
        queryEnd: graph.queryEnds[edge],
        targetStart: graph.targetStarts[edge],
        targetEnd: graph.targetEnds[edge],
      };
    }
  }
}
