import type { FilterField } from '../release/release.js';

/** A release in SQL. One Parquet file holds its rows. */
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

/** Parquet files of an organization's runs, candidates and usage: at least one of each, which may have no rows. */
export interface SqlRecords {
  readonly runs: readonly string[];
  readonly candidates: readonly string[];
  readonly usage: readonly string[];
}

/** A snapshot of everything that one organization may read. File names are relative to the folder. */
export interface SqlWorld {
  readonly organizationId: string;
  readonly folder: string;
  readonly releases: readonly SqlRelease[];
  readonly records: SqlRecords;
}

/** Returns the column of an attribute. Attribute names can differ only in case, which column names must not. */
export function attributeColumn(index: number): string {
  return `attribute_${index}`;
}
