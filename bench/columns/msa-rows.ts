import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Appliance } from '../../src/appliance.js';
import { addHomologSource, homologSourceDatabase } from '../../src/find-homologs/homolog-sources.js';
import { keepIndex } from '../../src/find-homologs/kept-index.js';
import { searchEachRound } from '../../src/find-homologs/rounds.js';
import { extendedCigar, type FoundHomolog } from '../../src/homologs/homolog-set.js';
import { NORMALIZATION_ID } from '../../src/sequence/protein.js';
import { searchWithMmseqs } from '../msa/mmseqs.js';
import { roundSettings } from '../msa/round-settings.js';
import { foundInRounds, listFromSource } from '../msa/source.js';
import { openCalibrated } from '../tools/calibrated-database.js';
import { isOnPath } from '../tools/homology-peers.js';
import { readProteins, writeFasta, type BenchProtein } from '../tools/proteins.js';
import { alignWithHhblits } from './hhblits.js';
import { cigarColumns, recovery, type Columns, type ReferencePair } from './references.js';

/*
 * Are the columns of an alignment's rows correct? The first protein of each reference alignment searches all proteins
 * of the references and those of a FASTA file, with three rounds of each method. A row of another protein of the same
 * reference has a share of the reference's aligned residue pairs. A protein without a row has none of them.
 *
 *   rounds_3                ours, among the proteins of the references
 *   rounds_3_with_source    with the rows of a homolog source of all proteins
 *   mmseqs_3, jackhmmer_3   among all proteins
 *   hhblits_3               among clusters of all proteins (hhblits.ts)
 */

const execute = promisify(execFile);
const RULES = { maxEvalue: 1e-3, minCoverage: 0.5, maxSequences: 3_000 };
const ROUNDS = 3;
const SOURCE = 'all';

/** Columns of the rows of each query, by the id of the row's protein. */
type Rows = readonly ReadonlyMap<string, Columns>[];

/**
 * Measures the rows of all methods and prints a line for each.
 * Errors  those of the methods
 * @param background  path of a FASTA file
 */
export async function measureRows(
  pairs: readonly ReferencePair[],
  background: string,
  appliance: Appliance,
  folder: string,
): Promise<Readonly<Record<string, unknown>>> {
  const references = [
    ...new Map(pairs.flatMap(({ first, second }) => [first, second]).map((one) => [one.id, one])).values(),
  ];
  const chosen = firstPairs(pairs);
  const queries = [...new Map(chosen.map(({ first }) => [first.id, first])).values()];
  const all = [...references, ...(await readProteins(background)).list];
  console.log(`${queries.length} queries, ${chosen.length} pairs, ${all.length} proteins`);
  const { threads } = appliance.config;
  const engine = await openCalibrated(appliance, references, 'references', folder);
  const known: (readonly FoundHomolog[])[] = [];
  for (const { sequence } of queries) {
    const settings = roundSettings(engine, RULES.maxSequences, RULES.maxEvalue);
    const query = { sequence, normalizationId: NORMALIZATION_ID };
    const [results] = await searchEachRound([query], settings, ROUNDS, engine);
    known.push(foundInRounds(results, RULES.maxEvalue, engine));
  }
  const { indexesFolder } = appliance.config;
  const path = join(folder, 'all.fasta');
  await writeFasta(path, all);
  const { mmseqs_version: version } = await addHomologSource(indexesFolder, SOURCE, [path]);
  await keepIndex(homologSourceDatabase(indexesFolder, SOURCE), version, { threads });
  const sourceQueries = queries.map(({ sequence }, at) => ({ sequence, homologs: known[at] }));
  const { homologs } = await listFromSource(appliance.config, SOURCE, sourceQueries, RULES);
  const theirs = await searchWithMmseqs(queries, all, { ...RULES, rounds: ROUNDS }, folder);
  const ours = rowsOf(queries, known);
  const added = rowsOf(queries, homologs);
  const ways: Record<string, Rows> = {
    rounds_3: ours,
    rounds_3_with_source: ours.map((rows, at) => new Map([...added[at], ...rows])),
    mmseqs_3: theirs.map((list) => {
      const rows = list.map(
        ({ id, query_start: start, target_start: targetStart, cigar }) =>
          [id, cigarColumns(start, targetStart, cigar)] as const,
      );
      // Of several rows of one protein, the first has the least E-value.
      return new Map(rows.toReversed());
    }),
  };
  const deep = await alignWithJackhmmer(queries, all, folder);
  if (deep === undefined) console.log('jackhmmer skipped: apt-get install hmmer');
  else ways['jackhmmer_3'] = deep;
  const ofClusters = await alignWithHhblits(queries, all, { ...RULES, rounds: ROUNDS }, folder);
  if (ofClusters === undefined) console.log('hhblits skipped: apt-get install mmseqs2 hhsuite');
  else ways['hhblits_3'] = ofClusters;
  return { queries: queries.length, proteins: all.length, ...report(chosen, queries, ways) };
}

/** Pairs with the first protein of each reference alignment. */
function firstPairs(pairs: readonly ReferencePair[]): readonly ReferencePair[] {
  const alignmentOf = ({ set, first }: ReferencePair): string => `${set} ${first.id.split('-')[0]}`;
  const firsts = new Map<string, string>();
  for (const pair of pairs) {
    if (!firsts.has(alignmentOf(pair))) firsts.set(alignmentOf(pair), pair.first.id);
  }
  return pairs.filter((pair) => firsts.get(alignmentOf(pair)) === pair.first.id);
}

function rowsOf(queries: readonly BenchProtein[], lists: readonly (readonly FoundHomolog[])[]): Rows {
  return lists.map(
    (list, at) =>
      new Map(
        list
          .filter(({ coverage }) => coverage >= RULES.minCoverage)
          .map((homolog) => {
            const { id, start, targetStart } = homolog;
            const cigar = extendedCigar(homolog, queries[at].sequence);
            return [id, cigarColumns(start, targetStart, cigar)];
          }),
      ),
  );
}

/** Rows of jackhmmer's last alignments; undefined if it cannot be run. Errors  those of jackhmmer */
async function alignWithJackhmmer(
  queries: readonly BenchProtein[],
  all: readonly BenchProtein[],
  folder: string,
): Promise<Rows | undefined> {
  const path = (name: string): string => join(folder, `jackhmmer-${name}`);
  if (!(await isOnPath('jackhmmer'))) return undefined;
  await writeFasta(path('all'), all);
  const rows: ReadonlyMap<string, Columns>[] = [];
  for (const query of queries) {
    await writeFasta(path('query'), [{ ...query, id: 'query' }]);
    const bounds = ['-N', String(ROUNDS), '-E', String(RULES.maxEvalue), '--cpu', '1', '--noali'];
    const files = ['-A', path('rows'), '-o', '/dev/null', path('query'), path('all')];
    await execute('jackhmmer', [...bounds, ...files]);
    rows.push(columnsOfStockholm(await readFile(path('rows'), 'utf8'), query.sequence.length));
  }
  return rows;
}

/**
 * Columns of the rows of an alignment in Stockholm's format, whose first row is the query's. The name of each other row
 * ends with the places of its residues: `id/first-last`, from one.
 */
function columnsOfStockholm(text: string, queryLength: number): ReadonlyMap<string, Columns> {
  const letters = new Map<string, string>();
  for (const line of text.split('\n')) {
    const [name, part] = line.split(/\s+/);
    if (part === undefined || line.startsWith('#')) continue;
    letters.set(name, (letters.get(name) ?? '') + part);
  }
  const [query, ...others] = letters;
  const rows = new Map<string, Columns>();
  if (query === undefined) return rows;
  for (const [name, row] of others) {
    const [, id, first] = /^(.*)\/(\d+)-\d+$/.exec(name)!;
    const columns: [number, number][] = [];
    let [i, j] = [0, Number(first) - 1];
    for (let at = 0; at < row.length; at += 1) {
      const [hasQuery, hasOther] = [isResidue(query[1][at]), isResidue(row[at])];
      if (hasQuery && hasOther) columns.push([i, j]);
      i += hasQuery ? 1 : 0;
      j += hasOther ? 1 : 0;
    }
    const isBetter = columns.length > (rows.get(id)?.length ?? 0);
    if (isBetter && columns.length >= RULES.minCoverage * queryLength) rows.set(id, columns);
  }
  return rows;
}

function isResidue(letter: string): boolean {
  return letter !== '-' && letter !== '.';
}

/** Shares of pairs with a row, and of their residue pairs: over all pairs, and over those with rows of all methods. */
function report(
  pairs: readonly ReferencePair[],
  queries: readonly BenchProtein[],
  ways: Readonly<Record<string, Rows>>,
): Readonly<Record<string, unknown>> {
  const places = new Map(queries.map(({ id }, at) => [id, at]));
  const figures: Record<string, Record<string, unknown>> = {};
  for (const set of new Set(pairs.map((pair) => pair.set))) {
    const ofSet = pairs.filter((pair) => pair.set === set);
    const columnsOf = (rows: Rows, { first, second }: ReferencePair): Columns | undefined =>
      rows[places.get(first.id)!].get(second.id);
    const common = ofSet.filter((pair) => Object.values(ways).every((rows) => columnsOf(rows, pair)));
    const meanOf = (rows: Rows, some: readonly ReferencePair[]): number =>
      some.reduce((sum, pair) => sum + recovery(columnsOf(rows, pair) ?? [], pair.columns), 0) / some.length;
    const measured = Object.entries(ways).map(([name, rows]) => {
      const found = ofSet.filter((pair) => columnsOf(rows, pair)).length / ofSet.length;
      return [name, { found, columns: meanOf(rows, ofSet), of_common: meanOf(rows, common) }] as const;
    });
    console.log(`${set}: ${ofSet.length} pairs, ${common.length} of them have a row of every method`);
    console.table(Object.fromEntries(measured));
    figures[set] = { pairs: ofSet.length, common: common.length, ...Object.fromEntries(measured) };
  }
  return figures;
}
