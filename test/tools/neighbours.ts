import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { NEIGHBOURS_FORMAT, neighboursDirectory, type NeighboursCard } from '#src/neighbours/card.js';
import { createEdgesFile } from '#src/neighbours/edges-file.js';
import { emptyEdges, type EdgeColumns } from '#src/neighbours/graph.js';
import { writeNeighboursCard } from '#src/neighbours/sidecar.js';
import type { FileEntry } from '#src/release/release.js';

/** An edge of a graph; its query and target are aligned from residues 0 and 3 on, the target up to 9. */
export interface GivenEdge {
  readonly query: number;
  readonly target: number;
  /** Log E-value. */
  readonly log: number;
  /** End of the alignment on the query. Default 9. */
  readonly end?: number;
  /** Affine score. Default 70. */
  readonly score?: number;
}

export function edgeColumns(edges: readonly GivenEdge[]): { queries: Uint32Array; columns: EdgeColumns } {
  const columns = emptyEdges(edges.length);
  edges.forEach(({ target, log, end = 9, score = 70 }, at) => {
    columns.targets[at] = target;
    columns.logEValues[at] = log;
    columns.affineScores[at] = score;
    columns.queryEnds[at] = end;
    columns.targetStarts[at] = 3;
    columns.targetEnds[at] = 9;
  });
  return { queries: Uint32Array.from(edges, ({ query }) => query), columns };
}

export async function writeEdges(folder: string, edges: readonly GivenEdge[]): Promise<FileEntry> {
  const file = await createEdgesFile(join(folder, 'edges.new'));
  const { queries, columns } = edgeColumns(edges);
  await file.add(queries, columns);
  return file.finish();
}

/** Writes a graph of given edges beside a release, as if it was computed with the calibration `calib_1`. */
export async function writeNeighbours(
  directory: string,
  releaseId: string,
  targetCount: number,
  edges: readonly GivenEdge[],
): Promise<NeighboursCard> {
  mkdirSync(neighboursDirectory(directory), { recursive: true });
  const rows = new Set(edges.map(({ query }) => query));
  const card: NeighboursCard = {
    format: NEIGHBOURS_FORMAT,
    release_id: releaseId,
    calibration_id: 'calib_1',
    encoder: { id: 'none', sha256: '0'.repeat(64) },
    policy_id: 'pol_1',
    qualification_id: null,
    limit: 3,
    max_expected: 10,
    counts: { targets: targetCount, edges: edges.length, isolated: targetCount - rows.size },
    edges: await writeEdges(neighboursDirectory(directory), edges),
    extends: null,
    processor_seconds: 1.5,
  };
  await writeNeighboursCard(directory, card);
  return card;
}
