import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../src/config.js';
import { addHomologSource, homologSourceDatabase } from '../../src/find-homologs/homolog-sources.js';
import { keepIndex } from '../../src/find-homologs/kept-index.js';
import { draw, readProteins, writeFasta, type BenchProtein } from '../tools/proteins.js';
import { searchWithMmseqs } from './mmseqs.js';
import { listFromSource } from './source.js';

/*
 * How many rows of whole proteins are chance? The source has all proteins and, of each, the reversed sequence, which is
 * no homolog. It has the length and the composition of its protein. About as many rows of proteins are chance as there
 * are rows of reversed sequences. The rows of our rounds of profiles begin from the protein alone here.
 */

const RULES = { maxEvalue: 1e-3, minCoverage: 0.5, maxSequences: 3_000 };
const ROUNDS = 3;
const SOURCE = 'with-reversed';
const REVERSED = 'reversed_';

/** @param options  path of the proteins, number of queries, first query */
export async function measureDecoys([fasta, count = '20', from = '0']: readonly (string | undefined)[]) {
  if (fasta === undefined) {
    console.log('Skipped: npm run bench -- msa decoys <FASTA> [proteins] [first protein]');
    return { skipped: 'no FASTA' };
  }
  const { list } = await readProteins(fasta);
  const queries = draw(list, Number(from) + Number(count)).slice(Number(from));
  const all = list.flatMap(({ id, sequence }) => [
    { id, sequence },
    { id: `${REVERSED}${id}`, sequence: [...sequence].reverse().join('') },
  ]);
  const folder = await mkdtemp(join(tmpdir(), 'gloaming-bench-decoys-'));
  try {
    const { threads } = loadConfig(process.env);
    const theirs = await searchWithMmseqs(queries, all, { ...RULES, rounds: ROUNDS }, folder);
    const path = join(folder, 'all.fasta');
    await writeFasta(path, all);
    const { mmseqs_version: version } = await addHomologSource(folder, SOURCE, [path]);
    await keepIndex(homologSourceDatabase(folder, SOURCE), version, { threads });
    const { homologs: ours } = await listFromSource(
      { indexesFolder: folder, threads },
      SOURCE,
      queries,
      RULES,
    );
    const ways = { mmseqs_3: countRows(queries, theirs), source: countRows(queries, ours) };
    console.table(ways);
    return { targets: list.length, queries: queries.length, ...ways };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Counts rows without the query itself, and prints the queries that have rows of reversed sequences. */
function countRows(queries: readonly BenchProtein[], lists: readonly (readonly { readonly id: string }[])[]) {
  let [proteins, reversed] = [0, 0];
  for (const [at, { id }] of queries.entries()) {
    const ids = [...new Set(lists[at].map((row) => row.id))].filter((other) => other !== id);
    const ofReversed = ids.filter((other) => other.startsWith(REVERSED)).length;
    if (ofReversed > 0) console.log(`${id}: ${ids.length - ofReversed} proteins, ${ofReversed} reversed`);
    proteins += ids.length - ofReversed;
    reversed += ofReversed;
  }
  return { proteins, reversed };
}
