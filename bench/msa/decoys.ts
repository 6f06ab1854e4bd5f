import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../src/config.js';
import { addHomologSource, homologSourceDatabase } from '../../src/find-homologs/homolog-sources.js';
import { keepIndex } from '../../src/find-homologs/kept-index.js';
import { seededRandom } from '../../src/random.js';
import { draw, readProteins, writeFasta, type BenchProtein } from '../tools/proteins.js';
import { searchWithMmseqs } from './mmseqs.js';
import { listFromSource } from './source.js';

/*
 * How many rows of whole proteins are chance? The source has all proteins and, of each, a decoy, which is no homolog:
 * its residues in the same windows of ten, but in random order. About as many rows of proteins are chance as there are
 * rows of decoys. The rows of our rounds of profiles begin from the protein alone here. Reversed sequences would be no
 * decoys for them, because a reversed profile is their control.
 */

const RULES = { maxEvalue: 1e-3, minCoverage: 0.5, maxSequences: 3_000 };
const ROUNDS = 3;
const SOURCE = 'with-decoys';
const DECOY = 'decoy_';
const SEED = 41;

/** @param options  path of the proteins, number of queries, first query */
export async function measureDecoys([fasta, count = '20', from = '0']: readonly (string | undefined)[]) {
  if (fasta === undefined) {
    console.log('Skipped: npm run bench -- msa decoys <FASTA> [proteins] [first protein]');
    return { skipped: 'no FASTA' };
  }
  const { list } = await readProteins(fasta);
  const queries = draw(list, Number(from) + Number(count)).slice(Number(from));
  const random = seededRandom(SEED);
  const shuffled = (sequence: string): string =>
    sequence.replaceAll(/.{1,10}/g, (window) => {
      const rest = [...window];
      return Array.from(window, () => rest.splice(random.below(rest.length), 1)[0]).join('');
    });
  const all = list.flatMap(({ id, sequence }) => [
    { id, sequence },
    { id: `${DECOY}${id}`, sequence: shuffled(sequence) },
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

/** Counts rows without the query itself, and prints the queries that have rows of decoys. */
function countRows(queries: readonly BenchProtein[], lists: readonly (readonly { readonly id: string }[])[]) {
  let [proteins, decoys] = [0, 0];
  for (const [at, { id }] of queries.entries()) {
    const ids = [...new Set(lists[at].map((row) => row.id))].filter((other) => other !== id);
    const ofDecoys = ids.filter((other) => other.startsWith(DECOY)).length;
    if (ofDecoys > 0) console.log(`${id}: ${ids.length - ofDecoys} proteins, ${ofDecoys} decoys`);
    proteins += ids.length - ofDecoys;
    decoys += ofDecoys;
  }
  return { proteins, decoys };
}
