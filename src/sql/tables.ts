import type { FilterField } from '../release/release.js';

/** A release with its Parquet file. */
export interface SqlRelease {
  readonly slug: string;
  readonly databaseId: string;
  readonly releaseId: string;
  readonly isDefault: boolean;
  readonly isSimulated: boolean;
  readonly title: string;
  readonly description: string;
  readonly encoderId: string;
  readonly publishedAt: string;
  readonly targetCount: number;
  readonly residueCount: number;
  readonly fields: readonly FilterField[];
  readonly file: string;
  /** Absent where the release has no graph of neighbours. */
  readonly neighbours?: SqlNeighbours;
}

/** The Parquet file of a release's graph of neighbours, and the calibration of its E-values. */
export interface SqlNeighbours {
  readonly calibrationId: string;
  readonly file: string;
}

/**
 * Parquet files of runs, candidates and usage of an organization. Each kind has at least one file, which may have no
 * rows.
 */
export interface SqlRecords {
  readonly runs: readonly string[];
  readonly candidates: readonly string[];
  readonly usage: readonly string[];
}

/** Snapshot: everything that one organization may read at one moment. File names are relative to the folder. */
export interface SqlTables {
  readonly organizationId: string;
  readonly folder: string;
  readonly releases: readonly SqlRelease[];
  readonly records: SqlRecords;
}

/** Column of an attribute in the Parquet file. Attribute names may differ only in case, column names may not. */
export function attributeColumn(index: number): string {
  return `attribute_${index}`;
}
