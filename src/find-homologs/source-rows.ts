import type { ApplianceConfig } from '../config.js';
import { Refusal } from '../errors.js';
import type { FindOptions } from '../homologs/finder.js';
import type { FoundHomolog, Homolog } from '../homologs/homolog-set.js';
import type { HomologRules } from '../homologs/rules.js';
import { findHomologSource, homologSourceDatabase } from './homolog-sources.js';
import { mmseqsVersion } from './mmseqs-process.js';
import { listByProfiles } from './source-profiles.js';

/** A protein, and the homologs known already. Those of small E-values make the first profile. */
export interface SourceQuery {
  readonly sequence: string;
  readonly homologs?: readonly Homolog[];
}

/**
 * Lists the homologs of a protein in a homolog source, in ascending order of E-value.
 * Errors  those of listByProfiles
 * @param limit  largest number of search hits to consider in each round
 */
export type ListSourceRows = (
  query: SourceQuery,
  limit: number,
  options?: FindOptions,
) => Promise<readonly FoundHomolog[]>;

/**
 * Returns a function that lists the homologs of a protein in a homolog source, in rounds of profiles.
 * Errors  Refusal `background_not_found`, `tool_missing`
 */
export async function openHomologRows(
  { indexesFolder, threads }: Pick<ApplianceConfig, 'indexesFolder' | 'threads'>,
  name: string,
  rules: Pick<HomologRules, 'maxEValue' | 'minCoverage'>,
): Promise<ListSourceRows> {
  const { version } = await requireSource(name, indexesFolder, `There is no homolog source ${name}. `);
  const source = { database: homologSourceDatabase(indexesFolder, name), version };
  return ({ sequence, homologs = [] }, limit, options = {}) =>
    listByProfiles({ sequence, homologs }, source, { ...rules, limit }, { threads, options });
}

/** Errors  Refusal `background_not_found` with the given sentence; `tool_missing` */
export async function requireSource(
  name: string,
  indexesFolder: string,
  missing: string,
): Promise<{ readonly sha256: string; readonly version: string }> {
  const homologSource = await findHomologSource(indexesFolder, name);
  if (homologSource === undefined) {
    throw new Refusal(
      'background_not_found',
      `${missing}"gloaming homolog-source add" makes a homolog source from FASTA files.`,
    );
  }
  const version = await mmseqsVersion();
  if (version === undefined) {
    throw new Refusal(
      'tool_missing',
      `The homolog source ${name} needs mmseqs, which is not installed here (Debian: apt-get install mmseqs2).`,
    );
  }
  return { sha256: homologSource.sha256, version };
}
