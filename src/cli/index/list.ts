import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command } from 'commander';
import { readNeighboursCard } from '../../neighbours/sidecar.js';
import { isQualifiedPolicy, lossesOf, policyKindOf } from '../../recall/policy-card.js';
import { readPolicyCard } from '../../recall/policy-sidecar.js';
import { releaseDirectory } from '../../release/catalog.js';
import { readCalibrationCard } from '../../significance/sidecar.js';
import { MANIFEST_FILE } from '../../release/format.js';
import { listedFiles } from '../../release/manifest.js';
import type { ReleaseManifest } from '../../release/release.js';
import type { ReleaseRow } from '../../store/tables/releases.js';
import type { CommandContext } from '../terminal/command.js';
import { shortId, type IndexCatalog } from '../../pipelines/catalog.js';
import { withCatalog } from './catalog.js';
import { formatCount, formatQuantity } from '../terminal/progress.js';
import { formatTable } from '../terminal/table.js';

export function addListCommand(index: Command, context: CommandContext): void {
  index
    .command('list')
    .description('databases and their releases')
    .option('--json', 'everything that is known, as JSON')
    .action((options: { json?: boolean }) =>
      withCatalog(context, async (catalog) => {
        context.stdout.write(options.json === true ? listJson(catalog) : await listText(catalog));
      }),
    );
}

async function listText(catalog: IndexCatalog): Promise<string> {
  const { table, scanned } = catalog;
  const databases = table.databases();
  const rows: string[][] = [];
  const losses: string[] = [];
  for (const { slug, defaultReleaseId } of databases) {
    const releases = table.releases(slug);
    for (const row of releases) {
      const remarks = [
        ...(row.id === defaultReleaseId && releases.length > 1 ? ['default release'] : []),
        ...((await isThere(catalog, row)) ? [] : ['files missing']),
        ...(row.manifest.relatives === undefined ? [] : ['with homologs']),
        ...(await describeSidecars(catalog, row)),
      ];
      rows.push([...describeRow(row), (await hasEValues(catalog, row)) ? 'yes' : 'no', remarks.join(', ')]);
      losses.push(...(await lossesOfCodebook(catalog, row)));
    }
  }
  if (rows.length === 0 && scanned.damaged.length === 0 && scanned.unfinished.length === 0) {
    return 'No database is built yet. Build one:  gloaming index build proteins.fasta --name <name>\n';
  }
  const header = [
    'database',
    'release',
    'proteins',
    'residues',
    'size',
    'encoder',
    'published (UTC)',
    'E-values',
    '',
  ];
  const serverDefault = table.defaultDatabase()?.slug;
  return [
    rows.length === 0 ? '' : formatTable(header, rows, new Set([2, 3, 4])),
    serverDefault === undefined ? '' : `\nSearched where a request names no database: ${serverDefault}\n`,
    ...losses,
    ...scanned.damaged.map(({ slug, id, problem }) => `\nDamaged: ${slug} ${shortId(id)}: ${problem}\n`),
    ...scanned.unfinished.map(
      ({ slug, directory }) =>
        `\nUnfinished: ${slug}, in ${directory}\n` +
        `  The same build command resumes it; "gloaming index remove ${slug} --unfinished" drops it.\n`,
    ),
  ].join('');
}

function listJson({ table, scanned }: IndexCatalog): string {
  const value = {
    default_database: table.defaultDatabase()?.slug ?? null,
    databases: table.databases().map(({ slug, id, defaultReleaseId }) => ({
      slug,
      id,
      default_release_id: defaultReleaseId,
      releases: table.releases(slug).map((row) => ({
        id: row.id,
        published_at: row.publishedAt,
        manifest: row.manifest,
      })),
    })),
    damaged: scanned.damaged,
    unfinished: scanned.unfinished,
  };
  return `${JSON.stringify(value, undefined, 2)}\n`;
}

function describeRow({ slug, id, manifest, publishedAt }: ReleaseRow<ReleaseManifest>): string[] {
  const sizeBytes = listedFiles(manifest).reduce((sum, { size_bytes }) => sum + size_bytes, 0);
  return [
    slug,
    shortId(id),
    manifest.counts.targets.toLocaleString('en'),
    formatCount(manifest.counts.residues),
    formatQuantity(sizeBytes, 'B'),
    manifest.encoder.id,
    publishedAt.slice(0, 16).replace('T', ' '),
  ];
}

/** Names the approximate policy of a release, and its neighbours. "index verify" reports damaged cards. */
async function describeSidecars(
  { config }: IndexCatalog,
  { slug, id }: ReleaseRow,
): Promise<readonly string[]> {
  const directory = releaseDirectory(config.indexesFolder, slug, id);
  const policy = await readPolicyCard(directory).catch(() => undefined);
  const neighbours = await readNeighboursCard(directory).catch(() => undefined);
  return [
    ...(policy !== undefined && isQualifiedPolicy(policy) ? [`policy ${policyKindOf(policy)}`] : []),
    ...(neighbours === undefined ? [] : ['neighbours']),
  ];
}

/** Says what searches by a codebook lose. Such a policy is chosen when the release is built. */
async function lossesOfCodebook(
  { config }: IndexCatalog,
  { slug, id }: ReleaseRow,
): Promise<readonly string[]> {
  // "index verify" reports a damaged card.
  const card = await readPolicyCard(releaseDirectory(config.indexesFolder, slug, id)).catch(() => undefined);
  if (card === undefined || policyKindOf(card) !== 'coded' || !isQualifiedPolicy(card)) return [];
  return [`\nSearched by a codebook: ${slug} ${shortId(id)}; it ${lossesOf(card.recalls, card)}.\n`];
}

async function hasEValues({ config }: IndexCatalog, { slug, id }: ReleaseRow): Promise<boolean> {
  // "index verify" reports a damaged card.
  const card = readCalibrationCard(releaseDirectory(config.indexesFolder, slug, id));
  return (await card.catch(() => undefined)) !== undefined;
}

async function isThere({ config }: IndexCatalog, { slug, id }: ReleaseRow): Promise<boolean> {
  return stat(join(releaseDirectory(config.indexesFolder, slug, id), MANIFEST_FILE)).then(
    () => true,
    () => false,
  );
}
