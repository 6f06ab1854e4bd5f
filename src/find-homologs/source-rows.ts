import type { ApplianceConfig } from '../config.js';
import { Refusal } from '../errors.js';
import type { ListHomologs } from '../homologs/finder.js';
import { HOMOLOG_RULES, type HomologRules } from '../homologs/rules.js';
import { MSA_MAX_ROUNDS, MSA_PROFILE_EXPECTED_FALSE_HITS } from '../limits.js';
import { findHomologSource, homologSourceDatabase } from './homolog-sources.js';
import { mmseqsVersion } from './mmseqs-process.js';
import { mmseqsHomologs } from './mmseqs.js';

/**
 * Returns a function that lists the homologs of a protein in a homolog source, in MSA_MAX_ROUNDS rounds of mmseqs.
 * Errors  Refusal `background_not_found`, `tool_missing`; those of the function are those of mmseqsHomologs
 */
export async function openHomologRows(
  { indexesFolder, threads }: Pick<ApplianceConfig, 'indexesFolder' | 'threads'>,
  name: string,
  { maxEValue, minCoverage }: Pick<HomologRules, 'maxEValue' | 'minCoverage'>,
): Promise<ListHomologs> {
  const { version } = await requireSource(name, indexesFolder, `There is no homolog source ${name}. `);
  const source = {
    database: homologSourceDatabase(indexesFolder, name),
    rounds: MSA_MAX_ROUNDS,
    version,
    profileMaxEValue: MSA_PROFILE_EXPECTED_FALSE_HITS,
  };
  return mmseqsHomologs(source, { ...HOMOLOG_RULES, maxEValue, minCoverage }, threads).list;
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
