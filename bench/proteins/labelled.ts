import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { seededRandom, type Random } from '../../src/random.js';
import { addTo } from '../tools/groups.js';
import { linesOf, readCompressed } from '../tools/natural.js';
import type { DomainLabel } from '../tools/labels.js';
import { writeFasta, type BenchProtein } from '../tools/proteins.js';

/*
 * Whole natural proteins and what is known to be in them. No one labelled them: a protein has the superfamilies of the
 * dev domains that mmseqs finds in it beyond doubt, and none of dev where neither a label nor a search connects it with
 * a dev domain (`clean`). One of each cluster at 50 % identity, of collections of genomes, not of alignments.
 */

const run = promisify(execFile);
const WHOLE = /gapseq|prokka|CFdb-searches|PPanGGOLiN|Open_Orthobench/;
const RESIDUES = { fewest: 100, most: 1_000 };
/** Beyond doubt. */
const LABEL_E = 1e-10;
const LABEL_COVERAGE = 0.8;
/** Large superfamilies would be most of it. */
const MOST_OF_SUPERFAMILY = 25;

export interface LabelledProteins {
  readonly targets: readonly BenchProtein[];
  /** Ids of the targets that have a domain of each superfamily of dev. */
  readonly bySuperfamily: ReadonlyMap<string, ReadonlySet<string>>;
  /** Ids of the targets that mmseqs finds by each domain, beyond doubt: any tool does. */
  readonly byDomain: ReadonlyMap<string, ReadonlySet<string>>;
}

/**
 * Half of the targets have a dev domain, as far as there are so many; the others have none.
 * @param natural  folder of the natural sequences
 * @param dev      domains of folds that nothing was trained on
 */
export async function labelledProteins(
  natural: string,
  dev: readonly BenchProtein[],
  labels: ReadonlyMap<string, DomainLabel>,
  targetCount: number,
): Promise<LabelledProteins> {
  const random = seededRandom(23);
  const screened = await representatives(natural);
  const candidates = await readThose(join(natural, 'screened-out.fasta.xz'), screened.dev);
  const found = await findDomains(dev, candidates);
  const [superfamiliesOf, byDomain] = [new Map<string, Set<string>>(), new Map<string, Set<string>>()];
  for (const [domain, protein] of found) {
    addTo(superfamiliesOf, protein, labels.get(domain)!.superfamily);
    addTo(byDomain, domain, protein);
  }
  const bySuperfamily = new Map<string, Set<string>>();
  const chosen: BenchProtein[] = [];
  for (const protein of shuffled(candidates, random)) {
    const superfamilies = [...(superfamiliesOf.get(protein.id) ?? [])];
    const isWanted = superfamilies.some((one) => (bySuperfamily.get(one)?.size ?? 0) < MOST_OF_SUPERFAMILY);
    if (!isWanted || chosen.length >= targetCount / 2) continue;
    chosen.push(protein);
    for (const one of superfamilies) addTo(bySuperfamily, one, protein.id);
  }
  const others = await readThose(join(natural, 'clean.fasta.xz'), screened.clean);
  const targets = [...chosen, ...shuffled(others, random).slice(0, targetCount - chosen.length)];
  return { targets, bySuperfamily, byDomain };
}

/** Ids of one whole protein of each cluster, of those connected with dev, and of those connected with nothing. */
async function representatives(
  natural: string,
): Promise<{ readonly dev: ReadonlySet<string>; readonly clean: ReadonlySet<string> }> {
  const ids = { dev: new Set<string>(), clean: new Set<string>() };
  for await (const line of linesOf(join(natural, 'meta.tsv.xz'))) {
    const [id, length, cluster, screen, , , source] = line.split('\t');
    if (id !== cluster || !WHOLE.test(source)) continue;
    if (Number(length) < RESIDUES.fewest || Number(length) > RESIDUES.most) continue;
    if (screen === 'dev' || screen === 'clean') ids[screen].add(id);
  }
  return ids;
}

async function readThose(path: string, ids: ReadonlySet<string>): Promise<readonly BenchProtein[]> {
  const list: BenchProtein[] = [];
  for await (const protein of readCompressed(path)) if (ids.has(protein.id)) list.push(protein);
  return list;
}

/** Pairs of domain and protein. */
async function findDomains(
  domains: readonly BenchProtein[],
  proteins: readonly BenchProtein[],
): Promise<readonly (readonly [string, string])[]> {
  const folder = await mkdtemp(join(tmpdir(), 'gloaming-bench-domains-'));
  const at = (name: string): string => join(folder, name);
  try {
    await writeFasta(at('domains.fasta'), domains);
    await writeFasta(at('proteins.fasta'), proteins);
    const files = [at('domains.fasta'), at('proteins.fasta'), at('found.tsv'), at('tmp')];
    const covered = ['--cov-mode', '2', '-c', String(LABEL_COVERAGE)];
    const sensitive = ['-s', '7.5', '-e', String(LABEL_E), '--max-seqs', '10000', '-v', '1'];
    const columns = ['--format-output', 'query,target'];
    await run('mmseqs', ['easy-search', ...files, ...covered, ...sensitive, ...columns]);
    const lines = (await readFile(at('found.tsv'), 'utf8')).split('\n').filter(Boolean);
    return lines.map((line) => line.split('\t') as [string, string]);
  } finally {
    await rm(folder, { recursive: true });
  }
}

function shuffled<Item>(list: readonly Item[], random: Random): readonly Item[] {
  const order = [...list];
  for (let at = order.length - 1; at > 0; at -= 1) {
    const other = random.below(at + 1);
    [order[at], order[other]] = [order[other], order[at]];
  }
  return order;
}
