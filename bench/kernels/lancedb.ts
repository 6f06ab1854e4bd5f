import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { Field, FixedSizeList, Float32, Int32, List, Schema } from 'apache-arrow';
import { Fault } from '../../src/errors.js';
import type { QueryTokens, TokenSource } from '../../src/kernels/kernels.js';
import type { RuntimeSearch } from './peer.js';

/*
 * LanceDB's exact search over columns with many vectors a row. Its MaxSim has one direction, from the query to the
 * rows. Both directions therefore need 1 + targets searches: the query in a table of all targets, and each target in a
 * table with the query as its only row. Float32 dot products of integers are exact, so its sums equal ours. Its cosine
 * distance, the usual metric, takes 1.8 times as long as the dot products that are timed here.
 */

/**
 * Newest version that runs on Node 20. With its dependencies it takes 551 MB, so it is not a dependency of this
 * project.
 */
export const LANCEDB_PACKAGE = '@lancedb/lancedb@0.37.1';

/** The used part of the package. */
interface Lancedb {
  connect(uri: string): Promise<{
    createTable(name: string, rows: readonly TokenRow[], options: { schema: Schema }): Promise<Table>;
  }>;
}

interface TokenRow {
  readonly id: number;
  readonly tokens: readonly Float32Array[];
}

interface Table {
  vectorSearch(vectors: readonly Float32Array[]): VectorQuery;
}

interface VectorQuery {
  distanceType(type: 'dot'): VectorQuery;
  limit(count: number): VectorQuery;
  select(columns: readonly string[]): VectorQuery;
  toArray(): Promise<readonly { readonly id: number; readonly _distance: number }[]>;
}

export interface LancedbSearches {
  readonly both: RuntimeSearch;
  readonly queryToTarget: () => Promise<Int32Array>;
}

/**
 * Opens searches over tables in memory.
 * Errors  Fault if the package is not installed in the folder
 */
export async function openLancedb(
  folder: string,
  source: TokenSource,
  query: QueryTokens,
): Promise<LancedbSearches> {
  const { dimension, residueStarts } = source;
  if (!('values' in source.tokens)) throw new Fault('LanceDB needs tokens in memory.');
  const { values } = source.tokens;
  const targets = Array.from({ length: residueStarts.length - 1 }, (_, target) =>
    vectorsOf(values, residueStarts[target]!, residueStarts[target + 1]!, dimension),
  );
  const queryVectors = vectorsOf(query.values, 0, query.length, dimension);
  const database = await loadLancedb(folder).connect('memory://');
  const options = { schema: schemaOf(dimension) };
  const rows = targets.map((tokens, id) => ({ id, tokens }));
  const targetTable = await database.createTable('targets', rows, options);
  const queryTable = await database.createTable('query', [{ id: 0, tokens: queryVectors }], options);
  const queryToTarget = () => sumsOf(targetTable, queryVectors, targets.length);
  return {
    queryToTarget,
    both: async () => {
      const sums = { queryToTarget: await queryToTarget(), targetToQuery: new Int32Array(targets.length) };
      for (const [target, vectors] of targets.entries()) {
        sums.targetToQuery[target] = (await sumsOf(queryTable, vectors, 1))[0]!;
      }
      return sums;
    },
  };
}

function loadLancedb(folder: string): Lancedb {
  try {
    return createRequire(resolve(folder, 'package.json'))('@lancedb/lancedb') as Lancedb;
  } catch (cause) {
    throw new Fault(
      `${folder} does not contain LanceDB; run npm install --prefix ${folder} ${LANCEDB_PACKAGE}`,
      {
        cause,
      },
    );
  }
}

function schemaOf(dimension: number): Schema {
  const vector = new FixedSizeList(dimension, new Field('item', new Float32(), true));
  const tokens = new List(new Field('item', vector, true));
  return new Schema([new Field('id', new Int32(), false), new Field('tokens', tokens, false)]);
}

function vectorsOf(
  values: Int8Array,
  start: number,
  end: number,
  dimension: number,
): readonly Float32Array[] {
  return Array.from({ length: end - start }, (_, i) =>
    Float32Array.from(values.subarray((start + i) * dimension, (start + i + 1) * dimension)),
  );
}

/**
 * MaxSim sums by row id. A row's distance is 1 − Σ over the query's vectors of the largest dot product with one of the
 * row's vectors.
 */
async function sumsOf(table: Table, vectors: readonly Float32Array[], rowCount: number): Promise<Int32Array> {
  const query = table.vectorSearch(vectors).distanceType('dot').limit(rowCount);
  const sums = new Int32Array(rowCount);
  for (const { id, _distance: distance } of await query.select(['id', '_distance']).toArray())
    sums[id] = 1 - distance;
  return sums;
}
