import { Option, type Command } from 'commander';
import {
  isQualifiedPolicy,
  lossesOf,
  policyKindOf,
  qualificationId,
  type PolicyCard,
  type PolicyKind,
  type RecallCard,
} from '../../recall/policy-card.js';
import { Refusal } from '../../errors.js';
import { qualifyRelease, type QualifiedRelease } from '../../measure-recall/qualify.js';
import type { CommandContext } from '../terminal/command.js';
import { formatDuration, formatQuantity } from '../terminal/progress.js';
import { selectOneRelease, withCatalog, type IndexCatalog } from './catalog.js';
import { readCount, withEncoderOf, withEngine, type MeasureSettings } from './engine.js';

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
    .action((selector: string, { seed, queries, policy }: Options) =>
      withCatalog(context, async (catalog) => {
        const located = selectOneRelease(catalog, selector);
        const counts = {
          policy,
          seed: readCount('--seed', seed),
          queryCount: readCount('--queries', queries),
        };
        await withEncoderOf(
          located,
          catalog.config,
          { ...context, command: 'index qualify' },
          async (settings) => {
            const report = await qualifyFolder(catalog.table, located, { ...settings, ...counts });
            context.stdout.write(report);
          },
        );
      }),
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

export interface QualifySettings extends MeasureSettings {
  readonly policy?: PolicyKind;
  readonly seed?: number;
  readonly queryCount?: number;
}

/**
 * Qualifies the approximate policy of a release, names its card in the catalog, and says what came of it.
 * Errors  Refusal `qualification_impossible`; Faults of kernels, encoder, disk
 */
export async function qualifyFolder(
  table: IndexCatalog['table'],
  { id, slug, directory }: { readonly id: string; readonly slug: string; readonly directory: string },
  settings: QualifySettings,
): Promise<string> {
  const { policy, seed, queryCount, signal, progress } = settings;
  const startedMs = performance.now();
  const { card, kept } = await withEngine(directory, settings, (engine) =>
    qualifyRelease({ engine, policy, seed, queryCount, signal, onProgress: progress.update }),
  );
  progress.end();
  await table.nameQualification(id, slug, qualificationId(kept));
  return describePolicy({ card, kept }, performance.now() - startedMs);
}

/** The same after a build or a calibration: a release too small for a policy needs none. */
export async function qualifyMeasured(...of: Parameters<typeof qualifyFolder>): Promise<string> {
  try {
    return `\nMeasured its approximate policy.\n${await qualifyFolder(...of)}`;
  } catch (cause) {
    if (cause instanceof Refusal && cause.code === 'qualification_impossible') return '';
    throw cause;
  }
}

function describePolicy({ card, kept }: QualifiedRelease, elapsedMs: number): string {
  const { recalls, policy, required_recall: required } = card;
  const instead =
    kept === card
      ? 'searches stay exhaustive'
      : `searches keep the ${policyKindOf(kept)} policy that they had`;
  const verdict = isQualifiedPolicy(card)
    ? 'qualified: searches use it unless they ask for exhaustive ones'
    : `not qualified: below ${required}${evidentBar(card)}, so that ${instead}`;
  const lines: readonly (readonly [string, string])[] = [
    ['policy', card.policy_id],
    ['card', qualificationId(card)],
    ['finalists', `${policy.nearest_count} nearest and ${policy.striking_count} most striking`],
    ['nearest 10', recallText(recalls.nearest_10)],
    ['nearest 100', recallText(recalls.nearest_100)],
    [
      `E <= ${card.evident_expected_false_hits}`,
      recalls.evident ? recallText(recalls.evident) : 'not calibrated',
    ],
    ['loses', lossesOf(recalls, card)],
    ...(card.codes === undefined ? [] : [['codes', codesText(card.codes)] as const]),
    ['verdict', verdict],
    ['took', formatDuration(elapsedMs)],
  ];
  return lines.map(([name, value]) => `  ${name.padEnd(16)}  ${value}\n`).join('');
}

/** The bar of what is evident, where it is one of its own. */
function evidentBar({
  required_evident_recall: least,
  evident_expected_false_hits: largestE,
}: PolicyCard): string {
  return least === undefined ? '' : `, or ${least} of E <= ${largestE}`;
}

function codesText({ words: centroids, codes: centroidIds }: NonNullable<PolicyCard['codes']>): string {
  return formatQuantity(centroids.size_bytes + centroidIds.size_bytes, 'B');
}

function recallText({ mean, low, high, query_count: queries }: RecallCard): string {
  return `${mean.toFixed(4)} of them are finalists (${low.toFixed(4)} to ${high.toFixed(4)}; ${queries} queries)`;
}
