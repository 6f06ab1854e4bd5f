import { rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Fault, assert } from '../errors.js';
import { encodeDense } from '../release/column-encode.js';
import type { FileEntry } from '../release/release.js';
import { createTableFile, readTableBatches, type TableBatch } from '../release/table-file.js';
import { EDGE_BATCH_ROWS, EDGES_SCHEMA } from './card.js';
import { emptyEdges, GRAPH_MAX_EDGES, type EdgeColumns, type NeighbourGraph } from './graph.js';

/** Writes the edges of a graph, row after row. */
export interface EdgesFile {
  /**
   * Appends the edges of queries. @param queries  query of each edge, ascending, from the last one written on
   * Errors  those of the file system
   */
  add(queries: Uint32Array, edges: EdgeColumns): Promise<void>;
  /** Closes the file and renames it by its digest. Errors  those of the file system */
  finish(): Promise<FileEntry>;
  abandon(): Promise<void>;
}

/**
 * Creates the file of the edges. The bytes do not depend on how the edges are divided among calls of `add`.
 * @param path  name until the digest is known
 * Errors  those of the file system
 */
export async function createEdgesFile(path: string): Promise<EdgesFile> {
  const file = await createTableFile(path, EDGES_SCHEMA);
  const batch = { queries: new Uint32Array(EDGE_BATCH_ROWS), ...emptyEdges(EDGE_BATCH_ROWS) };
  let filled = 0;
  const flush = async (): Promise<void> => {
    const rows = filled;
    filled = 0;
    // The file keeps the bytes until they are written, while the batch is filled again.
    const columns = orderedColumns(batch).map((values) => encodeDense(values.slice(0, rows)));
    await file.writeBatch(rows, columns);
  };
  return {
    async add(queries, edges) {
      for (let start = 0; start < queries.length;) {
        const end = Math.min(queries.length, start + EDGE_BATCH_ROWS - filled);
        const source = orderedColumns({ queries, ...edges });
        orderedColumns(batch).forEach((values, at) => values.set(source[at].subarray(start, end), filled));
        filled += end - start;
        start = end;
        if (filled === EDGE_BATCH_ROWS) await flush();
      }
    },
    async finish() {
      if (filled > 0) await flush();
      const entry = await file.finish();
      const named = `edges-${entry.sha256}.arrow`;
      await rename(path, join(dirname(path), named));
      return { ...entry, path: named };
    },
    async abandon() {
      await file.abandon();
      await rm(path, { force: true });
    },
  };
}

/** Bounds that every edge of a file has to keep. */
export interface GraphBounds {
  readonly targetCount: number;
  /** Residues of a target. */
  lengthOf(target: number): number;
  readonly edgeCount: number;
  /** Most edges of one query, and the largest log E-value. */
  readonly limit: number;
  readonly maxLogEValue: number;
}

/**
 * Reads the edges into memory and checks every value, so that a damaged file cannot lead outside of the release.
 * Errors  Fault naming the file where it cannot be read, or a value is out of its bounds or its order
 * Cost    28 bytes a row while a batch is read, 24 after it
 */
export async function readGraph(path: string, bounds: GraphBounds): Promise<NeighbourGraph> {
  const { targetCount, edgeCount } = bounds;
  assert(edgeCount <= GRAPH_MAX_EDGES, 'offsets are numbers of 32 bits');
  const edges = emptyEdges(edgeCount);
  const offsets = new Uint32Array(targetCount + 1);
  let end = 0;
  let query = 0;
  for await (const batch of readTableBatches(path)) {
    const { rowCount } = batch;
    const valuesOf = columnReader(batch, path);
    const start = end;
    end += rowCount;
    if (end > edgeCount) break;
    const queries = valuesOf('query', Uint32Array);
    edges.targets.set(valuesOf('target', Uint32Array), start);
    edges.logEValues.set(valuesOf('log_e_value', Float64Array), start);
    edges.affineScores.set(valuesOf('affine_score', Int32Array), start);
    edges.queryStarts.set(valuesOf('query_start', Uint16Array), start);
    edges.queryEnds.set(valuesOf('query_end', Uint16Array), start);
    edges.targetStarts.set(valuesOf('target_start', Uint16Array), start);
    edges.targetEnds.set(valuesOf('target_end', Uint16Array), start);
    for (let row = 0; row < rowCount; row += 1) {
      if (queries[row] < query || queries[row] >= targetCount) throw disordered(path, start + row);
      while (query < queries[row]) offsets[(query += 1)] = start + row;
      if (!isSound(start + row, query, offsets[query], edges, bounds)) throw disordered(path, start + row);
    }
  }
  if (end !== edgeCount) throw new Fault(`${path} does not have the ${edgeCount} edges of its card.`);
  offsets.fill(edgeCount, query + 1);
  return Object.freeze({ offsets, ...edges });
}

/** Whether an edge lies in the bounds, and behind the one before it in its row. */
function isSound(
  edge: number,
  query: number,
  rowStart: number,
  edges: EdgeColumns,
  bounds: GraphBounds,
): boolean {
  const { targetCount, limit, maxLogEValue } = bounds;
  const target = edges.targets[edge];
  const logEValue = edges.logEValues[edge];
  if (target >= targetCount || target === query || edge - rowStart >= limit) return false;
  // Not-a-number is in no order.
  if (!(logEValue <= maxLogEValue)) return false;
  if (edge > rowStart) {
    const before = edges.logEValues[edge - 1];
    if (before > logEValue || (before === logEValue && edges.targets[edge - 1] >= target)) return false;
  }
  return (
    edges.affineScores[edge] > 0 &&
    edges.queryStarts[edge] < edges.queryEnds[edge] &&
    edges.queryEnds[edge] <= bounds.lengthOf(query) &&
    edges.targetStarts[edge] < edges.targetEnds[edge] &&
    edges.targetEnds[edge] <= bounds.lengthOf(target)
  );
}

type NumberArray = Uint32Array | Float64Array | Int32Array | Uint16Array;

/** The columns of an edge file in the order of its schema. */
function orderedColumns(rows: EdgeColumns & { readonly queries: Uint32Array }): readonly NumberArray[] {
  return [
    rows.queries,
    rows.targets,
    rows.logEValues,
    rows.affineScores,
    rows.queryStarts,
    rows.queryEnds,
    rows.targetStarts,
    rows.targetEnds,
  ];
}

/** Returns a function that returns a column of a batch, if it has the type and misses no value. */
function columnReader(batch: TableBatch, path: string) {
  const { rowCount } = batch;
  return <Values extends NumberArray>(name: string, type: new () => Values): Values => {
    const { values, nullCount } = batch.column(name) as {
      readonly values: unknown;
      readonly nullCount: number;
    };
    if (nullCount === 0 && values instanceof type && values.length >= rowCount) {
      return values.subarray(0, rowCount) as Values;
    }
    throw new Fault(`${path} has another type of column ${name}.`);
  };
}

function disordered(path: string, edge: number): Fault {
  return new Fault(`${path} has an edge ${edge} out of its order or its bounds.`);
}
