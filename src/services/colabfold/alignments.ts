import type { ColabfoldSettings } from '../../config.js';
import type { ProteinRelative as ProteinHomolog } from '../../contract/runs/run-relatives.js';
import type { HomologyCandidate } from '../../contract/search/candidate-set.js';
import { COLABFOLD_DIVERSE_ROWS, COLABFOLD_PAIRWISE_IDENTITY } from '../../limits.js';
import type { PossibleRow } from '../msa/rows.js';
import { selectRows } from '../msa/select-rows.js';
import { homologRow, rowOf } from './rows.js';

/** One query of a ticket with the candidates of one database in order of rank, in pages. */
export interface Chain {
  readonly name: string;
  readonly sequence: string;
  readonly candidates: AsyncIterable<readonly HomologyCandidate[]>;
  /** Its homologs in the homolog source of that database, nearest first. */
  readonly relatives: AsyncIterable<readonly ProteinHomolog[]>;
}

export type Rules = Pick<ColabfoldSettings, 'maxEvalue' | 'minCoverage' | 'maxSequences'>;

/** Ends every block, including the last one. */
const BLOCK_END = '\0';
/** Header of a row for a chain without a protein of the species. Protenix counts rows by their headers. */
const absentHeader = (taxid: number): string => `absent_${taxid}`;

/**
 * Returns the alignment block of a query: the query under the client's name, then the selected rows in order of
 * E-value. A homolog that the database search found as well has the row of that search.
 * @param maxBytes  size limit; later rows are omitted
 * Errors  the signal's reason
 */
export async function unpairedBlock(
  { name, sequence, candidates, relatives: homologs }: Chain,
  rules: Rules,
  isFiltered: boolean,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Buffer> {
  const possible: PossibleRow[] = [];
  const found = new Map<string, string>();
  let lastRank = 0;
  for await (const some of candidates) {
    for (const candidate of some) {
      lastRank = candidate.rank;
      const row = isKept(candidate, rules) ? rowOf(candidate, sequence) : undefined;
      if (row === undefined) continue;
      possible.push(row);
      found.set(candidate.target.id, candidate.target.sequence);
    }
  }
  for await (const some of homologs) {
    for (const homolog of some) {
      lastRank += 1;
      const isFound = found.get(homolog.id)?.includes(homolog.residues) ?? false;
      if (!isFound && isNear(homolog, rules)) possible.push(homologRow(homolog, sequence, lastRank));
    }
  }
  const { rows } = await selectRows(
    possible,
    sequence,
    {
      maximum_depth: rules.maxSequences + 1,
      minimum_query_coverage_ratio: rules.minCoverage,
      minimum_sequence_identity_ratio: 0,
      maximum_sequence_identity_ratio: 1,
      maximum_pairwise_identity_ratio: isFiltered ? COLABFOLD_PAIRWISE_IDENTITY : 1,
      ...(isFiltered && { diverse_row_count: COLABFOLD_DIVERSE_ROWS }),
      selection: 'rank',
      sort: 'evalue',
    },
    signal,
  );
  const records = rows.map(({ header, row }) => `>${header}\n${row}\n`);
  return blockOf(name, sequence, records, maxBytes);
}

/** The best protein of a species for a chain. */
interface SpeciesRow {
  readonly rank: number;
  readonly record: string;
}

/**
 * Blocks of equal depth. The n-th rows of all chains are of one species, each the best protein of it for the chain.
 * Species of more chains come first, then those of smaller mean rank.
 * @param pairing `complete` selects species with a protein for every chain; `greedy`, with one for at least two chains
 * @param maxBytes of all blocks together; later rows are omitted
 * Errors  the signal's reason
 */
export async function pairedBlocks(
  chains: readonly Chain[],
  rules: Rules,
  pairing: 'greedy' | 'complete',
  maxBytes: number,
): Promise<readonly Buffer[]> {
  const best: Map<number, SpeciesRow>[] = [];
  for (const chain of chains) best.push(await bestOfSpecies(chain, rules));
  const least = pairing === 'complete' ? chains.length : Math.min(2, chains.length);
  const species = [...new Set(best.flatMap((rows) => [...rows.keys()]))]
    .map((taxid) => ({ taxid, ranks: best.flatMap((rows) => rows.get(taxid)?.rank ?? []) }))
    .filter(({ ranks }) => ranks.length >= least)
    .sort((a, b) => b.ranks.length - a.ranks.length || mean(a.ranks) - mean(b.ranks) || a.taxid - b.taxid);
  const depth = depthWithin(maxBytes, chains, species, best);
  return chains.map(({ name, sequence }, at) => {
    const gaps = '-'.repeat(sequence.length);
    const records = species
      .slice(0, depth)
      .map(({ taxid }) => best[at].get(taxid)?.record ?? `>${absentHeader(taxid)}\n${gaps}\n`);
    return blockOf(name, sequence, records, Infinity);
  });
}

async function bestOfSpecies(
  { sequence, candidates }: Chain,
  rules: Rules,
): Promise<Map<number, SpeciesRow>> {
  const best = new Map<number, SpeciesRow>();
  for await (const some of candidates) {
    for (const candidate of some) {
      const { taxid } = candidate.target.attributes;
      if (typeof taxid !== 'number' || best.has(taxid) || !isKept(candidate, rules)) continue;
      const written = rowOf(candidate, sequence)?.write();
      if (written === undefined) continue;
      best.set(taxid, { rank: candidate.rank, record: `>${written.header}\n${written.row}\n` });
    }
  }
  return best;
}

/** Number of rows of each block within the byte limit. */
function depthWithin(
  maxBytes: number,
  chains: readonly Chain[],
  species: readonly { readonly taxid: number }[],
  best: readonly Map<number, SpeciesRow>[],
): number {
  let bytes = 0;
  const beyond = species.findIndex(({ taxid }) => {
    for (const [at, { sequence }] of chains.entries())
      bytes += best[at].get(taxid)?.record.length ?? sequence.length + absentHeader(taxid).length;
    return bytes > maxBytes;
  });
  return beyond === -1 ? species.length : beyond;
}

/** A candidate without a calibration has no E-value, and passes no bound on it. */
function isKept({ alignment, significance }: HomologyCandidate, rules: Rules): boolean {
  if (alignment === undefined || alignment.cigar === '') return false;
  const { expected_false_hits = Infinity } = significance.measurements;
  return isNear({ expected_false_hits, query_coverage_ratio: alignment.query_coverage_ratio }, rules);
}

function isNear(
  row: Pick<ProteinHomolog, 'expected_false_hits' | 'query_coverage_ratio'>,
  { maxEvalue, minCoverage }: Rules,
): boolean {
  const isSure = maxEvalue === null || row.expected_false_hits <= maxEvalue;
  return isSure && row.query_coverage_ratio >= minCoverage;
}

function blockOf(name: string, sequence: string, records: readonly string[], maxBytes: number): Buffer {
  let bytes = 0;
  const beyond = records.findIndex((record) => (bytes += record.length) > maxBytes);
  const kept = beyond === -1 ? records : records.slice(0, beyond);
  return Buffer.from([`>${name}\n${sequence}\n`, ...kept, BLOCK_END].join(''));
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
