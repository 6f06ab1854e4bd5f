import { existsSync } from 'node:fs';
import { appendFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { canonicalJson, sha256Hex } from '../../src/canonical.js';
import { seededRandom } from '../../src/random.js';
import { loadConfig } from '../../src/config.js';
import type { Bench } from '../main.js';
import { writeHomologSource } from '../tools/homolog-source.js';
import { foldOf, readLabels, type DomainLabel } from '../tools/labels.js';
import { hasNatural } from '../tools/natural.js';
import { readProteins, type BenchProtein } from '../tools/proteins.js';
import { RELATED_FOLDS, withConfirmed } from '../tools/truth.js';
import {
  CONFIRMING_RULE,
  eValueOf,
  evidenceText,
  inBothDirections,
  judgePairs,
  MEASURED_RULES,
  ratesOf,
  type JudgedPair,
} from './evidence.js';
import {
  alignHomologs,
  hasProfileTools,
  searchProfiles,
  writeDatabase,
  writeProfiles,
  writeSubset,
  type ProfileHit,
} from './hhsuite.js';
import {
  controlPairs,
  drawDomains,
  readCurated,
  suspectPairs,
  turnedPairs,
  type TestedPair,
} from './suspects.js';

/*
 * Tests which superfamilies of different SCOPe folds contain homologs of each other. A curator's list of suspects
 * (related-curated.tsv of the shared data) is confirmed pair by pair with profile-profile alignments, and the false
 * rate of the rule is measured on as many control pairs.
 *
 *   npm run bench -- related-folds [folder to keep] [--write]
 *
 * `--write` puts the confirmed pairs into bench/calibration/related-folds.tsv. The bench takes some half an hour of one
 * core. Files in the folder are reused, so that an aborted run continues.
 */

/** Largest E-value of a hit that is kept, and least probability and largest E-value of one searched in return. */
const KEPT_E = 10;
const RETURNED = { probability: 40, eValue: 1 };
/** Seed of the control pairs. */
const CONTROL_SEED = 31;

interface Session {
  readonly domains: readonly BenchProtein[];
  readonly labels: ReadonlyMap<string, DomainLabel>;
  readonly folder: string;
  /** Path prefix of the database of all drawn domains. */
  readonly database: string;
}

export const run: Bench = async (options) => {
  const [folderOption] = options.filter((option) => option !== '--write');
  const packageFolder = loadConfig(process.env).packageFolder;
  const data = join(process.env.GLOAMING_SHARED ?? join(packageFolder, '..', 'shared'), 'data');
  const list = join(data, 'related-curated.tsv');
  const hasData = existsSync(list) && (await hasNatural(join(data, 'natural')));
  if (!hasData || !(await hasProfileTools())) {
    console.log(
      'Skipped: it needs the shared data, xz, mmseqs and HH-suite (apt-get install mmseqs2 hhsuite).',
    );
    return { skipped: 'no data or no tools' };
  }
  const folder = folderOption ?? (await mkdtemp(join(tmpdir(), 'gloaming-bench-related-folds-')));
  await mkdir(folder, { recursive: true });
  try {
    const labels = readLabels(join(data, 'scope40', 'labels.tsv'));
    const { list: all } = await readProteins(join(data, 'scope40', 'domains.fasta'));
    const { pairs, drawn } = choosePairs(list, labels);
    const superfamilies = new Set(pairs.flatMap(({ query, target }) => [query, target]));
    const ids = new Set([...superfamilies].flatMap((superfamily) => drawn.get(superfamily)!));
    const domains = all.filter(({ id }) => ids.has(id));
    console.log(`${pairs.length} pairs of ${superfamilies.size} superfamilies, ${domains.length} domains`);
    const database = await prepareDatabase(domains, data, folder);
    const session: Session = { domains, labels, folder, database };
    const judged = await searchPairs(pairs, drawn, session);
    const figures = report(judged);
    const lines = judged(CONFIRMING_RULE)
      .filter(({ pair, evidence }) => !pair.origin.startsWith('control') && evidence.length > 0)
      .map((one) => ({ ...sorted(one), evidence: evidenceText(one) }));
    const path = join(packageFolder, RELATED_FOLDS);
    const text = withConfirmed(await readFile(path, 'utf8'), lines);
    await writeFile(options.includes('--write') ? path : join(folder, 'related-folds.tsv'), text);
    return figures;
  } finally {
    if (folderOption === undefined) await rm(folder, { recursive: true });
  }
};

/** Returns the tested pairs, control pairs included, and the drawn domains of each superfamily. */
function choosePairs(
  path: string,
  labels: ReadonlyMap<string, DomainLabel>,
): { readonly pairs: readonly TestedPair[]; readonly drawn: ReadonlyMap<string, readonly string[]> } {
  const drawn = drawDomains(labels);
  const sizeOf = (superfamily: string): number => drawn.get(superfamily)!.length;
  const groups = new Map([...labels.values()].map(({ superfamily, foldGroup }) => [superfamily, foldGroup]));
  const curated = readCurated(path);
  const named = new Set(
    curated.flatMap(({ sides }) => [sides.map(foldOf), sides.map(foldOf).reverse()]).map(String),
  );
  const isNamed = (one: string, other: string): boolean => named.has(String([foldOf(one), foldOf(other)]));
  const suspects = turnedPairs(suspectPairs(curated, labels), sizeOf);
  const random = seededRandom(CONTROL_SEED);
  const controls = controlPairs(suspects, (superfamily) => groups.get(superfamily)!, sizeOf, isNamed, random);
  return { pairs: [...suspects, ...controls], drawn };
}

/** Prepares homologs, profiles and a database of all drawn domains. */
async function prepareDatabase(
  domains: readonly BenchProtein[],
  data: string,
  folder: string,
): Promise<string> {
  const source = join(folder, 'background.fasta');
  if (!existsSync(source)) await writeHomologSource(data, 'whole', source);
  const digest = sha256Hex(canonicalJson(domains.map(({ id }) => id)));
  const alignments = await alignHomologs(domains, source, join(folder, `homologs-${digest.slice(0, 12)}`));
  await writeProfiles(domains, alignments, join(folder, 'profiles'));
  return writeDatabase(domains, join(folder, 'profiles'), join(folder, 'all'));
}

/** Searches all pairs in both directions. Returns the verdicts by rule. */
async function searchPairs(
  pairs: readonly TestedPair[],
  drawn: ReadonlyMap<string, readonly string[]>,
  session: Session,
): Promise<(rule: typeof CONFIRMING_RULE) => readonly JudgedPair[]> {
  const { labels } = session;
  const targetCount = labels.size;
  const superfamilyOf = (id: string): string => labels.get(id)!.superfamily;
  const partners = new Map<string, Set<string>>();
  for (const { query, target } of pairs) partners.set(query, (partners.get(query) ?? new Set()).add(target));
  const forwardTasks = [...partners].map(([query, targets]) => ({
    queries: drawn.get(query)!,
    targets: [...targets].flatMap((target) => drawn.get(target)!),
  }));
  const forward = await searchAll('forward', forwardTasks, session);
  const worth = forward.filter(
    (hit) => hit.probability >= RETURNED.probability && eValueOf(hit, targetCount) <= RETURNED.eValue,
  );
  const returns = new Map<string, string[]>();
  for (const { query, target } of worth) returns.set(target, [...(returns.get(target) ?? []), query]);
  const backwardTasks = [...returns].map(([query, targets]) => ({ queries: [query], targets }));
  const backward = await searchAll('backward', backwardTasks, session);
  const evidence = inBothDirections(worth, backward, targetCount);
  return (rule) => judgePairs(pairs, evidence, superfamilyOf, rule);
}

interface SearchTask {
  readonly queries: readonly string[];
  readonly targets: readonly string[];
}

/** Searches all tasks. A query with its hits is one line of a file, so that a later run skips it. */
async function searchAll(
  name: string,
  tasks: readonly SearchTask[],
  { folder, labels, database }: Session,
): Promise<readonly ProfileHit[]> {
  const digest = sha256Hex(canonicalJson(tasks.map(({ queries, targets }) => [queries, targets])));
  const path = join(folder, `${name}-${digest.slice(0, 12)}.jsonl`);
  const text = existsSync(path) ? await readFile(path, 'utf8') : '';
  const stored = text.split('\n').filter(Boolean);
  const byQuery = new Map(stored.map((line) => JSON.parse(line) as [string, readonly ProfileHit[]]));
  const total = tasks.reduce((sum, { queries }) => sum + queries.length, 0);
  const [scratch, subset] = [join(folder, `${name}.scores`), join(folder, `${name}-targets`)];
  let searched = 0;
  for (const [index, { queries, targets }] of tasks.entries()) {
    const left = queries.filter((query) => !byQuery.has(query));
    if (left.length > 0) await writeSubset(database, new Set(targets), subset);
    for (const query of left) {
      const hits = await searchProfiles(query, join(folder, 'profiles'), subset, scratch);
      const likely = hits.filter((hit) => eValueOf(hit, labels.size) <= KEPT_E);
      byQuery.set(query, likely);
      await appendFile(path, `${JSON.stringify([query, likely])}\n`);
    }
    searched += queries.length;
    if (index % 20 === 0) console.log(`${name}: ${searched} of ${total} profiles searched`);
  }
  return [...byQuery.values()].flat();
}

/** Prints the rates of each rule, and the control pairs that the confirming rule takes. Returns the rates as text. */
function report(
  judged: (rule: typeof CONFIRMING_RULE) => readonly JudgedPair[],
): Readonly<Record<string, unknown>> {
  const byRule = MEASURED_RULES.map((rule) => {
    const name = `probability >= ${rule.leastProbability} %, E <= ${rule.largestE}`;
    const rates = Object.entries(ratesOf(judged(rule))).map(([origin, { tested, confirmed }]) => {
      const share = ((100 * confirmed) / Math.max(1, tested)).toFixed(2);
      return [origin, `${confirmed} of ${tested} (${share} %)`] as const;
    });
    console.log(`\n${name}, in both directions: confirmed of tested pairs of superfamilies`);
    for (const [origin, rate] of rates) console.log(`  ${origin.padEnd(40)}${rate}`);
    return { rule, name, rates: Object.fromEntries(rates) };
  });
  console.log('\nControl pairs that the confirming rule takes:');
  for (const one of judged(CONFIRMING_RULE)) {
    if (!one.pair.origin.startsWith('control') || one.evidence.length === 0) continue;
    console.log(`  ${one.pair.query} ${one.pair.target}  ${evidenceText(one)}`);
  }
  const confirming = byRule.find(({ rule }) => rule === CONFIRMING_RULE)!;
  return {
    confirmed: { rule: confirming.name, ...confirming.rates },
    by_rule: Object.fromEntries(byRule.map(({ name, rates }) => [name, rates])),
  };
}

function sorted({ pair }: JudgedPair): { readonly one: string; readonly other: string } {
  const [one, other] = [pair.query, pair.target].sort();
  return { one, other };
}
