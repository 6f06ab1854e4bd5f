import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { canonicalJson } from '../canonical.js';
import { Fault } from '../errors.js';
import { readCardFile, unknownFormat } from '../json/card.js';
import { replaceFile } from '../files.js';
import { hashFile } from '../release/hashed-file.js';
import type { Release } from '../release/release.js';
import {
  CARD_FILE,
  EDGES_FILE_NAME,
  NEIGHBOURS_FORMAT,
  cardPath,
  neighboursDirectory,
  neighboursId,
  type NeighboursCard,
} from './card.js';
import { readGraph, type GraphBounds } from './edges-file.js';
import type { NeighbourGraph } from './graph.js';

/** The graph of neighbours of a release, in memory. */
export interface Neighbours {
  /** `graph_…` */
  readonly id: string;
  readonly card: NeighboursCard;
  readonly graph: NeighbourGraph;
}

/**
 * Reads the card of a release's graph. Returns undefined if there is none.
 * Errors  Fault if the card cannot be read, was changed, or has an unknown format
 */
export async function readNeighboursCard(releaseDirectory: string): Promise<NeighboursCard | undefined> {
  const path = cardPath(releaseDirectory);
  const read = await readCardFile<NeighboursCard>(path, 'a card of neighbours');
  if (read === undefined) return undefined;
  const { card, text } = read;
  if (card?.format !== NEIGHBOURS_FORMAT) throw unknownFormat(path, card?.format, NEIGHBOURS_FORMAT);
  if (text !== cardText(card)) throw new Fault(`${path} was changed.`);
  return card;
}

type GraphRelease = Pick<Release, 'id' | 'directory' | 'targets'>;

/**
 * Opens the graph of a release. Returns undefined if there is none, or if it was computed with another calibration.
 * @param calibrationId  id of the release's calibration; undefined where it has none
 * Errors  those of `readNeighbours`
 */
export async function openNeighbours(
  release: GraphRelease,
  calibrationId: string | undefined,
): Promise<Neighbours | undefined> {
  const card = await readNeighboursCard(release.directory);
  if (card === undefined || card.calibration_id !== calibrationId) return undefined;
  return readNeighbours(release);
}

/**
 * Reads the graph of a release, whichever calibration it was computed with. Returns undefined if there is none.
 * Errors  Fault if the card is damaged or belongs to another release, or if a value of the edges is out of its bounds
 * Cost    a read of all edges: 24 bytes each in memory
 */
export async function readNeighbours({
  id,
  directory,
  targets,
}: GraphRelease): Promise<Neighbours | undefined> {
  const card = await readNeighboursCard(directory);
  if (card === undefined) return undefined;
  if (card.release_id !== id) {
    throw new Fault(`${neighboursDirectory(directory)} belongs to release ${card.release_id}, not ${id}.`);
  }
  const path = await checkedEdgesPath(directory, card);
  const graph = await readGraph(path, graphBounds(targets, card));
  return Object.freeze({ id: neighboursId(card), card, graph });
}

/** Bounds of the edges of a release's graph. */
export function graphBounds(
  targets: Release['targets'],
  { counts, limit, max_expected: maxExpected }: Pick<NeighboursCard, 'counts' | 'limit' | 'max_expected'>,
): GraphBounds {
  return {
    targetCount: targets.count,
    lengthOf: (target) => targets.length(target),
    edgeCount: counts.edges,
    limit,
    maxLogEValue: Math.log(maxExpected),
  };
}

/**
 * Writes the card of a graph whose edge file lies in the folder already, and replaces an existing one. Edge files that
 * the card does not name are removed.
 * Errors  those of the file system
 */
export async function writeNeighboursCard(releaseDirectory: string, card: NeighboursCard): Promise<void> {
  const folder = neighboursDirectory(releaseDirectory);
  await mkdir(folder, { recursive: true });
  await replaceFile(join(folder, CARD_FILE), cardText(card));
  for (const name of await readdir(folder)) {
    if (EDGES_FILE_NAME.test(name) && name !== card.edges.path) await rm(join(folder, name), { force: true });
  }
}

/**
 * Recomputes the digests of a release's graph. Returns a message for each problem; an empty list means that the graph
 * is intact or absent.
 * Errors  none for damaged or missing files
 */
export async function verifyNeighbours(
  releaseDirectory: string,
  releaseId: string,
): Promise<readonly string[]> {
  try {
    const card = await readNeighboursCard(releaseDirectory);
    if (card === undefined) return [];
    const { path, sha256 } = card.edges;
    const digest = await hashFile(edgesPath(releaseDirectory, card)).then(
      (hashed) => hashed.sha256,
      () => 'missing',
    );
    const problems = card.release_id === releaseId ? [] : [`it belongs to release ${card.release_id}`];
    if (digest === sha256) return problems;
    return [...problems, `${path} ${digest === 'missing' ? 'is missing' : 'was changed'}`];
  } catch (cause) {
    return [(cause as Error).message];
  }
}

/**
 * Returns the path of the edges that a card names.
 * Errors  Fault if the card does not name the file by its digest
 */
export function edgesPath(releaseDirectory: string, { edges }: NeighboursCard): string {
  const folder = neighboursDirectory(releaseDirectory);
  const { path, sha256 } = edges;
  if (EDGES_FILE_NAME.test(path) && path.includes(sha256)) return join(folder, path);
  throw new Fault(`The card in ${folder} names its edges by ${JSON.stringify(path)}, not by their digest.`);
}

/** Errors  Fault if the file is missing or has another size, so that no memory is taken for a wrong count */
async function checkedEdgesPath(directory: string, card: NeighboursCard): Promise<string> {
  const path = edgesPath(directory, card);
  const size = await stat(path).then(
    (status) => status.size,
    () => 'missing',
  );
  const { size_bytes: expected } = card.edges;
  if (size !== expected) throw new Fault(`${path} should have ${expected} bytes; it is ${size}.`);
  const { edges } = card.counts;
  if (Number.isSafeInteger(edges) && edges >= 0 && edges * EDGE_BYTES <= expected) return path;
  throw new Fault(`${path} is too small for the ${edges} edges of its card.`);
}

const EDGE_BYTES = 28;

/** Returns the only valid text of a card, so that every changed byte is detected. */
function cardText(card: NeighboursCard): string {
  return `${canonicalJson(card)}\n`;
}
