import type { FilterField } from '../release/release.js';

/** A release as SQL sees it: its rows stand in one Parquet file. */
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
}

/** Parquet files of what an organization has done; one of each kind at least, without rows where there are none. */
export interface SqlRecords {
  readonly runs: readonly string[];
  readonly candidates: readonly string[];
  readonly usage: readonly string[];
}

/** All that one organization may read at one moment. Files are relative to the folder. */
export interface SqlWorld {
  readonly organizationId: string;
  readonly folder: string;
  readonly releases: readonly SqlRelease[];
  readonly records: SqlRecords;
}

/** Column of an attribute in the Parquet file: names of attributes may differ in case only, names of columns not. */
export function attributeColumn(index: number): string {
  return `attribute_${index}`;
}
