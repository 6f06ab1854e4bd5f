// @module-tag fast

import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { cardPath, neighboursDirectory, neighboursId, type NeighboursCard } from '#src/neighbours/card.js';
import { createEdgesFile, readGraph, type GraphBounds } from '#src/neighbours/edges-file.js';
import {
  edgesPath,
  openNeighbours,
  readNeighboursCard,
  verifyNeighbours,
  writeNeighboursCard,
} from '#src/neighbours/sidecar.js';
import type { Release } from '#src/release/release.js';
import { edgeColumns, writeEdges, writeNeighbours, type GivenEdge } from '../tools/neighbours.js';

const folder = mkdtempSync(join(tmpdir(), 'gloaming-neighbours-'));
afterAll(() => rmSync(folder, { recursive: true }));

const LENGTH = 40;
const bounds: GraphBounds = {
  targetCount: 4,
  lengthOf: () => LENGTH,
  edgeCount: 4,
  limit: 3,
  maxLogEValue: Math.log(10),
};
const EDGES: readonly GivenEdge[] = [
  { query: 1, target: 3, log: -20 },
  { query: 1, target: 0, log: -1.5 },
  { query: 1, target: 2, log: -1.5 },
  { query: 3, target: 1, log: -19.5, end: LENGTH },
];

const written = (edges: readonly GivenEdge[]) => writeEdges(folder, edges);

it('a graph is read as it was written, with an empty row for each target without neighbours', async () => {
  const { path } = await written(EDGES);
  const graph = await readGraph(join(folder, path), bounds);
  expect([...graph.offsets]).toEqual([0, 0, 3, 3, 4]);
  expect([...graph.targets]).toEqual([3, 0, 2, 1]);
  expect([...graph.logEValues]).toEqual([-20, -1.5, -1.5, -19.5]);
  expect([...graph.affineScores]).toEqual([70, 70, 70, 70]);
  expect([...graph.queryStarts, ...graph.queryEnds]).toEqual([0, 0, 0, 0, 9, 9, 9, 40]);
  expect([...graph.targetStarts, ...graph.targetEnds]).toEqual([3, 3, 3, 3, 9, 9, 9, 9]);
});

it('a graph without any edge is a file, too', async () => {
  const { path } = await written([]);
  const graph = await readGraph(join(folder, path), { ...bounds, edgeCount: 0 });
  expect([...graph.offsets]).toEqual([0, 0, 0, 0, 0]);
});

it('the bytes of the edges do not depend on the pieces in which they were written', async () => {
  const count = 150_000;
  const edges = Array.from({ length: count }, (_, query): GivenEdge => ({
    query,
    target: query + 1,
    log: -query,
  }));
  const whole = await written(edges);
  const file = await createEdgesFile(join(folder, 'pieces.new'));
  for (const [start, end] of [
    [0, 7],
    [7, 100_000],
    [100_000, 100_000],
    [100_000, count],
  ] as const) {
    const { queries, columns } = edgeColumns(edges.slice(start, end));
    await file.add(queries, columns);
  }
  expect(await file.finish()).toEqual(whole);
  const graph = await readGraph(join(folder, whole.path), {
    ...bounds,
    targetCount: count + 1,
    edgeCount: count,
  });
  expect(graph.offsets[count]).toBe(count);
  expect(graph.logEValues[count - 1]).toBe(1 - count);
});

const UNSOUND: readonly [string, readonly GivenEdge[]][] = [
  ['a neighbour that is no target', [{ query: 1, target: 4, log: -1 }]],
  ['a query that is no target', [{ query: 4, target: 1, log: -1 }]],
  ['a protein as its own neighbour', [{ query: 1, target: 1, log: -1 }]],
  ['an E-value above the largest', [{ query: 1, target: 2, log: 2.4 }]],
  ['an E-value that is no number', [{ query: 1, target: 2, log: NaN }]],
  ['an alignment that ends behind its protein', [{ query: 1, target: 2, log: -1, end: LENGTH + 1 }]],
  ['an empty alignment', [{ query: 1, target: 2, log: -1, end: 0 }]],
  ['an alignment without a score', [{ query: 1, target: 2, log: -1, score: 0 }]],
  [
    'E-values out of order',
    [
      { query: 1, target: 2, log: -1 },
      { query: 1, target: 3, log: -2 },
    ],
  ],
  [
    'the same neighbour twice',
    [
      { query: 1, target: 2, log: -1 },
      { query: 1, target: 2, log: -1 },
    ],
  ],
  [
    'queries out of order',
    [
      { query: 2, target: 1, log: -1 },
      { query: 1, target: 2, log: -1 },
    ],
  ],
  ['more neighbours than the limit', [0, 1, 2].map((target) => ({ query: 3, target, log: target }))],
];

it.each(UNSOUND)('a file with %s is refused', async (_, edges) => {
  const { path } = await written(edges);
  const given = { ...bounds, limit: 2, edgeCount: edges.length };
  await expect(readGraph(join(folder, path), given)).rejects.toThrow('out of its order or its bounds');
});

it('a file with fewer or more edges than its card is refused', async () => {
  const { path } = await written(EDGES);
  for (const edgeCount of [3, 5]) {
    await expect(readGraph(join(folder, path), { ...bounds, edgeCount })).rejects.toThrow(
      `does not have the ${edgeCount} edges`,
    );
  }
});

it('a file that is no table is refused by one sentence', async () => {
  writeFileSync(join(folder, 'noise'), Buffer.alloc(4_096, 7));
  await expect(readGraph(join(folder, 'noise'), bounds)).rejects.toThrow('is no readable Arrow file');
});

const RELEASE_ID = `dbr_${'a'.repeat(64)}`;

/** A release folder of its own with a graph beside it. */
async function graphBeside(name: string): Promise<{ release: Release; card: NeighboursCard }> {
  const directory = join(folder, name, RELEASE_ID);
  const card = await writeNeighbours(directory, RELEASE_ID, 4, EDGES);
  const targets = { count: 4, length: () => LENGTH } as unknown as Release['targets'];
  return { release: { id: RELEASE_ID, directory, targets } as Release, card };
}

it('a graph beside its release is opened with the calibration that it was computed with', async () => {
  const { release, card } = await graphBeside('opened');
  const opened = await openNeighbours(release, 'calib_1');
  expect(opened?.id).toBe(neighboursId(card));
  expect([...opened!.graph.offsets]).toEqual([0, 0, 3, 3, 4]);
  expect(await openNeighbours(release, 'calib_2')).toBeUndefined();
  expect(await openNeighbours(release, undefined)).toBeUndefined();
  expect(await verifyNeighbours(release.directory, RELEASE_ID)).toEqual([]);
});

it('the id of a graph does not depend on the time that it took', async () => {
  const { card } = await graphBeside('timed');
  expect(neighboursId({ ...card, processor_seconds: 2 })).toBe(neighboursId(card));
  expect(neighboursId({ ...card, limit: 4 })).not.toBe(neighboursId(card));
});

it('a release without a graph has none to open and none to verify', async () => {
  const directory = join(folder, 'absent', RELEASE_ID);
  expect(await readNeighboursCard(directory)).toBeUndefined();
  expect(await verifyNeighbours(directory, RELEASE_ID)).toEqual([]);
});

it('a new card removes the edges of the one before it', async () => {
  const { release, card } = await graphBeside('renewed');
  const edges = await writeEdges(neighboursDirectory(release.directory), EDGES.slice(0, 3));
  await writeNeighboursCard(release.directory, { ...card, edges });
  expect(readdirSync(neighboursDirectory(release.directory)).sort()).toEqual(
    ['card.json', edges.path].sort(),
  );
});

it('every changed byte of card and edges is a finding', async () => {
  const { release, card } = await graphBeside('changed');
  const { directory } = release;
  const edges = edgesPath(directory, card);
  const bytes = readFileSync(edges);
  for (const at of [0, bytes.length >> 1, bytes.length - 1]) {
    const changed = Buffer.from(bytes);
    changed[at] ^= 1;
    writeFileSync(edges, changed);
    expect(await verifyNeighbours(directory, RELEASE_ID)).toEqual([`${basename(edges)} was changed`]);
  }
  rmSync(edges);
  expect(await verifyNeighbours(directory, RELEASE_ID)).toEqual([`${basename(edges)} is missing`]);
  await expect(openNeighbours(release, 'calib_1')).rejects.toThrow('it is missing');
  const text = readFileSync(cardPath(directory), 'utf8');
  writeFileSync(cardPath(directory), ` ${text}`);
  expect(await verifyNeighbours(directory, RELEASE_ID)).toEqual([`${cardPath(directory)} was changed.`]);
});

it('a card cannot name a file outside of its folder, nor more edges than the file has room for', async () => {
  const { release, card } = await graphBeside('hostile');
  await writeNeighboursCard(release.directory, { ...card, edges: { ...card.edges, path: '../secret' } });
  await expect(openNeighbours(release, 'calib_1')).rejects.toThrow('not by their digest');
  const { release: other, card: own } = await graphBeside('large');
  await writeNeighboursCard(other.directory, { ...own, counts: { ...own.counts, edges: 2 ** 31 } });
  await expect(openNeighbours(other, 'calib_1')).rejects.toThrow('too small for the 2147483648 edges');
});

it('a graph of another release is refused', async () => {
  const { release, card } = await graphBeside('foreign');
  await writeNeighboursCard(release.directory, { ...card, release_id: 'dbr_other' });
  await expect(openNeighbours(release, 'calib_1')).rejects.toThrow('belongs to release dbr_other');
  expect(await verifyNeighbours(release.directory, RELEASE_ID)).toEqual(['it belongs to release dbr_other']);
});
