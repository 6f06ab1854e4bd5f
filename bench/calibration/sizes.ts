import { openCalibration } from '../../src/significance/sidecar.js';
import { sampleDistinct, seededRandom } from '../../src/random.js';
import type { Appliance } from '../../src/appliance.js';
import { unfilteredSpace } from '../../src/release/filter/target-space.js';
import type { SearchEngine } from '../../src/search/search-types.js';
import { calibrateBench } from '../tools/calibrated-database.js';
import { buildBenchDatabase } from '../tools/database.js';
import { logEValueOf } from '../tools/candidate-scores.js';
import type { DomainLabel } from '../tools/labels.js';
import { readProteins, type BenchProtein } from '../tools/proteins.js';
import { median, percentile } from '../tools/statistics.js';
import { readTruths } from '../tools/truth.js';
import { eachResult } from './decoys.js';
import { createDomainTally, createTally } from './tally.js';

/*
 * Measures what the size of a database does to E-values.
 *
 * - Nested databases of whole proteins: time from a finished build to E-values, and bit scores of the same pairs. A bit
 *   score should belong to the pair, whatever else the database holds.
 * - Small databases of labelled domains, several draws of each size: observed false hits against claimed ones.
 *
 *   npm run bench -- calibration --sizes [folder to keep databases in] [sizes of nested databases, with commas between]
 *                                        [draws of each size of domains] [queries of each draw]
 */

/** E-value up to which a pair in the largest database counts as found. */
const FOUND_E = 1e-3;
const NESTED_QUERIES = 60;
/** Sizes of the databases of domains. */
const DRAWN_SIZES: readonly number[] = [300, 1_000, 3_000];

export interface SizesOptions {
  /** FASTA file of whole proteins. */
  readonly fasta: string;
  readonly domains: readonly BenchProtein[];
  readonly labels: ReadonlyMap<string, DomainLabel>;
  /** Sizes of the nested databases; those above the number of proteins take all proteins. */
  readonly sizes: readonly number[];
  readonly drawCount: number;
  readonly queryCount: number;
}

/**
 * Runs the bench of sizes.
 * Errors  those of `buildBenchDatabase`, `calibrateBench` and `searchMany`
 */
export async function benchSizes(
  appliance: Appliance,
  folder: string,
  options: SizesOptions,
): Promise<Readonly<Record<string, unknown>>> {
  const nested = await benchNested(appliance, folder, options);
  const draws = await benchDraws(appliance, folder, options);
  return { nested, draws };
}

/** A calibrated database and the processor time that its calibration took. Unit: seconds */
interface Calibrated {
  readonly engine: SearchEngine;
  readonly seconds: number;
}

/** Builds or reuses the database, and calibrates it anew, so that each run measures the time. */
async function openAndCalibrate(
  appliance: Appliance,
  targets: readonly BenchProtein[],
  slug: string,
  folder: string,
): Promise<Calibrated> {
  const plain = await buildBenchDatabase(appliance, targets, slug, folder);
  const { release } = plain;
  const before = process.cpuUsage();
  await calibrateBench(appliance, plain);
  const { user, system } = process.cpuUsage(before);
  const calibration = await openCalibration(release.directory, {
    id: release.id,
    targetCount: release.targets.count,
  });
  return { engine: { ...plain, calibration }, seconds: (user + system) / 1e6 };
}

async function benchNested(
  appliance: Appliance,
  folder: string,
  { fasta, sizes }: SizesOptions,
): Promise<Readonly<Record<string, unknown>>> {
  const { list } = await readProteins(fasta);
  const largestFirst = [...new Set(sizes.map((size) => Math.min(size, list.length)))].sort((a, b) => b - a);
  const parts = nestedParts(list, largestFirst);
  const queries = drawn(parts.at(-1)!, NESTED_QUERIES, 13);
  const seconds: Record<string, number> = {};
  const bitsBySize: ReadonlyMap<string, number>[] = [];
  let found = new Set<string>();
  for (const [place, part] of parts.entries()) {
    const calibrated = await openAndCalibrate(appliance, part, `nested-${part.length}`, folder);
    seconds[part.length] = calibrated.seconds;
    console.log(
      `${part.length} proteins: E-values after ${calibrated.seconds.toFixed(1)} s of processor time`,
    );
    const { bits, found: foundHere } = await bitScores(queries, calibrated.engine);
    if (place === 0) found = foundHere;
    bitsBySize.push(bits);
  }
  const differences: number[] = [];
  for (const pair of found) {
    const bits = bitsBySize.flatMap((scores) => scores.get(pair) ?? []);
    if (bits.length === bitsBySize.length) differences.push(Math.max(...bits) - Math.min(...bits));
  }
  const figures = {
    pairs: differences.length,
    median_bits: differences.length === 0 ? undefined : median(differences),
    most_bits_of_95_percent: differences.length === 0 ? undefined : percentile(differences, 0.95),
  };
  console.log(
    `${differences.length} pairs with E <= ${FOUND_E} in the largest database and with both proteins in the smallest:`,
  );
  console.log(
    `  largest difference of bit scores: median ${figures.median_bits}, 95 % ${figures.most_bits_of_95_percent}`,
  );
  return { seconds, ...figures };
}

/** Returns parts of the list, each drawn from the one before. */
function nestedParts(
  list: readonly BenchProtein[],
  largestFirst: readonly number[],
): readonly BenchProtein[][] {
  const parts: BenchProtein[][] = [];
  for (const size of largestFirst) parts.push(drawn(parts.at(-1) ?? list, size, 7));
  return parts;
}

function drawn(list: readonly BenchProtein[], count: number, seed: number): BenchProtein[] {
  return Array.from(sampleDistinct(list.length, count, seededRandom(seed)), (index) => list[index]);
}

/** Returns the bit score of each pair, and the pairs that are found. A pair is named by query and target. */
async function bitScores(
  queries: readonly BenchProtein[],
  engine: SearchEngine,
): Promise<{ readonly bits: ReadonlyMap<string, number>; readonly found: Set<string> }> {
  const bits = new Map<string, number>();
  const found = new Set<string>();
  await eachResult(queries, unfilteredSpace(engine.release), engine, (query, candidates) => {
    for (const { targetIndex, significance } of candidates) {
      if (significance.kind !== 'supported') continue;
      const pair = `${query.id} ${engine.release.targets.id(targetIndex)}`;
      bits.set(pair, significance.bitScore);
      if (significance.eValue <= FOUND_E) found.add(pair);
    }
  });
  return { bits, found };
}

async function benchDraws(
  appliance: Appliance,
  folder: string,
  { domains, labels, drawCount, queryCount }: SizesOptions,
): Promise<Readonly<Record<string, unknown>>> {
  const tally = createTally();
  const counts = createDomainTally(tally, readTruths());
  const dev = domains.filter(({ id }) => labels.get(id)?.isDev);
  const seconds: Record<string, number> = {};
  for (const size of DRAWN_SIZES) {
    const stratum = `${size} domains`;
    for (let draw = 1; draw <= drawCount; draw += 1) {
      const targets = drawn(domains, size, draw);
      const strata = [stratum, `${stratum}, draw ${draw}`];
      const { engine, seconds: taken } = await openAndCalibrate(
        appliance,
        targets,
        `draw-${size}-${draw}`,
        folder,
      );
      seconds[size] = (seconds[size] ?? 0) + taken / drawCount;
      await eachResult(
        drawn(dev, queryCount, 100 + draw),
        unfilteredSpace(engine.release),
        engine,
        (query, candidates) => {
          counts.expect(strata);
          for (const candidate of candidates) {
            const target = labels.get(engine.release.targets.id(candidate.targetIndex))!;
            counts.observe(labels.get(query.id)!, target, logEValueOf(candidate), strata);
          }
        },
      );
    }
  }
  console.log(
    `\nFalse hits observed ÷ claimed (claimed) in small databases, ${drawCount} draws of each size:`,
  );
  for (const line of tally.lines(Math.max(...DRAWN_SIZES))) console.log(line);
  return { seconds, ratios: tally.ratios() };
}
