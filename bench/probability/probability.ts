import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openAppliance, type Appliance } from '../../src/appliance.js';
import { loadConfig } from '../../src/config.js';
import { findEncoder } from '../../src/encoder/find.js';
import { openMeasuringEngine } from '../../src/engine/open-engine.js';
import { assert } from '../../src/errors.js';
import { scanReleases } from '../../src/release/catalog.js';
import { openRelease } from '../../src/release/open.js';
import type { SearchEngine } from '../../src/search/search-types.js';
import {
  homologyProbability,
  PROBABILITY_FILE,
  PROBABILITY_FORMAT,
  probabilityText,
  readProbabilityCard,
  type ProbabilityCard,
} from '../../src/significance/probability.js';
import { seededRandom } from '../../src/random.js';
import { referenceNullFolder } from '../../src/significance/reference-null.js';
import type { Bench } from '../main.js';
import { searchLists, searchPacks, type HitList } from '../propagation/lists.js';
import { openCalibrated } from '../tools/calibrated-database.js';
import { readLabels, type DomainLabel } from '../tools/labels.js';
import { readProteins, type BenchProtein } from '../tools/proteins.js';
import { readTruths, type Truth } from '../tools/truth.js';
import { fallingShares, type Bin } from './falling-shares.js';

/*
 * Fits the probability of homology to labelled training domains, and checks it on dev domains.
 *
 *   npm run bench -- probability FOLDER [seconds] [--homologs] [--write]
 *
 * All labelled domains are a release without homologs. Every 8th training domain and every 4th dev domain is a query.
 * With --homologs, FOLDER is that of `npm run bench -- propagation FOLDER 9000 1 whole`, which has left the release
 * `whole` with homologs there, and the hits of all its domains, which are the queries. The fit counts training targets
 * only. The check counts all targets: ten bins of probabilities, and the observed share of homologs in each. A pair of
 * one superfamily is homologous, a pair of different fold groups is not; SCOPe does not decide about the others, which
 * are left out. A superfamily of n training
 * queries has the weight √n, so that a few large ones do not make the prior. The exponent was chosen among 1, ¾ and ½
 * in view of dev (¾ for gloaming-1, ½ for gloaming-3); the diagrams of two halves of dev's fold groups show how much it
 * varies. With --write the table lies beside the reference null of the encoder.
 * The lists of hits take five minutes of processor time. A call stops after so many seconds, and the next one goes on.
 */

const TRAINING_EVERY = 8;
const DEV_EVERY = 4;
/** Lists of hits end at this E-value among all labelled domains, and so does the fit. */
const LARGEST_EVALUE = 300;
/** Width of a bin of the fit. Unit: ln of an E-value */
const FIT_WIDTH = 1;
/** Least E-value of a bin of its own, and least pairs of a bin. */
const LEAST_LOG = -12;
const LEAST_PAIRS = 100;
const DIAGRAM_BINS = 10;

/** A pair that SCOPe decides about. */
interface Pair {
  readonly logEValue: number;
  readonly isHomologous: boolean;
  /** Queries of the query's superfamily, to the power of −½. */
  readonly weight: number;
}

export const run: Bench = async (options) => {
  const [folder = 'probability', seconds = '280'] = options.filter((option) => !option.startsWith('--'));
  const hasHomologs = options.includes('--homologs');
  const untilMs = performance.now() + 1_000 * Number(seconds);
  const config = loadConfig(process.env);
  const shared = process.env.GLOAMING_SHARED ?? join(config.packageFolder, '..', 'shared');
  const scope = join(shared, 'data', 'scope40');
  if (!existsSync(join(scope, 'labels.tsv'))) {
    console.log('Skipped: it needs the labelled domains.');
    return { skipped: 'no data' };
  }
  const labels = readLabels(join(scope, 'labels.tsv'));
  const { list: targets } = await readProteins(join(scope, 'domains.fasta'));
  mkdirSync(folder, { recursive: true });
  const places = { GLOAMING_INDEXES: join(folder, 'i'), GLOAMING_DATA: join(folder, 'd') };
  const appliance = await openAppliance(loadConfig({ ...process.env, ...places }));
  try {
    const engine = hasHomologs
      ? await openWithHomologs(appliance)
      : await openCalibrated(appliance, targets, 'plain', folder);
    refuseOtherTargets(engine, targets);
    const [trainingEvery, devEvery] = hasHomologs ? [1, 1] : [TRAINING_EVERY, DEV_EVERY];
    const training = queriesOf(targets, labels, false, trainingEvery);
    const dev = queriesOf(targets, labels, true, devEvery);
    const listsOf = hasHomologs
      ? await storedLists(targets, folder)
      : (name: string, queries: readonly BenchProtein[]): Promise<readonly HitList[]> => {
          const sequences = queries.map(({ sequence }) => sequence);
          return searchLists(engine, sequences, folder, name, untilMs);
        };
    const devLists = await listsOf(`dev-${devEvery}`, dev);
    const trainingLists = await listsOf(`train-${trainingEvery}`, training);
    console.log(
      `${trainingLists.length} of ${training.length} training queries, ${devLists.length} of ${dev.length} dev`,
    );
    if (trainingLists.length < training.length || devLists.length < dev.length) {
      return { unfinished: training.length + dev.length - trainingLists.length - devLists.length };
    }
    const world = { targets, labels };
    const { scope: truth, curated } = readTruths();
    const trainingCount = targets.filter(({ id }) => !labels.get(id)!.isDev).length;
    const isTraining = ({ isDev }: DomainLabel): boolean => !isDev;
    const shift = Math.log(trainingCount / targets.length);
    const fitted = pairsOf(training, trainingLists, world, truth, isTraining).map((pair) => ({
      ...pair,
      logEValue: pair.logEValue + shift,
    }));
    const { id, sha256 } = engine.release.manifest.encoder;
    const card = fitTable(fitted, {
      encoder_sha256: sha256,
      target_count: trainingCount,
      query_count: training.length,
    });
    const directory = await findEncoder(id, config);
    if (options.includes('--write'))
      writeFileSync(
        join(referenceNullFolder(directory, hasHomologs), PROBABILITY_FILE),
        probabilityText(card),
      );
    const shipped = await readProbabilityCard(directory, sha256, hasHomologs);
    const isShipped = shipped !== undefined && probabilityText(shipped) === probabilityText(card);
    console.log(
      `${card.pair_count} training pairs, ${card.log_e_values.length} knots; shipped: ${isShipped ? 'yes' : 'no'}`,
    );
    const halfOf = halvesOf(labels);
    const isOfHalf = (half: number, { id: query }: BenchProtein): boolean =>
      halfOf.get(labels.get(query)!.foldGroup) === half;
    const diagramOf = (kind: Truth, isIn: (query: BenchProtein) => boolean): Diagram => {
      const lists = devLists.filter((_, at) => isIn(dev[at]));
      return diagram(
        pairsOf(dev.filter(isIn), lists, world, kind, () => true),
        card,
        targets.length,
      );
    };
    const diagrams = {
      all: diagramOf(truth, () => true),
      curated: diagramOf(curated, () => true),
      first: diagramOf(truth, (query) => isOfHalf(0, query)),
      second: diagramOf(truth, (query) => isOfHalf(1, query)),
    };
    for (const [name, shown] of Object.entries(diagrams)) show(name, shown);
    return {
      training_queries: training.length,
      training_pairs: card.pair_count,
      dev_queries: dev.length,
      is_shipped: isShipped,
      ...describe(diagrams),
    };
  } finally {
    await appliance.close();
  }
};

/** Diagrams of all dev queries by either truth, and of those of each half of dev's fold groups. */
type Diagrams = Readonly<Record<'all' | 'curated' | 'first' | 'second', Diagram>>;

function describe({ all, curated, first, second }: Diagrams) {
  return {
    dev_pairs: all.bins.reduce((sum, { pairs }) => sum + pairs, 0),
    largest_difference: all.largestDifference,
    curated_largest_difference: curated.largestDifference,
    first_half_largest_difference: first.largestDifference,
    second_half_largest_difference: second.largestDifference,
    bins: Object.fromEntries(
      all.bins.map(({ pairs, predicted, observed }, at) => [
        `${at / 10}–${(at + 1) / 10}`,
        { pairs, predicted, observed },
      ]),
    ),
  };
}

/** Opens the release with homologs and its calibration. Errors  those of opening a release */
async function openWithHomologs({ config, backend, loadEncoder }: Appliance): Promise<SearchEngine> {
  const { releases } = await scanReleases(config.indexesFolder);
  const found = releases.find(({ slug }) => slug === 'whole');
  assert(found !== undefined, `${config.indexesFolder} holds the release whole`);
  const release = await openRelease(found.directory);
  return openMeasuringEngine({
    release,
    encoder: await loadEncoder(config.encoder),
    backend,
    threads: config.threads,
  });
}

/** The lists name targets by their places. */
function refuseOtherTargets({ release }: SearchEngine, targets: readonly BenchProtein[]): void {
  assert(
    release.targets.count === targets.length && targets.every(({ id }, at) => release.targets.id(at) === id),
    'the release has the labelled domains in their order',
  );
}

/** Returns a function that gives the stored lists of queries among the targets. Errors  none if all lists are stored */
async function storedLists(targets: readonly BenchProtein[], folder: string) {
  const none = (): Promise<never> =>
    Promise.reject(new Error(`${folder} lacks hits. Run the propagation bench.`));
  const lists = await searchPacks(none, targets.length, folder, 'domains-whole-1', Infinity);
  const placeOf = new Map(targets.map(({ id }, place) => [id, place]));
  return (_: string, queries: readonly BenchProtein[]): Promise<readonly HitList[]> =>
    Promise.resolve(queries.map(({ id }) => lists[placeOf.get(id)!]));
}

function queriesOf(
  targets: readonly BenchProtein[],
  labels: ReadonlyMap<string, DomainLabel>,
  isDev: boolean,
  every: number,
): readonly BenchProtein[] {
  return targets.filter(({ id }) => labels.get(id)!.isDev === isDev).filter((_, at) => at % every === 0);
}

/** Divides dev's fold groups at random into two halves, as bench/propagation does. */
function halvesOf(labels: ReadonlyMap<string, DomainLabel>): ReadonlyMap<string, number> {
  const groups = new Set([...labels.values()].filter(({ isDev }) => isDev).map(({ foldGroup }) => foldGroup));
  const random = seededRandom(7);
  return new Map([...groups].sort().map((group) => [group, random.below(2)]));
}

interface World {
  readonly targets: readonly BenchProtein[];
  readonly labels: ReadonlyMap<string, DomainLabel>;
}

/** Pairs of queries and other targets, with E-values among all targets. */
function pairsOf(
  queries: readonly BenchProtein[],
  lists: readonly HitList[],
  { targets, labels }: World,
  truth: Truth,
  isCounted: (target: DomainLabel) => boolean,
): readonly Pair[] {
  const counts = new Map<string, number>();
  for (const { id } of queries) {
    const { superfamily } = labels.get(id)!;
    counts.set(superfamily, (counts.get(superfamily) ?? 0) + 1);
  }
  return lists.flatMap((list, query) => {
    const { id } = queries[query];
    const weight = counts.get(labels.get(id)!.superfamily)! ** -0.5;
    return Array.from(list.targets).flatMap((target, hit): readonly Pair[] => {
      const label = labels.get(targets[target].id)!;
      if (targets[target].id === id || !isCounted(label)) return [];
      const kind = truth.kindOf(labels.get(id)!, label);
      return kind === 'left out'
        ? []
        : [{ logEValue: list.logEValues[hit], isHomologous: kind === 'true', weight }];
    });
  });
}

/** Shares of homologs by E-value, which fall as it rises, as log odds. */
function fitTable(
  pairs: readonly Pair[],
  described: Pick<ProbabilityCard, 'encoder_sha256' | 'target_count' | 'query_count'>,
): ProbabilityCard {
  const bins = new Map<number, { pairs: number; weight: number; homologs: number; logs: number }>();
  for (const { logEValue, isHomologous, weight } of pairs) {
    const log = Math.max(LEAST_LOG, logEValue);
    const at = Math.floor(log / FIT_WIDTH);
    const bin = bins.get(at) ?? { pairs: 0, weight: 0, homologs: 0, logs: 0 };
    bins.set(at, bin);
    bin.pairs += 1;
    bin.weight += weight;
    bin.homologs += isHomologous ? weight : 0;
    bin.logs += weight * log;
  }
  const ascending: readonly Bin[] = [...bins]
    .sort(([a], [b]) => a - b)
    .map(([, { logs, ...bin }]) => ({ ...bin, at: logs / bin.weight }));
  const pooled = fallingShares(ascending, LEAST_PAIRS);
  let least = Infinity;
  const logOdds = pooled.map(({ pairs: count, weight, homologs }) => {
    // Half a pair of each kind keeps the odds finite where all pairs are of one kind.
    const half = weight / count / 2;
    least = Math.min(least, Math.log((homologs + half) / (weight - homologs + half)));
    return Number(least.toFixed(4));
  });
  return {
    format: PROBABILITY_FORMAT,
    ...described,
    pair_count: pairs.length,
    log_e_values: pooled.map(({ at }) => Number(at.toFixed(4))),
    log_odds: logOdds,
  };
}

interface Diagram {
  readonly bins: readonly {
    readonly pairs: number;
    readonly predicted: number;
    readonly observed: number;
    readonly error: number;
  }[];
  readonly largestDifference: number;
}

/** Reliability diagram: mean prediction and observed share of homologs in bins of equal width. */
function diagram(pairs: readonly Pair[], card: ProbabilityCard, targetCount: number): Diagram {
  const sums = Array.from({ length: DIAGRAM_BINS }, () => ({ pairs: 0, predicted: 0, homologs: 0 }));
  for (const { logEValue, isHomologous } of pairs) {
    if (logEValue > Math.log(LARGEST_EVALUE)) continue;
    const probability = homologyProbability(card, logEValue, targetCount);
    const bin = sums[Math.min(DIAGRAM_BINS - 1, Math.floor(probability * DIAGRAM_BINS))];
    bin.pairs += 1;
    bin.predicted += probability;
    bin.homologs += isHomologous ? 1 : 0;
  }
  const bins = sums.map(({ pairs: count, predicted, homologs }) => {
    const observed = homologs / count;
    return {
      pairs: count,
      predicted: predicted / count,
      observed,
      error: Math.sqrt((observed * (1 - observed)) / count),
    };
  });
  return {
    bins,
    largestDifference: Math.max(...bins.map(({ predicted, observed }) => Math.abs(predicted - observed))),
  };
}

function show(name: string, { bins, largestDifference }: Diagram): void {
  console.log(`\n${name}: largest difference ${largestDifference.toFixed(3)}\npairs  predicted  observed`);
  for (const { pairs, predicted, observed, error } of bins) {
    console.log(
      `${String(pairs).padStart(6)}  ${predicted.toFixed(3)}  ${observed.toFixed(3)} ± ${error.toFixed(3)}`,
    );
  }
}
