import type { ColabfoldSettings } from '../../config.js';
import type { ProteinRelative as ProteinHomolog } from '../../contract/runs/run-relatives.js';
import type { HomologyCandidate } from '../../contract/search/candidate-set.js';
import {
  COLABFOLD_ARCHIVE_MAX_BYTES,
  COLABFOLD_DIVERSE_ROWS,
  COLABFOLD_PAIRWISE_IDENTITY,
} from '../../limits.js';
import { evidenceOfPresented } from '../evidence.js';
import { hasRow } from '../msa/homolog-rows.js';
import type { MsaRow, PossibleRow } from '../msa/rows.js';
import { selectRows } from '../msa/select-rows.js';
import { Slice } from '../../turns.js';
import { homologRowOf, rowOf } from './rows.js';

/** The sequence of a query with the candidates of one database in order of rank, in pages. */
export interface Chain {
  readonly sequence: string;
  readonly candidates: AsyncIterable<readonly HomologyCandidate[]>;
  /** Its homologs in the homolog source of that database, nearest first. */
  readonly relatives: AsyncIterable<readonly ProteinHomolog[]>;
}

export type Rules = Pick<ColabfoldSettings, 'maxEvalue' | 'minCoverage' | 'maxSequences'>;

/** An alignment without the name that a client gives to its query, so that all tickets of a run share it. */
export interface Block {
  /** The sequence of the query, then the records of its rows. */
  readonly bytes: Buffer;
  /** Ends of the query's record and of each row's record in `bytes`, ascending. */
  readonly ends: readonly number[];
}

/** A query in a pair of chains: the client's name, the sequence, and the best protein of each species by taxid. */
export interface PairedChain {
  readonly name: string;
  readonly sequence: string;
  readonly best: ReadonlyMap<number, SpeciesRow>;
}

/** Ends every block, including the last one. */
const BLOCK_END = Buffer.from('\0');
/** Header of a row for a chain without a protein of the species. Protenix counts rows by their headers. */
const absentHeader = (taxid: number): string => `absent_${taxid}`;

/**
 * Returns the alignment of a query: the selected rows in order of E-value. A homolog that the database search found as
 * well has the row of that search. Rows beyond COLABFOLD_ARCHIVE_MAX_BYTES are omitted.
 * Errors  the signal's reason
 */
export async function unpairedBlock(
  { sequence, candidates, relatives: homologs }: Chain,
  rules: Rules,
  isFiltered: boolean,
  signal: AbortSignal,
): Promise<Block> {
  const possible: PossibleRow[] = [];
  const files = new Map<string, string>();
  let lastRank = 0;
  for await (const some of candidates) {
    signal.throwIfAborted();
    for (const candidate of some) {
      lastRank = candidate.rank;
      const row = passesRules(candidate, rules) ? rowOf(candidate, sequence) : undefined;
      if (row === undefined) continue;
      possible.push(row);
      files.set(candidate.target.id, candidate.target.sequence);
    }
  }
  for await (const some of homologs) {
    signal.throwIfAborted();
    for (const homolog of some) {
      lastRank += 1;
      if (!hasRow(homolog, files) && isNear(homolog, rules))
        possible.push(homologRowOf(homolog, sequence, lastRank));
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
  return blockOf(sequence, rows, signal);
}

/**
 * Pieces of a block under the name that the client gave to its query.
 * @param maxBytes  limit on the rows; later rows are omitted
 */
export function namedBlock(name: string, { bytes, ends }: Block, maxBytes: number): readonly Buffer[] {
  const beyond = ends.findIndex((end) => end - ends[0] > maxBytes);
  const end = beyond === -1 ? bytes.length : ends[beyond - 1];
  return [Buffer.from(`>${name}\n`), bytes.subarray(0, end), BLOCK_END];
}

/** The best protein of a species for a chain. */
export interface SpeciesRow {
  /** Place of the species for this chain, by E-value; those without E-values follow by distance. */
  readonly rank: number;
  readonly record: string;
}

/**
 * Blocks of equal depth, in pieces. The n-th rows of all chains are of one species, each the best protein of it for the
 * chain. Species of more chains come first, then those of smaller mean rank.
 * @param pairing `complete` selects species with a protein for every chain; `greedy`, with one for at least two chains
 * @param maxBytes of all blocks together; later rows are omitted
 * Errors  the signal's reason
 */
export async function pairedBlocks(
  chains: readonly PairedChain[],
  pairing: 'greedy' | 'complete',
  maxBytes: number,
  signal: AbortSignal,
): Promise<readonly Buffer[]> {
  const best = chains.map((chain) => chain.best);
  const least = pairing === 'complete' ? chains.length : Math.min(2, chains.length);
  const slice = new Slice();
  const ranked: { readonly taxid: number; readonly ranks: readonly number[] }[] = [];
  for (const taxid of new Set(best.flatMap((rows) => [...rows.keys()]))) {
    if (slice.isOver) await slice.pause();
    const ranks = best.flatMap((rows) => rows.get(taxid)?.rank ?? []);
    if (ranks.length >= least) ranked.push({ taxid, ranks });
  }
  const species = ranked.sort(
    (a, b) => b.ranks.length - a.ranks.length || mean(a.ranks) - mean(b.ranks) || a.taxid - b.taxid,
  );
  const rowsOfSpecies = species.slice(0, depthWithin(maxBytes, chains, species));
  const pieces: Buffer[] = [];
  for (const { name, sequence, best: rows } of chains) {
    pieces.push(Buffer.from(`>${name}\n${sequence}\n`));
    const gaps = '-'.repeat(sequence.length);
    for (const { taxid } of rowsOfSpecies) {
      if (slice.isOver) await slice.pause();
      signal.throwIfAborted();
      pieces.push(Buffer.from(rows.get(taxid)?.record ?? `>${absentHeader(taxid)}\n${gaps}\n`));
    }
    pieces.push(BLOCK_END);
  }
  return pieces;
}

/**
 * The best protein of each species for a chain, by taxid: that with the smallest E-value. Without E-values it is the
 * nearest one. Species beyond COLABFOLD_ARCHIVE_MAX_BYTES are omitted.
 * Errors  the signal's reason
 */
export async function bestOfSpecies(
  { sequence, candidates }: Pick<Chain, 'sequence' | 'candidates'>,
  rules: Rules,
  signal: AbortSignal,
): Promise<ReadonlyMap<number, SpeciesRow>> {
  const best = new Map<number, JudgedRow>();
  const slice = new Slice();
  let bytes = 0;
  for await (const some of candidates) {
    for (const candidate of some) {
      if (slice.isOver) await slice.pause();
      signal.throwIfAborted();
      const { taxid } = candidate.target.attributes;
      if (typeof taxid !== 'number' || !passesRules(candidate, rules)) continue;
      const known = best.get(taxid);
      const { logEValue = Infinity } = evidenceOfPresented(candidate);
      // Candidates come by distance, so that the nearest of equal E-values stays.
      if (known !== undefined && known.logEValue <= logEValue) continue;
      const written = rowOf(candidate, sequence)?.write();
      if (written === undefined) continue;
      const record = `>${written.header}\n${written.row}\n`;
      bytes += record.length - (known?.record.length ?? 0);
      if (bytes > COLABFOLD_ARCHIVE_MAX_BYTES) return inOrder(best);
      best.set(taxid, { logEValue, rank: candidate.rank, record });
    }
  }
  return inOrder(best);
}

interface JudgedRow extends SpeciesRow {
  readonly logEValue: number;
}

/** Gives each species its place by E-value, and by the given rank where E-values are equal or absent. */
function inOrder(best: ReadonlyMap<number, JudgedRow>): ReadonlyMap<number, SpeciesRow> {
  const compare = (a: JudgedRow, b: JudgedRow): number =>
    a.logEValue === b.logEValue ? a.rank - b.rank : a.logEValue - b.logEValue;
  const sorted = [...best].sort(([, a], [, b]) => compare(a, b));
  return new Map(sorted.map(([taxid, { record }], place) => [taxid, { rank: place + 1, record }]));
}

/** Number of rows of each block within the byte limit. */
function depthWithin(
  maxBytes: number,
  chains: readonly PairedChain[],
  species: readonly { readonly taxid: number }[],
): number {
  let bytes = 0;
  const beyond = species.findIndex(({ taxid }) => {
    for (const { sequence, best } of chains)
      bytes += best.get(taxid)?.record.length ?? sequence.length + absentHeader(taxid).length;
    return bytes > maxBytes;
  });
  return beyond === -1 ? species.length : beyond;
}

/** A candidate without a calibration has no E-value, and passes no bound on it. */
function passesRules({ alignment, significance }: HomologyCandidate, rules: Rules): boolean {
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

/** Errors  the signal's reason */
async function blockOf(sequence: string, rows: readonly MsaRow[], signal: AbortSignal): Promise<Block> {
  const slice = new Slice();
  const pieces = [Buffer.from(`${sequence}\n`)];
  let bytes = pieces[0].length;
  // The first end is that of the query, from which the size of the rows is counted.
  const ends = [bytes];
  for (const { header, row } of rows) {
    if (slice.isOver) await slice.pause();
    signal.throwIfAborted();
    const piece = Buffer.from(`>${header}\n${row}\n`);
    if (bytes - ends[0] + piece.length > COLABFOLD_ARCHIVE_MAX_BYTES) break;
    bytes += piece.length;
    pieces.push(piece);
    ends.push(bytes);
  }
  return { bytes: Buffer.concat(pieces), ends };
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
