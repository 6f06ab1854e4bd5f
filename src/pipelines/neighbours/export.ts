import { Refusal } from '../../errors.js';
import { readNeighbours, type Neighbours } from '../../neighbours/sidecar.js';
import { openRelease } from '../../release/open.js';
import type { Release } from '../../release/release.js';
import { cellText, idText } from '../../services/export/fields.js';
import { xmlText } from '../../services/export/blast-xml.js';
import { NEIGHBOUR_COLUMNS, neighbourRows, type NeighbourRow } from '../../sql/neighbours.js';
import { writeNeighboursParquet } from '../../sql/snapshot/neighbours.js';
import type { LocatedRelease } from '../catalog.js';

export const NEIGHBOUR_FORMATS = ['tsv', 'parquet', 'abc', 'graphml'] as const;
export type NeighbourFormat = (typeof NEIGHBOUR_FORMATS)[number];

export interface NeighbourExport {
  readonly path: string;
  readonly format: NeighbourFormat;
}

/** Largest weight in a file for mcl, as mcl's own manual caps −log10 of an E-value. */
const ABC_MAX_WEIGHT = 200;

/**
 * Writes the graph of a release into a file, which gets its name when it is complete. Returns the number of its pairs.
 * @param writeText  writes the pieces of a text into a file
 * Errors  Refusal `export_not_possible` without a graph; Faults of damaged files; those of the file system
 */
export async function exportNeighbours(
  { slug, directory }: LocatedRelease,
  { path, format }: NeighbourExport,
  writeText: (pieces: Iterable<string>, path: string) => Promise<void>,
): Promise<number> {
  const release = await openRelease(directory);
  const neighbours = await readNeighbours(release);
  if (neighbours === undefined) {
    throw new Refusal(
      'export_not_possible',
      `${slug} has no neighbours: run "gloaming index neighbours ${slug}".`,
    );
  }
  let pairCount = neighbours.card.counts.edges;
  if (format === 'parquet') {
    await writeNeighboursParquet(path, release.targets, neighbours);
  } else if (format === 'abc') {
    pairCount = 0;
    const lines = TEXTS.abc(release, neighbours);
    await writeText(inPieces(each(lines, () => (pairCount += 1))), path);
  } else {
    await writeText(inPieces(TEXTS[format](release, neighbours)), path);
  }
  return pairCount;
}

/** Yields the values, and calls a function for each. */
function* each<Value>(values: Iterable<Value>, onValue: () => void): Generator<Value> {
  for (const value of values) {
    onValue();
    yield value;
  }
}

type Lines = (release: Release, neighbours: Neighbours) => Iterable<string>;

const TEXTS: Readonly<Record<Exclude<NeighbourFormat, 'parquet'>, Lines>> = {
  *tsv({ targets }, neighbours) {
    yield `${NEIGHBOUR_COLUMNS.map(({ name }) => name).join('\t')}\n`;
    for (const row of neighbourRows(targets, neighbours)) {
      yield `${NEIGHBOUR_COLUMNS.map(({ read }) => cellText(String(read(row)))).join('\t')}\n`;
    }
  },
  *abc({ targets }, neighbours) {
    for (const row of neighbourRows(targets, neighbours)) {
      const weight = weightOf(row);
      if (weight > 0) yield `${idText(row.queryId)}\t${idText(row.targetId)}\t${weight}\n`;
    }
  },
  *graphml({ targets }, neighbours) {
    yield GRAPHML_START;
    for (let target = 0; target < targets.count; target += 1) {
      yield `<node id="n${target}"><data key="label">${xmlText(targets.id(target))}</data></node>\n`;
    }
    for (const row of neighbourRows(targets, neighbours)) {
      const values = EDGE_KEYS.map(({ name, read }) => `<data key="${name}">${read(row)}</data>`).join('');
      yield `<edge source="n${row.queryIndex}" target="n${row.targetIndex}">${values}</edge>\n`;
    }
    yield '</graph>\n</graphml>\n';
  },
};

/** −log10 of the E-value with three decimals, so that more evidence is more weight. mcl takes positive weights only. */
function weightOf({ logEValue }: NeighbourRow): number {
  return Number(Math.min(ABC_MAX_WEIGHT, -logEValue / Math.LN10).toFixed(3));
}

const EDGE_KEYS = NEIGHBOUR_COLUMNS.filter(({ type }) => type !== 'string');

const GRAPHML_START = [
  '<?xml version="1.0" encoding="UTF-8"?>',
  '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">',
  '<key id="label" for="node" attr.name="label" attr.type="string"/>',
  ...EDGE_KEYS.map(
    ({ name, type }) =>
      `<key id="${name}" for="edge" attr.name="${name}" attr.type="${type === 'number' ? 'double' : 'int'}"/>`,
  ),
  '<graph edgedefault="directed">',
  '',
].join('\n');

const PIECE_CHARACTERS = 1 << 16;

/** Joins lines into pieces that are worth a write. */
export function* inPieces(lines: Iterable<string>): Generator<string> {
  let piece = '';
  for (const line of lines) {
    piece += line;
    if (piece.length < PIECE_CHARACTERS) continue;
    yield piece;
    piece = '';
  }
  yield piece;
}
