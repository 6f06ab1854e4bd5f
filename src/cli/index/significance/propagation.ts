import type { Command } from 'commander';
import { selectOneRelease } from '../../../pipelines/catalog.js';
import { calibrateWalks } from '../../../pipelines/walks.js';
import { readCount } from '../../terminal/arguments.js';
import type { CommandContext } from '../../terminal/command.js';
import { withCatalog } from '../catalog.js';

interface Options {
  readonly seed: string;
  readonly sample: string;
}

/** `gloaming index propagation`. */
export function addPropagationCommand(index: Command, context: CommandContext): void {
  index
    .command('propagation')
    .description('give propagated hits E-values: by walks of reversed proteins over the graph of neighbours')
    .argument('<database>', 'slug or release id; of a database, its default release')
    .option('--seed <number>', 'seed of the sample; the same seed gives the same null', '1')
    .option('--sample <proteins>', 'reversed proteins that are searched', '1000')
    .action((selector: string, { seed, sample }: Options) =>
      withCatalog(context, async (catalog) => {
        const located = selectOneRelease(catalog, selector);
        const reversedCount = readCount('--sample', sample);
        const options = { seed: readCount('--seed', seed), reversedCount };
        const card = await calibrateWalks(catalog, located, options);
        const { reversed_count: walks, reached_count: reached, level } = card;
        const effect =
          level > 1 ? `E-values are raised by a factor of ${level.toFixed(2)}` : 'no more than usual';
        context.stdout.write(
          `${located.slug}: propagated hits have E-values now. ${walks} reversed proteins reached ${reached} ` +
            `targets: ${effect}.\n`,
        );
      }),
    );
}
