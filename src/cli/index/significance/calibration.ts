import { writeFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { calibrationId, type BinCard, type CalibrationCard } from '../../../significance/card.js';
import { calibrationPlot } from './plot.js';
import { isQualifiedPolicy, lossesOf, policyKindOf, type PolicyCard } from '../../../recall/policy-card.js';
import { readPolicyCard } from '../../../recall/policy-sidecar.js';
import { readCalibrationCard } from '../../../significance/sidecar.js';
import { Refusal } from '../../../errors.js';
import { listJobs } from '../../../services/jobs.js';
import type { CommandContext } from '../../terminal/command.js';
import { selectOneRelease, type IndexCatalog } from '../../../pipelines/catalog.js';
import { withCatalog } from '../catalog.js';
import { referenceLines } from '../evidence.js';
import { formatTable } from '../../terminal/table.js';

/** `gloaming index calibration`. */
export function addCalibrationCommand(index: Command, context: CommandContext): void {
  index
    .command('calibration')
    .description('show what the E-values of a database rest on, and what its approximate policy loses')
    .argument('<database>', 'slug or release id; of a database, its default release')
    .option('--bins', 'also each pair of length classes')
    .option('--plot <file.svg>', 'also write the plot')
    .action((selector: string, options: ShowOptions) =>
      withCatalog(context, (catalog) => show(catalog, selector, options, context)),
    );
}

interface ShowOptions {
  readonly bins?: boolean;
  readonly plot?: string;
}

async function show(
  catalog: IndexCatalog,
  selector: string,
  { bins, plot }: ShowOptions,
  context: CommandContext,
): Promise<void> {
  const { slug, directory } = selectOneRelease(catalog, selector);
  const card = await readCalibrationCard(directory);
  if (card === undefined) {
    const advice = `make one with "gloaming index calibrate ${slug}".`;
    throw new Refusal(
      'calibration_not_found',
      `${slug} has no calibration; ${runningJob(catalog, slug) ?? advice}`,
    );
  }
  context.stdout.write(describeCard(card, await readPolicyCard(directory)));
  if (bins === true) context.stdout.write(describeBins(card));
  if (plot === undefined) return;
  await writeFile(plot, calibrationPlot(card));
  context.stdout.write(`\nThe plot is in ${plot}.\n`);
}

/** Says which process builds or calibrates a database now; undefined where none does. */
function runningJob({ config }: IndexCatalog, slug: string): string | undefined {
  const job = listJobs(config.dataFolder).find(({ database }) => database === slug);
  if (job === undefined) return undefined;
  const share = job.total === 0 ? 0 : Math.floor((100 * job.done) / job.total);
  return `process ${job.pid} works on it ("gloaming ${job.command}"; ${job.stage}: ${share} %).`;
}

/**
 * Describes a calibration in about a dozen lines. The plot and `--bins` have the measurements, and
 * fit-significance/README.md explains the method.
 */
function describeCard(card: CalibrationCard, policy: PolicyCard | undefined): string {
  const { supported, bins } = card;
  const qualified = bins.filter(({ status }) => status === 'qualified');
  const pairCount = bins.reduce((sum, bin) => sum + bin.pair_count, 0);
  const resolved = Math.round(pairCount / Math.max(1, bins.length));
  const lines: readonly (readonly [string, string])[] = [
    ['calibration', calibrationId(card)],
    ['release', card.release_id],
    ...measuredLines(card),
    [
      'lengths',
      `${supported.query_minimum_residues} to ${supported.query_maximum_residues} residues have E-values`,
    ],
    [
      'qualified',
      `${qualified.length} of ${bins.length} pairs of length classes, on proteins held out of the fit`,
    ],
    ['checked', `down to one pair in ${count(resolved)}; beyond, the tail goes on as an exponential`],
    ...card.populations
      .slice(0, 3)
      .map(({ id, ratios }): readonly [string, string] => [
        POPULATIONS[id] ?? id,
        `${ratios.map(shareOf).join(' / ')} of the hits claimed at ` +
          `P = ${ratios.map(({ probability }) => probability).join(' / ')}`,
      ]),
    ...(policy === undefined ? [] : [['policy', policyText(policy)] as const]),
  ];
  const width = Math.max(...lines.map(([name]) => name.length));
  return lines.map(([name, value]) => `${name.padEnd(width)}  ${value}\n`).join('');
}

/** Says which pairs the null was fitted to. */
function measuredLines(card: CalibrationCard): readonly (readonly [string, string])[] {
  const { sample, seed, reference } = card;
  if (reference !== undefined) return referenceLines(card, reference);
  return [
    [
      'measured on',
      `${count(sample.pair_count)} pairs of ${count(sample.protein_count)} of its proteins, seed ${seed}`,
    ],
    [
      'left out',
      `${count(sample.connected_pair_count)} pairs of homologs, which ${count(sample.link_count)} links connect`,
    ],
  ];
}

/** Names the approximate policy, what it loses, and whether searches use it. */
function policyText(card: PolicyCard): string {
  const offered = isQualifiedPolicy(card) ? '' : ', so that it is not offered';
  return `${policyKindOf(card)}: it ${lossesOf(card.recalls, card)}${offered}`;
}

function shareOf({ observed, expected }: { readonly observed: number; readonly expected: number }): string {
  return (observed / expected).toFixed(2);
}

const POPULATIONS: Readonly<Record<string, string>> = {
  'heldout_release_pairs/1': 'held out',
  'reversed_sequences/1': 'reversed',
  'shuffled_sequences/1': 'shuffled',
};

const BIN_COLUMNS = [
  'bin',
  'status',
  'pairs',
  'exceedances',
  'held out',
  'independent',
  'KS',
  'lambda',
  'homologs',
  'ln P',
];

function describeBins({ bins }: CalibrationCard): string {
  return `\n${formatTable(BIN_COLUMNS, bins.map(binRow), new Set([2, 3, 4, 5, 6, 7, 8, 9]))}`;
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

function count(value: number): string {
  return value.toLocaleString('en');
}
