import { resolve } from 'node:path';
import { InvalidArgumentError, type Command } from 'commander';
import { openCatalog, selectOneRelease } from '../../pipelines/catalog.js';
import { loadConfig } from '../../config.js';
import { clusterDatabase, FAMILY_FILES, FAMILY_PARAMETERS } from '../../pipelines/neighbours/families.js';
import { positiveNumber } from '../terminal/arguments.js';
import type { CommandContext } from '../terminal/command.js';
import { formatCount } from '../terminal/numbers.js';
import { warningLine } from '../terminal/warning.js';
import { writeOutput } from './output.js';

interface Flags {
  readonly output: string;
  readonly maxEvalue: number;
  readonly coverage: number;
  /** In quarters. */
  readonly inflation?: number;
}

const HELP = `
The pairs are those that "gloaming index neighbours" has found; no search is made. Files:
  <prefix>_cluster.tsv     representative and member, a line for each protein, as of mmseqs easy-cluster
  <prefix>_rep_seq.fasta   the representatives
  <prefix>_families.tsv    size, representative and organisms of each family, the largest first

Examples:
  gloaming cluster mylab -o mylab
  gloaming cluster mylab -o close --max-evalue 1e-6 --coverage 0.8 --inflation 2`;

const LEAST_INFLATION = 1.25;
const LARGEST_INFLATION = 10;

/** `gloaming cluster`: families of a database. */
export function register(program: Command, context: CommandContext): void {
  const { largestEValue, leastCoverage, inflationQuarters } = FAMILY_PARAMETERS;
  program
    .command('cluster')
    .description('divide a database into families, by Markov clustering (MCL) of its neighbours')
    .argument('<database>', 'slug or release id; of a database, its default release')
    .requiredOption('-o, --output <prefix>', 'path and beginning of the names of the files')
    .option(
      '-e, --max-evalue <number>',
      'largest E-value of a pair that counts',
      positiveNumber,
      largestEValue,
    )
    .option('--coverage <share>', 'least share of both proteins in their alignment', share, leastCoverage)
    .option(
      '--inflation <number>',
      `exponent of MCL, ${LEAST_INFLATION} to ${LARGEST_INFLATION} in quarters; more gives smaller families ` +
        `(default: ${inflationQuarters / 4})`,
      quarters,
    )
    .addHelpText('after', HELP)
    .action((database: string, flags: Flags) => cluster(database, flags, context));
}

async function cluster(
  database: string,
  flags: Flags,
  { environment, stdout, stderr }: CommandContext,
): Promise<void> {
  const located = await openCatalog(loadConfig(environment), (catalog) =>
    Promise.resolve(selectOneRelease(catalog, database)),
  );
  const { inflation = FAMILY_PARAMETERS.inflationQuarters, maxEvalue, coverage } = flags;
  const parameters = { largestEValue: maxEvalue, leastCoverage: coverage, inflationQuarters: inflation };
  const found = await clusterDatabase(located, parameters);
  if (found.hasOtherCalibration) {
    const { slug } = located;
    const message =
      `The neighbours of ${slug} have E-values of an earlier calibration: "gloaming index neighbours ${slug}" finds ` +
      'them anew.';
    stderr.write(warningLine({ code: 'neighbours_outdated', message }));
  }
  const prefix = resolve(flags.output);
  for (const end of FAMILY_FILES) await writeOutput(found.files[end](), `${prefix}${end}`, stdout);
  const facts: readonly (readonly [string, string])[] = [
    ['release', found.releaseId],
    ['graph', found.graphId],
    ['families', `${formatCount(found.familyCount)} of ${formatCount(found.targetCount)} proteins`],
    ['of one', formatCount(found.loneCount)],
    ['largest', `${formatCount(found.largestSize)} proteins`],
    ['by', `E <= ${maxEvalue}, coverage >= ${coverage}, inflation ${inflation / 4}`],
    ...FAMILY_FILES.map((end) => ['wrote', `${prefix}${end}`] as const),
  ];
  const lines = facts.map(([name, value]) => `  ${name.padEnd(10)}  ${value}\n`);
  stdout.write(`Clustered ${located.slug}.\n${lines.join('')}`);
}

function share(text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && value >= 0 && value <= 1) return value;
  throw new InvalidArgumentError('Expected a number from 0 to 1.');
}

function quarters(text: string): number {
  const value = 4 * Number(text);
  if (Number.isInteger(value) && value >= 4 * LEAST_INFLATION && value <= 4 * LARGEST_INFLATION) return value;
  throw new InvalidArgumentError(`Expected ${LEAST_INFLATION} to ${LARGEST_INFLATION} in steps of 0.25.`);
}
