import { join } from 'node:path';
import { mkdir } from 'node:fs/promises';
import { canonicalJson } from '../canonical.js';
import { Fault } from '../errors.js';
import { valueId } from '../ids.js';
import { readCardFile, unknownFormat } from '../json/card.js';
import { neighboursDirectory } from '../neighbours/card.js';
import { replaceFile } from '../files.js';
import type { WalkParameters } from './weights.js';

/* The null of walks over the graph of a release: one card beside the graph. Member names are those on disk. */

export const WALKS_FORMAT = 'gloaming-walks/5';
/** Cards of other nulls. They count as missing. */
const EARLIER_FORMATS: readonly unknown[] = [1, 2, 3, 4].map((version) => `gloaming-walks/${version}`);
const WALKS_FILE = 'walks.json';

export interface WalksCard {
  readonly format: typeof WALKS_FORMAT;
  readonly release_id: string;
  readonly graph_id: string;
  readonly parameters: WalkParameters;
  /** Whether the proteins of the release have homologs, which decides which curve is the null. */
  readonly has_homologs: boolean;
  readonly seed: number;
  /** Reversed proteins whose walks were counted. */
  readonly reversed_count: number;
  /** Targets that they reached with at least a tenth of a certain hit's mass, together. */
  readonly reached_count: number;
  /** How much the curve of the null is raised. Range: 1 or more */
  readonly level: number;
}

/** A card with its digest, as in the file. */
interface SignedCard {
  readonly card: WalksCard;
  readonly id: string;
}

/**
 * Reads the null of walks over a graph. Returns undefined if there is none, or if it is of another graph or
 * of an earlier version.
 * Errors  Fault if the card cannot be read, was changed, or has an unknown format
 */
export async function readWalksCard(
  releaseDirectory: string,
  graphId: string,
): Promise<SignedCard | undefined> {
  const path = walksPath(releaseDirectory);
  const read = await readCardFile<SignedCard>(path, 'a card of walks');
  if (read === undefined) return undefined;
  const { card, id } = read.card ?? {};
  const format: string | undefined = card?.format;
  if (EARLIER_FORMATS.includes(format)) return undefined;
  if (card === undefined || format !== WALKS_FORMAT) throw unknownFormat(path, format, WALKS_FORMAT);
  if (read.text !== signedText(card)) throw new Fault(`${path} was changed.`);
  return card.graph_id === graphId ? { card, id } : undefined;
}

/**
 * Writes the null of walks beside the graph, and replaces an existing one.
 * Errors  those of the file system
 */
export async function writeWalksCard(releaseDirectory: string, card: WalksCard): Promise<void> {
  await mkdir(neighboursDirectory(releaseDirectory), { recursive: true });
  await replaceFile(walksPath(releaseDirectory), signedText(card));
}

function walksPath(releaseDirectory: string): string {
  return join(neighboursDirectory(releaseDirectory), WALKS_FILE);
}

/** Returns the only valid text of a card. Its digest detects every changed number. */
function signedText(card: WalksCard): string {
  return `${canonicalJson({ card, id: valueId('walks', card) })}\n`;
}
