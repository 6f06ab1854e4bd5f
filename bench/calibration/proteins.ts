import { seededRandom, sampleDistinct } from '../../src/random.js';
import type { Appliance } from '../../src/appliance.js';
import { reversed } from '../../src/significance/control.js';
import { unfilteredSpace } from '../../src/release/filter/target-space.js';
import type { SearchEngine } from '../../src/search/search-types.js';
import { fastaFile, readFasta } from '../../src/sequence/fasta.js';
import { parseFastaHeader } from '../../src/sequence/fasta-header.js';
import { normaliseProtein } from '../../src/sequence/protein.js';
import { openCalibrated } from '../tools/calibrated-database.js';
import { logEValueOf } from '../tools/candidate-scores.js';
import { openWithHomologs } from '../tools/homologs.js';
import type { DomainLabel } from '../tools/labels.js';
import { membraneGroup } from '../tools/membrane.js';
import type { BenchProtein } from '../tools/proteins.js';
import { findConnections, type Connections, type NamedProtein } from './connections.js';
import { eachResult, wholeTargets } from './decoys.js';
import { createTally, curatedName, type Tally } from './tally.js';

/*
 * Measures how accurate E-values of natural multi-domain proteins are, by length and by membrane helices. A hit of a
 * natural query is false if no evidence of homology connects the pair (connections.ts). The curated rows also leave out
 * pairs with domains of related folds (tools/truth.ts). Every hit of a reversed query is false.
 *
 *   npm run bench -- calibration --proteins [queries per band] [targets] [folder to keep the database in] [homologs]
 *
 * With the last word, the proteins have homologs from a random sample of about 100,000 natural sequences.
 */

/** Upper ends of all length bands except the last. Unit: residues, exclusive */
const BAND_ENDS: readonly number[] = [150, 300, 600];
const FEWEST_RESIDUES = 30;
/** Number of reversed queries per natural query. */
const REVERSED_SHARE = 0.25;
const LISTED_PAIRS = 60;
const ALL = 'natural, all bands';
const NOT_FAINT = 'natural, without faint hits';

interface UnconnectedPair {
  readonly query: NamedProtein;
  readonly target: NamedProtein;
  readonly logEValue: number;
}

interface ProteinOptions {
  readonly bandCount: number;
  readonly targetCount: number;
  readonly withHomologs: boolean;
  /** Folder of the shared data. */
  readonly data: string;
}

/**
 * Runs the bench of natural whole proteins.
 * Errors  those of `findConnections`, `openCalibrated` and `searchMany`
 */
export async function benchProteins(
  appliance: Appliance,
  folder: string,
  fasta: string,
  scope: { readonly domains: readonly BenchProtein[]; readonly labels: ReadonlyMap<string, DomainLabel> },
  { bandCount, targetCount, withHomologs, data }: ProteinOptions,
): Promise<Readonly<Record<string, unknown>>> {
  const all = await readNamed(fasta);
  const targets = wholeTargets(all, targetCount);
  const chosen = new Set(targets.map(({ id }) => id));
  const queries = queriesByBand(
    all.filter(({ id }) => !chosen.has(id)),
    bandCount,
  );
  const connections = await findConnections({ queries, targets, all, ...scope, folder });
  const engine = withHomologs
    ? await openWithHomologs(appliance, targets, {
        kind: 'even',
        source: 'even',
        slug: 'relatives',
        data,
        folder,
      })
    : await openCalibrated(appliance, targets, 'whole', folder);
  const tally = createTally();
  const pairs = await tallyNatural(queries, targets, connections, engine, tally);
  const backwards = queries
    .filter((_, index) => index % Math.round(1 / REVERSED_SHARE) === 0)
    .map(({ id, sequence }) => ({ id, sequence: reversed(sequence) }));
  await tallyReversed(backwards, engine, tally);
  console.log(
    `\n${queries.length} queries, ${targets.length} targets: false hits observed ÷ claimed (claimed), by E-value`,
  );
  for (const line of tally.lines(targets.length)) console.log(line);
  console.log('\nThe best unconnected pairs: E-value, then length, name and folds of both');
  for (const line of pairLines(pairs, connections)) console.log(line);
  return { ratios: tally.ratios() };
}

async function readNamed(fasta: string): Promise<readonly NamedProtein[]> {
  const list: NamedProtein[] = [];
  for await (const { header, text } of readFasta(fastaFile(fasta))) {
    const { id, name = '' } = parseFastaHeader(header);
    list.push({ id, name, sequence: normaliseProtein(text).sequence });
  }
  return list;
}

/** Draws the same number of proteins from each band. */
function queriesByBand(from: readonly NamedProtein[], count: number): readonly NamedProtein[] {
  const usable = from.filter(({ sequence }) => sequence.length >= FEWEST_RESIDUES);
  return bandNames().flatMap((band) => {
    const members = usable.filter(({ sequence }) => bandOf(sequence.length) === band);
    return Array.from(sampleDistinct(members.length, count, seededRandom(13)), (index) => members[index]);
  });
}

function bandNames(): readonly string[] {
  return [0, ...BAND_ENDS].map(bandOf);
}

function bandOf(length: number): string {
  const at = BAND_ENDS.findIndex((end) => length < end);
  if (at === 0) return `under ${BAND_ENDS[0]}`;
  return at === -1 ? `${BAND_ENDS.at(-1)} and more` : `${BAND_ENDS[at - 1]} to ${BAND_ENDS[at] - 1}`;
}

/** Tallies natural queries. Returns the best unconnected pairs. */
async function tallyNatural(
  queries: readonly NamedProtein[],
  targets: readonly NamedProtein[],
  connections: Connections,
  engine: SearchEngine,
  tally: Tally,
): Promise<readonly UnconnectedPair[]> {
  const [named, byId] = [new Map(queries.map((query) => [query.id, query])), targetsById(targets)];
  const connectedCounts = { tools: 0, folds: 0, names: 0, any: 0 };
  let best: UnconnectedPair[] = [];
  await eachResult(queries, unfilteredSpace(engine.release), engine, ({ id }, candidates) => {
    const query = named.get(id)!;
    const { tools, folds, names } = connections.of(id);
    const connected = new Set([...tools, ...folds, ...names]);
    const sizes = { tools: tools.size, folds: folds.size, names: names.size, any: connected.size };
    for (const kind of Object.keys(sizes) as (keyof typeof sizes)[]) connectedCounts[kind] += sizes[kind];
    const { sequence } = query;
    const strata = [ALL, `natural, ${bandOf(sequence.length)}`, `natural, ${membraneGroup(sequence)}`];
    const related = connections.related(id);
    const share = (targets.length - connected.size) / targets.length;
    const curatedShare = (targets.length - new Set([...connected, ...related]).size) / targets.length;
    for (const stratum of [...strata, NOT_FAINT]) {
      tally.expect(stratum, share);
      tally.expect(curatedName(stratum), curatedShare);
    }
    for (const candidate of candidates) {
      const target = byId.get(engine.release.targets.id(candidate.targetIndex))!;
      const logEValue = logEValueOf(candidate);
      if (logEValue === undefined || connected.has(target.id)) continue;
      const counted = connections.isFaint(id, target.id) ? strata : [...strata, NOT_FAINT];
      for (const stratum of counted) {
        tally.observe(stratum, logEValue);
        if (!related.has(target.id)) tally.observe(curatedName(stratum), logEValue);
      }
      if (logEValue < 0) best.push({ query, target, logEValue });
    }
    best = best.sort((a, b) => a.logEValue - b.logEValue).slice(0, LISTED_PAIRS);
  });
  const pairCount = queries.length * targets.length;
  const shares = Object.entries(connectedCounts).map(
    ([kind, count]) => `${kind} ${((100 * count) / pairCount).toFixed(2)} %`,
  );
  console.log(`Connected pairs, of ${pairCount}: ${shares.join(', ')}`);
  return best;
}

function targetsById(targets: readonly NamedProtein[]): ReadonlyMap<string, NamedProtein> {
  return new Map(targets.map((target) => [target.id, target]));
}

async function tallyReversed(
  queries: readonly BenchProtein[],
  engine: SearchEngine,
  tally: Tally,
): Promise<void> {
  await eachResult(queries, unfilteredSpace(engine.release), engine, ({ sequence }, candidates) => {
    const strata = ['reversed, all bands', `reversed, ${bandOf(sequence.length)}`];
    for (const stratum of strata) tally.expect(stratum);
    for (const candidate of candidates) {
      for (const stratum of strata) tally.observe(stratum, logEValueOf(candidate) ?? Infinity);
    }
  });
}

function pairLines(pairs: readonly UnconnectedPair[], connections: Connections): readonly string[] {
  const words = ({ id, name, sequence }: NamedProtein): string =>
    `${id} ${sequence.length} ${name} [${connections.folds(id).join(' ')}]`;
  return pairs.map(
    ({ query, target, logEValue }) =>
      `  ${Math.exp(logEValue).toExponential(1)}  ${words(query)} | ${words(target)}`,
  );
}
