// Written by config/client-types.mjs from config/openapi.json.
import type { Evidence, Provenance, Warning } from './shared.js';

export interface RefsRequest {
  /** Id, accession, name or slug; a beginning of it or a misspelt one will do. */
  readonly query: string;
  /** Things that are returned at most. Default: 20. */
  readonly limit?: number;
}

export interface RefsResolutionEnvelope {
  /** The operation succeeded. */
  readonly ok: true;
  readonly provenance: Provenance;
  readonly warnings: readonly Warning[];
  /** URL of the JSON Schema of this object. */
  readonly $schema: string;
  readonly data: RefsResolution;
  readonly evidence: Evidence;
}

export interface RefsResolution {
  readonly object: 'refs_resolution';
  /** The query, as it was sent. */
  readonly query: string;
  /** Best first; the order is the same every time. */
  readonly references: readonly Reference[];
  /**
   * Releases that were built before names were indexed: their targets are found by exact id only.
   * Build the database again to find them by name.
   */
  readonly unindexed_release_ids: readonly string[];
}

export interface Reference {
  readonly object: 'reference';
  /**
   * - `target`: a protein of the default release of a database
   * - `database`: a database, by slug, id or title
   * - `release`: a release, by id or title
   * - `run`: a run of the organization, by id or label
   * - `file`: a stored file that the key may read, by id or path
   */
  readonly kind: 'target' | 'database' | 'release' | 'run' | 'file';
  /** Id by which other routes take it; of a target, its id in the release. */
  readonly id: string;
  /** What people call it; the id where it has no name. */
  readonly name: string;
  /** What else is known of it: organism, path, state. */
  readonly description?: string;
  /**
   * - `exact`: the query is its id or one of its names
   * - `prefix`: one of them begins with the query
   * - `token`: every word of the query begins a word of them
   * - `similar`: its words are like those of the query
   */
  readonly match: 'exact' | 'prefix' | 'token' | 'similar';
  /** 1 where query and name are the same; orders things of one kind of match. */
  readonly similarity: number;
  /** Database of a target or release. */
  readonly database_slug?: string;
  /** Release of a target. */
  readonly database_release_id?: string;
}
