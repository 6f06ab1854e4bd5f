import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { canonicalJson, sha256Hex } from '../../src/canonical.js';
import { addTo } from '../tools/groups.js';
import { PEERS } from '../tools/homology-peers.js';
import type { DomainLabel } from '../tools/labels.js';
import { readTruths } from '../tools/truth.js';
import { writeFasta, type BenchProtein } from '../tools/proteins.js';

/*
 * Finds the pairs of whole proteins that a tool, a fold or a name connects. No labels exist for whole proteins. All
 * other pairs count as unrelated.
 *
 * - tools: mmseqs in two rounds against all proteins, or blastp in either direction, finds one with the other.
 * - tools, too: both find the same third protein.
 * - folds: the profile of each finds domains of one fold group of SCOPe.
 * - names: both share a word that is not in COMMON_WORDS.
 *
 * A hit has E <= 0.001, so that chance connects almost no pair. A pair connected only by chance would not count as a
 * false hit of ours, and E-values would look better than they are.
 */

const run = promisify(execFile);
const HIT_E = 1e-3;
/** A direct hit with an E-value between HIT_E and this one is faint. Ratios are given with and without such pairs. */
const FAINT_E = 1;
const FEWEST_LETTERS = 4;
/** Words in the names of unrelated proteins: locations, unknown functions, conventions of naming. */
const COMMON_WORDS = new Set(
  (
    'protein proteins uncharacterized uncharacterised putative probable predicted hypothetical conserved unknown ' +
    'function family superfamily domain domains containing subunit component chain like type class alpha beta gamma ' +
    'delta epsilon small large associated related dependent specific binding system factor fragment homolog ' +
    'precursor plasmid chromosome membrane inner outer transmembrane integral periplasmic cytoplasmic plasma ' +
    'mitochondrial mitochondria nuclear chloroplastic exported secreted plasmodium region with from'
  ).split(' '),
);

const CONNECTION_KINDS = ['tools', 'folds', 'names'] as const;
export type ConnectionKind = (typeof CONNECTION_KINDS)[number];

export interface NamedProtein extends BenchProtein {
  readonly name: string;
}

/** Pairs of proteins with evidence of homology. */
export interface Connections {
  /** Returns the targets that are connected with the query, by kind of evidence. */
  of(queryId: string): Readonly<Record<ConnectionKind, ReadonlySet<string>>>;
  /** Returns the targets with a domain that the curated truth does not count as a false hit of one of the query. */
  related(queryId: string): ReadonlySet<string>;
  /** Returns whether a tool gives the pair an E-value between HIT_E and FAINT_E. */
  isFaint(queryId: string, targetId: string): boolean;
  /** Returns the SCOPe fold groups that were found in a protein. */
  folds(id: string): readonly string[];
}

export interface Connectable {
  readonly queries: readonly NamedProtein[];
  readonly targets: readonly NamedProtein[];
  /** Proteins that can connect two others by a hit of each. */
  readonly all: readonly NamedProtein[];
  readonly domains: readonly BenchProtein[];
  readonly labels: ReadonlyMap<string, DomainLabel>;
  readonly folder: string;
}

/**
 * Searches for evidence of homology between queries and targets.
 * Errors  those of mmseqs and blastp, which have to be installed
 */
export async function findConnections(connectable: Connectable): Promise<Connections> {
  const { queries, targets, labels } = connectable;
  const marks = { tools: createMarks(), folds: createMarks(), names: createMarks() };
  const faint = new Set<string>();
  for (const { id, name } of [...queries, ...targets]) {
    // A protein has its own id as a mark, and so has every protein that finds it: a hit is a shared mark.
    marks.tools.add(id, id);
    for (const word of wordsOf(name)) marks.names.add(id, word);
  }
  const addHit = ([query, target, eValue]: readonly string[]): void => {
    if (Number(eValue) <= HIT_E) marks.tools.add(query, target);
    else faint.add(`${query} ${target}`);
  };
  const searched = await searchWithMmseqs(connectable);
  for (const row of await readRows(join(searched, 'found.tsv'))) addHit(row);
  const [blastp] = PEERS;
  for (const [from, to] of [
    [queries, targets],
    [targets, queries],
  ]) {
    const hits = await blastp.search(from, to, searched, FAINT_E);
    for (const { queryId, targetId, eValue } of hits) addHit([queryId, targetId, String(eValue)]);
  }
  const labelsOf = new Map<string, Map<string, DomainLabel>>();
  for (const [id, domain] of await readRows(join(searched, 'domains.tsv'))) {
    const label = labels.get(domain)!;
    marks.folds.add(id, label.foldGroup);
    labelsOf.set(id, (labelsOf.get(id) ?? new Map<string, DomainLabel>()).set(label.superfamily, label));
  }
  const targetIds = new Set(targets.map(({ id }) => id));
  const { scope, curated } = readTruths();
  const isLeftOut = (a: DomainLabel, b: DomainLabel): boolean =>
    scope.kindOf(a, b) === 'false' && curated.kindOf(a, b) !== 'false';
  return {
    of: (id) => ({
      tools: marks.tools.sharing(id, targetIds),
      folds: marks.folds.sharing(id, targetIds),
      names: marks.names.sharing(id, targetIds),
    }),
    related: (id) => {
      const own = [...(labelsOf.get(id)?.values() ?? [])];
      const isRelated = (target: string): boolean =>
        [...(labelsOf.get(target)?.values() ?? [])].some((b) => own.some((a) => isLeftOut(a, b)));
      return new Set(own.length === 0 ? [] : [...targetIds].filter(isRelated));
    },
    isFaint: (query, target) => faint.has(`${query} ${target}`) || faint.has(`${target} ${query}`),
    folds: (id) => [...marks.folds.of(id)],
  };
}

/**
 * Searches all proteins with queries and targets (found.tsv), and the domains with their profiles (domains.tsv).
 * @returns the folder with both files; an existing one is reused, because the search takes longer than the rest
 */
async function searchWithMmseqs({ queries, targets, all, domains, folder }: Connectable): Promise<string> {
  const chosen = [...queries, ...targets];
  const digest = sha256Hex(canonicalJson(chosen.map(({ id }) => id)));
  const searched = join(folder, `connections-${digest.slice(0, 12)}`);
  if (existsSync(searched)) return searched;
  const work = `${searched}.work`;
  await mkdir(work, { recursive: true });
  const at = (name: string): string => join(work, name);
  const mmseqs = (...words: readonly string[]): Promise<unknown> => run('mmseqs', [...words, '-v', '1']);
  for (const [name, proteins] of Object.entries({ chosen, all, domains })) {
    await writeFasta(at(`${name}.fasta`), proteins);
    await mmseqs('createdb', at(`${name}.fasta`), at(name));
  }
  const sensitive = ['-s', '7.5', '--max-seqs', '500', '--threads', '1'];
  const rounds = ['--num-iterations', '2', '--e-profile', String(HIT_E), '-e', String(FAINT_E)];
  const columns = ['--format-output', 'query,target,evalue'];
  await mmseqs('search', at('chosen'), at('all'), at('found'), at('tmp'), ...sensitive, ...rounds);
  await mmseqs('convertalis', at('chosen'), at('all'), at('found'), at('found.tsv'), ...columns);
  await mmseqs(
    'result2profile',
    at('chosen'),
    at('all'),
    at('found'),
    at('profiles'),
    '--e-profile',
    String(HIT_E),
  );
  const hits = [...sensitive, '-e', String(HIT_E)];
  await mmseqs('search', at('profiles'), at('domains'), at('folds'), at('tmp'), ...hits);
  await mmseqs('convertalis', at('profiles'), at('domains'), at('folds'), at('domains.tsv'), ...columns);
  await rename(work, searched);
  return searched;
}

async function readRows(path: string): Promise<readonly (readonly string[])[]> {
  const text = await readFile(path, 'utf8');
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => line.split('\t'));
}

/** Returns the specific words of a protein name in lower case. */
export function wordsOf(name: string): readonly string[] {
  const words = name.toLowerCase().split(/[^a-z0-9]+/);
  return words.filter((word) => word.length >= FEWEST_LETTERS && !COMMON_WORDS.has(word));
}

/** Marks of proteins, such as words or fold groups. */
interface Marks {
  add(id: string, mark: string): void;
  of(id: string): ReadonlySet<string>;
  /** Returns the members of `others` that share a mark with this protein. */
  sharing(id: string, others: ReadonlySet<string>): ReadonlySet<string>;
}

/** Creates an empty index of marks, by protein and by mark. */
export function createMarks(): Marks {
  const [marksOf, bearersOf] = [new Map<string, Set<string>>(), new Map<string, Set<string>>()];
  const none: ReadonlySet<string> = new Set();
  return {
    add(id, mark) {
      addTo(marksOf, id, mark);
      addTo(bearersOf, mark, id);
    },
    of: (id) => marksOf.get(id) ?? none,
    sharing(id, others) {
      const sharing = new Set<string>();
      for (const mark of marksOf.get(id) ?? none) {
        for (const bearer of bearersOf.get(mark) ?? none) if (others.has(bearer)) sharing.add(bearer);
      }
      return sharing;
    },
  };
}
