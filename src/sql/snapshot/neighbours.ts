import { Fault } from '../../errors.js';
import { readNeighbours, type Neighbours } from '../../neighbours/sidecar.js';
import { openRelease } from '../../release/open.js';
import type { TargetTable } from '../../release/release.js';
import { NEIGHBOUR_COLUMNS, neighbourRows } from '../neighbours.js';
import { writeParquet } from './parquet.js';

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
