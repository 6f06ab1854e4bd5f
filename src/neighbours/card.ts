import { join } from 'node:path';
import { Field, Float64, Int32, Schema, Uint16, Uint32 } from 'apache-arrow';
import { valueId } from '../ids.js';
import type { FileEntry, ReleaseManifest } from '../release/release.js';

/*
 * The graph of neighbours of a release, in the folder `<release id>.neighbours/` beside it:
 *
 *   card.json             NeighboursCard: provenance and counts, in canonical JSON.
 *   edges-<sha256>.arrow  a row per edge, by query and then by E-value; an uncompressed Arrow IPC file in batches of
 *                         EDGE_BATCH_ROWS rows, the last of which may be shorter. Its columns are in EDGES_SCHEMA.
 *
 * Queries and targets are indices in the order of the release. A graph is valid with one calibration only, because
 * E-values and the selection by them depend on it.
 */

export const NEIGHBOURS_FORMAT = 'gloaming-neighbours/1';
export const CARD_FILE = 'card.json';
/** Names of edge files. They contain the digest, so that a card cannot choose a path. */
export const EDGES_FILE_NAME = /^edges-[0-9a-f]{64}\.arrow$/;
/** Rows of a batch of the edge file: 2 MiB. */
export const EDGE_BATCH_ROWS = 65_536;

export const EDGES_SCHEMA = new Schema([
  new Field('query', new Uint32(), false),
  new Field('target', new Uint32(), false),
  new Field('log_e_value', new Float64(), false),
  new Field('affine_score', new Int32(), false),
  new Field('query_start', new Uint16(), false),
  new Field('query_end', new Uint16(), false),
  new Field('target_start', new Uint16(), false),
  new Field('target_end', new Uint16(), false),
]);

/** How a graph was computed. Member names are those on disk. */
export interface NeighboursCard {
  readonly format: typeof NEIGHBOURS_FORMAT;
  readonly release_id: string;
  readonly calibration_id: string;
  readonly encoder: Pick<ReleaseManifest['encoder'], 'id' | 'sha256'>;
  /** The policy that searched, and the card of its recall; null for the exhaustive policy. */
  readonly policy_id: string;
  readonly qualification_id: string | null;
  /** Most neighbours of one target, and the largest E-value of any. */
  readonly limit: number;
  readonly max_expected: number;
  readonly counts: {
    readonly targets: number;
    readonly edges: number;
    /** Targets without any neighbour. */
    readonly isolated: number;
  };
  readonly edges: FileEntry;
  /** Release whose graph gave candidates to rows of unchanged targets; null where every row was searched in full. */
  readonly extends: { readonly release_id: string; readonly graph_id: string } | null;
  /** Processor time of all searches, those of earlier sittings and of other machines included. Not part of the id. */
  readonly processor_seconds: number;
}

/** Returns the id of a graph. Equal graphs of equal provenance have one id, whatever time they took. */
export function neighboursId({ processor_seconds: _, ...card }: NeighboursCard): string {
  return valueId('graph', card);
}

/** Returns the folder of a release's graph. It lies beside the release, whose own bytes never change. */
export function neighboursDirectory(releaseDirectory: string): string {
  return `${releaseDirectory}.neighbours`;
}

export function cardPath(releaseDirectory: string): string {
  return join(neighboursDirectory(releaseDirectory), CARD_FILE);
}
