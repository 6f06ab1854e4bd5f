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
 * Whole natural proteins with labels derived from searches. A protein has the superfamilies of the dev domains that
 * mmseqs finds in it with E ≤ LABEL_E. It has no dev domain if neither a label nor a search connects it with one
 * (`clean`). The proteins are one per cluster at 50 % identity, from collections of genomes.
 */

const run = promisify(execFile);
const WHOLE = /gapseq|prokka|CFdb-searches|PPanGGOLiN|Open_Orthobench/;
const RESIDUES = { fewest: 100, most: 1_000 };
/** Largest E-value of a domain that labels a protein. */
const LABEL_E = 1e-10;
const LABEL_COVERAGE = 0.8;
/** Upper bound of the targets per superfamily. Without it large superfamilies would dominate. */
const MOST_OF_SUPERFAMILY = 25;

export interface LabelledProteins {
  readonly targets: readonly BenchProtein[];
  /** Ids of the targets with a domain of each dev superfamily. */
  readonly bySuperfamily: ReadonlyMap<string, ReadonlySet<string>>;
  /** Ids of the targets that mmseqs finds with each domain at E ≤ LABEL_E. Any tool finds these. */
  readonly byDomain: ReadonlyMap<string, ReadonlySet<string>>;
}

/**
 * Draws labelled targets. Half of them have a dev domain, if there are enough; the others have none.
 * @param natural  folder of the natural sequences
 * @param dev      domains of folds that no encoder was trained on
 * Errors  those of xz, mmseqs and the file system
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
  const hits = await findDomains(dev, candidates);
  const [superfamiliesOf, byDomain] = [new Map<string, Set<string>>(), new Map<string, Set<string>>()];
  for (const [domain, protein] of hits) {
    addTo(superfamiliesOf, protein, labels.get(domain)!.superfamily);
    addTo(byDomain, domain, protein);
  }
  const bySuperfamily = new Map<string, Set<string>>();
  const chosen: BenchProtein[] = [];
  for (const protein of shuffled(candidates, random)) {
    const superfamilies = [...(superfamiliesOf.get(protein.id) ?? [])];
    const isNeeded = superfamilies.some((one) => (bySuperfamily.get(one)?.size ?? 0) < MOST_OF_SUPERFAMILY);
    if (!isNeeded || chosen.length >= targetCount / 2) continue;
    chosen.push(protein);
    for (const one of superfamilies) addTo(bySuperfamily, one, protein.id);
  }
  const others = await readThose(join(natural, 'clean.fasta.xz'), screened.clean);
  const targets = [...chosen, ...shuffled(others, random).slice(0, targetCount - chosen.length)];
  return { targets, bySuperfamily, byDomain };
}

/** Returns the ids of cluster representatives that are whole proteins, connected with dev or with no label. */
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

/** Searches proteins with domains by mmseqs. Returns pairs of a domain id and a protein id. */
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
