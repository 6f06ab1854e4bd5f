import { dirname } from 'node:path';
import { writing } from '../build-release/writing.js';
import type { Encoder } from '../encoder/encoder.js';
import { openHomologSources } from '../engine/homolog-sources.js';
import { openEngine } from '../engine/open-engine.js';
import { Refusal } from '../errors.js';
import { measureWalks } from '../fit-significance/walks.js';
import { backendChoiceOf, chooseBackend } from '../kernels/choose.js';
import { openNeighbours } from '../neighbours/sidecar.js';
import { writeWalksCard, type WalksCard } from '../propagation/card.js';
import { openRelease } from '../release/open.js';
import type { IndexCatalog, LocatedRelease } from './catalog.js';
import { measuring, withEncoderOf } from './measure.js';

export interface CalibrateWalksOptions {
  /** Range: 1..2³²−1; equal seeds give equal cards. Default: 1. */
  readonly seed?: number;
  /** Reversed proteins. Default: 1,000. */
  readonly reversedCount?: number;
  readonly signal?: AbortSignal;
  /** Called with the number of finished walks. */
  readonly onWalks?: (done: number) => void;
}

/**
 * Measures the level of the null of walks over the graph of a release, and writes its card beside the graph.
 * Errors  Refusal `propagation_unavailable` without a graph, `encoder_changed`; those of `measuring` and `writing`;
 *         Faults of kernels, encoder and disk; the signal's reason
 */
export function calibrateWalks(
  { config }: Pick<IndexCatalog, 'config'>,
  located: LocatedRelease,
  options: CalibrateWalksOptions = {},
): Promise<WalksCard> {
  return writing(dirname(located.directory), () =>
    measuring(located, 'walks', () =>
      withEncoderOf(located, config, ({ encoder }) => calibrateWith(encoder, config, located, options)),
    ),
  );
}

async function calibrateWith(
  encoder: Encoder,
  config: IndexCatalog['config'],
  { slug, directory }: LocatedRelease,
  options: CalibrateWalksOptions,
): Promise<WalksCard> {
  const release = await openRelease(directory);
  const homologSources = openHomologSources(encoder, config);
  const { threads } = config;
  const backend = await chooseBackend(backendChoiceOf(config));
  const engine = await openEngine({ release, encoder, backend, threads, homologSources });
  try {
    const neighbours = await openNeighbours(release, engine.calibration?.id);
    if (neighbours === undefined) {
      throw new Refusal(
        'propagation_unavailable',
        `${slug} has no graph of neighbours with its calibration; "gloaming index neighbours ${slug}" makes one.`,
      );
    }
    const card = await measureWalks({ engine, neighbours, ...options });
    await writeWalksCard(directory, card);
    return card;
  } finally {
    engine.store.close();
    await homologSources.close();
  }
}
