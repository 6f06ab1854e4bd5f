import { Option, type Command } from 'commander';
import { selectOneRelease, type IndexCatalog } from '../../pipelines/catalog.js';
import { qualifyDatabase } from '../../pipelines/qualify.js';
import type { PolicyKind } from '../../recall/policy-card.js';
import { readCount } from '../terminal/arguments.js';
import type { CommandContext } from '../terminal/command.js';
import { runPipeline } from '../terminal/pipeline.js';
import { withCatalog } from './catalog.js';
import { describePolicy } from './evidence.js';

interface Options {
  readonly seed: string;
  readonly queries: string;
  readonly policy: PolicyKind;
}

/** `gloaming index qualify`. */
export function addQualifyCommand(index: Command, context: CommandContext): void {
  index
    .command('qualify')
    .description(
      'measure what the fast approximate policy keeps in a database, and offer it where that is enough',
    )
    .argument('<database>', 'slug or release id; of a database, its default release')
    .option('--seed <number>', 'seed of the sample; the same seed gives the same card', '1')
    .option('--queries <proteins>', 'proteins of the database that are searched with', '200')
    .addOption(policyOption())
    .action((selector: string, options: Options) =>
      withCatalog(context, (catalog) => qualify(catalog, selector, options, context)),
    );
}

async function qualify(
  catalog: IndexCatalog,
  selector: string,
  { policy, seed, queries }: Options,
  context: CommandContext,
): Promise<void> {
  const located = selectOneRelease(catalog, selector);
  const { dataFolder } = catalog.config;
  const options = {
    policy,
    seed: readCount('--seed', seed),
    queryCount: readCount('--queries', queries),
  };
  await runPipeline(
    context,
    { command: 'index qualify', database: located.slug, dataFolder },
    (notice) =>
      notice.kind === 'qualified' ? { stream: 'stdout', text: describePolicy(notice) } : undefined,
    (events) => qualifyDatabase(catalog, located, options, events),
  );
}

/** `--policy`, of qualify and build. */
export function policyOption(): Option {
  return new Option(
    '--policy <name>',
    'sampled loses next to nothing; coded is for bulk work: faster, and its card says what it loses',
  )
    .choices(['sampled', 'coded'] satisfies readonly PolicyKind[])
    .default('sampled' satisfies PolicyKind);
}
