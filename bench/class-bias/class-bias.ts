import { existsSync, writeFileSync } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openAppliance } from '../../src/appliance.js';
import { loadConfig } from '../../src/config.js';
import { findEncoder } from '../../src/encoder/find.js';
import { assert } from '../../src/errors.js';
import type { SearchEngine } from '../../src/search/search-types.js';
import { targetClassBias, type ClassBias } from '../../src/significance/moment-weights.js';
import {
  REFERENCE_NULL_FILES,
  REFERENCE_NULL_FORMAT,
  referenceNullFolder,
  referenceNullText,
  type ReferenceNullCard,
} from '../../src/significance/reference-null.js';
import { createDomainTally, createTally } from '../calibration/tally.js';
import type { Bench } from '../main.js';
import { searchPacks, targetPacks, type HitList } from '../propagation/lists.js';
import { openWorld, type WorldKind } from '../propagation/world.js';
import { readLabels, type DomainLabel } from '../tools/labels.js';
import { readProteins, type BenchProtein } from '../tools/proteins.js';
import { readTruths, type Truth, type Truths } from '../tools/truth.js';
import { fitClassBias } from './fit.js';

/*
 * Fits the class bias of an encoder's null (significance/moment-weights.ts), and shows the false hits of each class.
 * The labelled domains of the encoder's training folds are queries and targets; dev's folds take no part.
 *
 *   npm run bench -- class-bias FOLDER [seconds] [plain | whole] [--write]
 *
 * The folder is one of the propagation bench, whose hit lists it shares. They must come from a null without class bias.
 * --write puts the weights into the null of the encoder, below indexes/encoders. Calibrations use them when they are
 * made again.
 */

/** Unrelated targets are counted up to this E-value. */
const CLAIMED = 3;

export const run: Bench = async (options) => {
  const [folder = 'class-bias', seconds = '280', kind = 'plain'] = options.filter(
    (option) => !option.startsWith('--'),
  );
  const untilMs = performance.now() + 1_000 * Number(seconds);
  const config = loadConfig(process.env);
  const data = join(process.env.GLOAMING_SHARED ?? join(config.packageFolder, '..', 'shared'), 'data');
  const scope = join(data, 'scope40');
  if (!existsSync(join(scope, 'labels.tsv'))) {
    console.log('Skipped: it needs the labelled domains.');
    return { skipped: 'no data' };
  }
  const labels = readLabels(join(scope, 'labels.tsv'));
  const { list: domains } = await readProteins(join(scope, 'domains.fasta'));
  await mkdir(folder, { recursive: true });
  const places = { GLOAMING_INDEXES: join(folder, 'i'), GLOAMING_DATA: join(folder, 'd') };
  const appliance = await openAppliance(loadConfig({ ...process.env, ...places }));
  try {
    const members = await openWorld(appliance, domains, kind as WorldKind, folder, data);
    const { engine } = members;
    try {
      const name = kind === 'plain' ? 'domains-1' : `domains-${kind}-1`;
      const lists = await searchPacks(targetPacks(members), domains.length, folder, name, untilMs);
      console.log(`${lists.length} of ${domains.length} domains were searched`);
      if (lists.length < domains.length) return { unfinished: domains.length - lists.length };
      const world = { domains, lists, labels: domains.map(({ id }) => labels.get(id)!) };
      return await fitAndShow(world, engine, kind, options.includes('--write'));
    } finally {
      await engine.encoder.close();
    }
  } finally {
    await appliance.close();
  }
};

interface World {
  readonly domains: readonly BenchProtein[];
  /** Hits of each domain; targets are places among the domains. */
  readonly lists: readonly HitList[];
  readonly labels: readonly DomainLabel[];
}

async function fitAndShow(world: World, engine: SearchEngine, kind: string, isWritten: boolean) {
  const { domains, labels } = world;
  const { release, calibration } = engine;
  assert(calibration !== undefined, 'the release of the bench is calibrated');
  assert(calibration.classBias === undefined, 'the lists come from a null without class bias');
  const truths = readTruths();
  const { moments } = calibration;
  const { dimension, rank, means, sketches } = moments;
  const targetOf = domains.map(({ id }) => release.targets.find(id)!);
  const [training, dev] = [false, true].map((isDev) =>
    [...domains.keys()].filter((at) => labels[at].isDev === isDev),
  );
  const bias = fitClassBias({
    moments: training.map((at) => {
      const target = targetOf[at];
      return Float64Array.from([
        ...means.subarray(target * dimension, (target + 1) * dimension),
        ...sketches.subarray(target * rank, (target + 1) * rank),
      ]);
    }),
    counts: countFalse(training, world, truths.curated),
    claimed: CLAIMED,
    dimension,
  });
  const biases = targetOf.map((target) => targetClassBias(bias, moments, target));
  const none = domains.map(() => 0);
  const figures = {
    training_queries: training.length,
    dev_queries: dev.length,
    largest: bias.largest,
    before: ratiosByClass(dev, world, none, truths),
    after: ratiosByClass(dev, world, biases, truths),
  };
  if (isWritten) await writeBias(engine, kind !== 'plain', bias);
  return figures;
}

/** Counts the unrelated training domains with an E-value of at most CLAIMED in a search of the training domains. */
function countFalse(training: readonly number[], { lists, labels }: World, truth: Truth): readonly number[] {
  const shift = Math.log(training.length / labels.length);
  return training.map((query) => {
    const { targets, logEValues } = lists[query];
    const isCounted = (target: number, hit: number): boolean =>
      logEValues[hit] + shift <= Math.log(CLAIMED) &&
      !labels[target].isDev &&
      truth.kindOf(labels[query], labels[target]) === 'false';
    return targets.filter(isCounted).length;
  });
}

/** False hits ÷ claimed of all queries and of those of each class, by either truth. Prints them. */
function ratiosByClass(
  queries: readonly number[],
  { lists, labels }: World,
  biases: readonly number[],
  truths: Truths,
): Readonly<Record<string, unknown>> {
  const tally = createTally();
  const domains = createDomainTally(tally, truths);
  for (const query of queries) {
    const strata = ['all', `class ${labels[query].superfamily[0]}`];
    domains.expect(strata);
    lists[query].targets.forEach((target, hit) => {
      if (target === query) return;
      const logEValue = lists[query].logEValues[hit] + biases[query] + biases[target];
      domains.observe(labels[query], labels[target], logEValue, strata);
    });
  }
  for (const line of tally.lines(labels.length)) console.log(line);
  return tally.ratios();
}

async function writeBias(engine: SearchEngine, hasProfiles: boolean, bias: ClassBias): Promise<void> {
  const directory = await findEncoder(engine.release.manifest.encoder.id, loadConfig(process.env));
  const path = join(referenceNullFolder(directory, hasProfiles), REFERENCE_NULL_FILES.card);
  const card = JSON.parse(await readFile(path, 'utf8')) as ReferenceNullCard;
  const written: ReferenceNullCard = {
    ...card,
    format: REFERENCE_NULL_FORMAT,
    pair_null: {
      ...card.pair_null,
      class_bias: {
        mean_weights: bias.meanWeights,
        sketch_weights: bias.sketchWeights,
        offset: bias.offset,
        smallest: bias.smallest,
        largest: bias.largest,
      },
    },
  };
  writeFileSync(path, referenceNullText(written));
}
