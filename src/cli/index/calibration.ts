import { writeFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { calibrationId, type BinCard, type CalibrationCard } from '../../calibration/card.js';
import { calibrationPlot } from '../../calibration/plot.js';
import { readCalibrationCard } from '../../calibration/sidecar.js';
import { Refusal } from '../../errors.js';
import type { CommandContext } from '../terminal/command.js';
import { selectOneRelease, withCatalog, type IndexCatalog } from './catalog.js';
import { formatTable } from '../terminal/table.js';

/** `gloaming calibration show`. */
export function register(program: Command, context: CommandContext): void {
  program
    .command('calibration')
    .description('what the E-values of a database rest on')
    .command('show')
    .description('print the card of a calibration and write its plot')
    .argument('<database>', 'slug or release id; of a database, its default release')
    .option('--plot <file.svg>', 'where the plot goes', 'calibration.svg')
    .action((selector: string, { plot }: { plot: string }) =>
      withCatalog(context, (catalog) => show(catalog, selector, plot, context)),
    );
}

async function show(
  catalog: IndexCatalog,
  selector: string,
  plot: string,
  context: CommandContext,
): Promise<void> {
  const { slug, directory } = selectOneRelease(catalog, selector);
  const card = await readCalibrationCard(directory);
  if (card === undefined) {
    throw new Refusal(
      'calibration_not_found',
      `${slug} has no calibration; make one with "gloaming index calibrate ${slug}".`,
    );
  }
  await writeFile(plot, calibrationPlot(card));
  context.stdout.write(describeCard(card));
  context.stdout.write(`\nThe plot is in ${plot}.\n`);
}

function describeCard(card: CalibrationCard): string {
  const { sample, supported } = card;
  const facts: readonly (readonly [string, string])[] = [
    ['calibration', calibrationId(card)],
    ['release', card.release_id],
    ['null population', card.null_population_id],
    ['coordinate', card.tail_coordinate_id],
    ['conditioned on', card.conditioning_context_id],
    ['method', card.method_id],
    ['qualification', card.qualification_id],
    ['seed', String(card.seed)],
    ['pairs', `${count(sample.pair_count)} of ${count(sample.protein_count)} proteins`],
    ['left out', `${count(sample.connected_pair_count)} connected by ${count(sample.link_count)} links`],
    ['query residues', `${supported.query_minimum_residues} to ${supported.query_maximum_residues}`],
    ['target residues', `${supported.target_minimum_residues} to ${supported.target_maximum_residues}`],
  ];
  const width = Math.max(...facts.map(([name]) => name.length));
  const head = facts.map(([name, value]) => `${name.padEnd(width)}  ${value}\n`).join('');
  const header = [
    'bin',
    'status',
    'pairs',
    'exceedances',
    'held out',
    'independent',
    'KS',
    'lambda',
    'relatives',
    'ln P',
  ];
  const bins = formatTable(header, card.bins.map(binRow), new Set([2, 3, 4, 5, 6, 7, 8, 9]));
  const tried = card.tried.map((line) => `- ${line}\n`).join('');
  return `${head}\n${bins}\n${populationTable(card)}\nTried and not taken:\n${tried}`;
}

function binRow(bin: BinCard): readonly string[] {
  return [
    bin.name,
    bin.status,
    count(bin.pair_count),
    count(bin.fit_exceedance_count),
    count(bin.holdout_exceedance_count),
    count(bin.holdout_independent_count),
    bin.holdout_kolmogorov_smirnov.toFixed(3),
    bin.tail.lambda.toFixed(3),
    `${(100 * bin.relative_share).toFixed(1)} %`,
    bin.tail.log_exceedance_probability.toFixed(2),
  ];
}

/** Observed ÷ expected pairs at each tail probability. */
function populationTable({ populations }: CalibrationCard): string {
  if (populations.length === 0) return '';
  const header = [
    'observed / expected at P',
    ...populations[0].ratios.map(({ probability }) => String(probability)),
  ];
  const rows = populations.map(({ id, ratios }) => [
    id,
    ...ratios.map(({ observed, expected }) => (observed / expected).toFixed(2)),
  ]);
  return formatTable(header, rows, new Set(header.keys()));
}

function count(value: number): string {
  return value.toLocaleString('en');
}
