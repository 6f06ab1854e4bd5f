import { RETAINED_MAX_CANDIDATES } from '../../src/limits.js';
import { seededRandom, sampleDistinct } from '../../src/random.js';
import { unfilteredSpace } from '../../src/release/filter/target-space.js';
import type { Appliance } from '../../src/appliance.js';
import type { TargetSpace } from '../../src/release/release.js';
import { searchMany } from '../../src/search/search.js';
import type { Candidate, SearchEngine } from '../../src/search/search-types.js';
import { repeatProbabilities } from './repeats.js';
import { openCalibrated } from '../tools/calibrated-database.js';
import { logEValueOf } from '../tools/candidate-scores.js';
import { readProteins, type BenchProtein } from '../tools/proteins.js';
import { quartileOf } from '../tools/labels.js';
import { createTally, type Tally } from './tally.js';

/*
 * Measures how accurate E-values of whole proteins are. The queries are reversed and shuffled proteins, so that every
 * hit is false. Whole proteins cause more false hits than domains, by low complexity, repeats and coiled coils.
 *
 *   npm run bench -- calibration --decoys [queries] [targets] [folder to keep the database in]
 */

const CHUNK = 10;
const FEWEST_RESIDUES = 30;
/** An E-value at which no false hit is expected in all queries. Hits below it are errors of the extrapolated tail. */
const FAR_BELOW = 1e-6;

/** Least share of repeated residues of a query in the stratum with repeats. */
const REPEATED_SHARE = 0.05;

/** Reversed and shuffled sequences by kind. They have no homologs, so that every hit is false. */
export type Decoys = Readonly<Record<string, readonly BenchProtein[]>>;

/** Reverses and shuffles the queries. */
export function decoysOf(queries: readonly BenchProtein[]): Decoys {
  const random = seededRandom(2);
  const shuffle = (sequence: string): string => {
    const order = Array.from(sequence, (letter) => ({ letter, key: random.next() }));
    return order
      .sort((a, b) => a.key - b.key)
      .map(({ letter }) => letter)
      .join('');
  };
  const changed = (change: (sequence: string) => string): readonly BenchProtein[] =>
    queries.map(({ id, sequence }) => ({ id, sequence: change(sequence) }));
  return {
    'reversed queries': changed((sequence) => [...sequence].reverse().join('')),
    'shuffled queries': changed(shuffle),
  };
}

/**
 * Searches exhaustively and without a cut-off, and passes the candidates of each query to `take`: those of all targets,
 * or the nearest 10,000 of more.
 * Errors  those of `searchMany`
 */
export async function eachResult(
  queries: readonly BenchProtein[],
  targetSpace: TargetSpace,
  engine: SearchEngine,
  take: (query: BenchProtein, candidates: readonly Candidate[]) => void,
): Promise<void> {
  const settings = {
    targetSpace,
    limit: Math.min(RETAINED_MAX_CANDIDATES, Math.max(1, targetSpace.searchedTargetCount)),
    evidence: 'candidate_measurement',
    guarantee: 'exhaustive',
    significance: 'if_available',
  } as const;
  for (let start = 0; start < queries.length; start += CHUNK) {
    const chunk = queries.slice(start, start + CHUNK);
    const batch = chunk.map(({ sequence }) => ({ sequence, normalizationId: 'gloaming-protein/1' }));
    const results = await searchMany(batch, settings, engine);
    results.forEach(({ candidates }, index) => take(chunk[index], candidates));
  }
}

/**
 * Runs the bench of decoys of whole proteins against a calibrated database of whole proteins.
 * Errors  those of `openCalibrated` and `searchMany`
 */
export async function benchDecoys(
  appliance: Appliance,
  folder: string,
  fasta: string,
  { queryCount, targetCount }: { readonly queryCount: number; readonly targetCount: number },
): Promise<Readonly<Record<string, unknown>>> {
  const { list, source } = await readProteins(fasta);
  const targets = wholeTargets(list, targetCount);
  const usable = list.filter(({ sequence }) => sequence.length >= FEWEST_RESIDUES);
  const queries = pick(usable, queryCount, 11);
  const engine = await openCalibrated(appliance, targets, 'whole', folder);
  const tally = createTally();
  const far: Record<string, number> = {};
  for (const [kind, decoys] of Object.entries(decoysOf(queries))) {
    far[kind] = await tallyByLength(kind, decoys, engine, tally);
  }
  console.log(
    `\n${queries.length} queries (${source}), ${targets.length} targets: false hits observed ÷ claimed, by E-value`,
  );
  for (const line of tally.lines(targets.length)) console.log(line);
  const pairs = queries.length * targets.length;
  for (const [kind, count] of Object.entries(far)) {
    console.log(
      `  ${kind}: ${count} of ${pairs} pairs at E <= ${FAR_BELOW}, claimed ${queries.length * FAR_BELOW}`,
    );
  }
  return { ratios: tally.ratios(), far_below: { threshold: FAR_BELOW, pairs, found: far } };
}

/** Draws the targets of the benches of whole proteins. All use the same targets, and so one calibrated database. */
export function wholeTargets<Protein extends BenchProtein>(
  list: readonly Protein[],
  count: number,
): readonly Protein[] {
  return pick(list, count, 7);
}

function pick<Protein>(from: readonly Protein[], count: number, seed: number): readonly Protein[] {
  return Array.from(sampleDistinct(from.length, count, seededRandom(seed)), (index) => from[index]);
}

/** Returns the share of residues that belong to a repeat. Range: 0..1 */
function repeatedShare(sequence: string): number {
  return repeatProbabilities(sequence).filter((probability) => probability >= 0.5).length / sequence.length;
}

/** Tallies decoys by length and repeats. Returns the number of hits with E ≤ FAR_BELOW. */
async function tallyByLength(
  kind: string,
  decoys: readonly BenchProtein[],
  engine: SearchEngine,
  tally: Tally,
): Promise<number> {
  const lengths = decoys.map(({ sequence }) => sequence.length).sort((a, b) => a - b);
  const [change] = kind.split(' ');
  for (const quartile of [1, 2, 3, 4]) tally.expect(`${change}, length quartile ${quartile}`, 0);
  let farCount = 0;
  await eachResult(decoys, unfilteredSpace(engine.release), engine, ({ sequence }, candidates) => {
    const strata = [
      kind,
      `${change}, length quartile ${quartileOf(sequence.length, lengths) + 1}`,
      ...(repeatedShare(sequence) >= REPEATED_SHARE ? [`${change}, with repeats`] : []),
    ];
    for (const stratum of strata) tally.expect(stratum);
    for (const candidate of candidates) {
      const log = logEValueOf(candidate);
      if (log === undefined) continue;
      if (log <= Math.log(FAR_BELOW)) farCount += 1;
      for (const stratum of strata) tally.observe(stratum, log);
    }
  });
  return farCount;
}
