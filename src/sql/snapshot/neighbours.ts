import { Fault } from '../../errors.js';
import { readNeighbours, type Neighbours } from '../../neighbours/sidecar.js';
import { openRelease } from '../../release/open.js';
import type { TargetTable } from '../../release/release.js';
import { writeParquet, type ParquetColumn } from './parquet.js';

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

interface NeighbourColumn extends ParquetColumn<NeighbourRow> {
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

/**
 * Writes the edges of a graph as a Parquet file.
 * Errors  those of the file system
 */
export function writeNeighboursParquet(
  path: string,
  targets: Pick<TargetTable, 'count' | 'id'>,
  neighbours: Pick<Neighbours, 'graph'>,
): Promise<void> {
  return writeParquet(path, NEIGHBOUR_COLUMNS, neighbourRows(targets, neighbours));
}

/** What to write for the graph of a release. */
export interface NeighboursJob {
  readonly kind: 'neighbours';
  /** Folder of the release. */
  readonly directory: string;
  /** Path of the Parquet file to write. */
  readonly path: string;
}

/**
 * Writes the graph of a release as a Parquet file.
 * Errors  Fault if the graph is damaged or was removed; those of the file system
 */
export async function snapshotNeighbours({ directory, path }: NeighboursJob): Promise<void> {
  const release = await openRelease(directory);
  const neighbours = await readNeighbours(release);
  if (neighbours === undefined) throw new Fault(`${directory} has no neighbours any more.`);
  await writeNeighboursParquet(path, release.targets, neighbours);
}
