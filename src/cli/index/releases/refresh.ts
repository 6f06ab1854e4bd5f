import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { InvalidArgumentError, type Command } from 'commander';
import { readCalibrationCard } from '../../../significance/sidecar.js';
import { verifyEvidence } from '../../../recall/evidence.js';
import { assert, Refusal } from '../../../errors.js';
import { downloadIfChanged, rememberVersion, type Download } from '../../../build-release/download.js';
import { REFRESH_DOWNLOAD_MAX_BYTES } from '../../../limits.js';
import { releaseDirectory, type FoundRelease } from '../../../release/catalog.js';
import { readManifest } from '../../../release/manifest.js';
import type { ReleaseManifest } from '../../../release/release.js';
import { verifyRelease } from '../../../release/verify.js';
import { policyKindOf, type PolicyKind } from '../../../recall/policy-card.js';
import { readPolicyCard } from '../../../recall/policy-sidecar.js';
import type { CommandContext } from '../../terminal/command.js';
import { createProgress } from '../../terminal/progress.js';
import { ratioOf } from '../../terminal/selection.js';
import { build } from '../build.js';
import { shortId, withCatalog, type IndexCatalog } from '../catalog.js';

interface Options {
  readonly from: string;
  readonly maxLoss: number;
  readonly maxSize: number;
}

const FASTA_NAME = /\.(fasta|fa|faa|fas)(\.(gz|xz|zst))?$/i;
const MAX_LOSS = 0.1;

/** `gloaming refresh`: for people and timers. */
export function register(program: Command, context: CommandContext): void {
  program
    .command('refresh')
    .description(
      'build the next release of a database from what its source has now, and serve it when it is sound',
    )
    .argument('<database>', 'slug of a database')
    .requiredOption('--from <source>', 'http(s) address of a FASTA file, such a file, or a folder of them')
    .option(
      '--max-loss <ratio>',
      'proteins that the next release may have fewer: 0.1 or 10%',
      ratioOf,
      MAX_LOSS,
    )
    .option('--max-size <bytes>', 'longest download', bytesOf, REFRESH_DOWNLOAD_MAX_BYTES)
    .addHelpText('after', HELP)
    .action((slug: string, options: Options) =>
      withCatalog(context, (catalog) => refresh(catalog, slug, options, context)),
    );
}

const HELP = `
The source is the whole database, not what is new in it: sequences that were encoded before are not encoded
again. The next release keeps what "index build --from" keeps. It is built, calibrated and verified beside the
one that is served, and only then takes its place; the one before stays, and "index default --release" goes
back to it.`;

async function refresh(
  catalog: IndexCatalog,
  slug: string,
  options: Options,
  context: CommandContext,
): Promise<void> {
  const { config, table } = catalog;
  const database = table.database(slug);
  if (database?.slug !== slug) {
    throw new Refusal(
      'database_not_found',
      `There is no database ${JSON.stringify(slug)}; index build makes one.`,
    );
  }
  const standing = releaseDirectory(config.indexesFolder, slug, database.defaultReleaseId);
  const before = await readManifest(standing);
  const folder = join(config.dataFolder, 'refresh', slug);
  const source = await openSource(options, folder, context);
  if (source === undefined) {
    context.stdout.write(`${options.from} has not changed since ${slug} was built from it.\n`);
    return;
  }
  const input = { format: 'auto', duplicates: 'fail', gff: [], domains: [] } as const;
  const flags = { ...input, from: slug, calibration: true, qualification: true, default: false };
  const next = await build(
    catalog,
    source.files,
    { ...flags, relatives: homologsOf(before, catalog), policy: await policyOf(standing) },
    context,
  );
  assert(next !== undefined, 'a refresh is divided among no tasks');
  if (next.id === database.defaultReleaseId) {
    context.stdout.write(`${slug} is up to date.\n`);
  } else {
    await requireSound(next, { directory: standing, manifest: before }, options.maxLoss);
    await table.publish(table.release(next.id, slug)!);
    const earlier = shortId(database.defaultReleaseId);
    context.stdout.write(
      `\nThe default release of ${slug} is now ${shortId(next.id)}; ${earlier} stays beside it.\n`,
    );
  }
  if (source.download !== undefined) {
    await rememberVersion(folder, source.download.version);
    await rm(source.download.path);
  }
}

/** The approximate policy that was chosen for a release. */
async function policyOf(directory: string): Promise<PolicyKind> {
  const card = await readPolicyCard(directory);
  return card === undefined ? 'sampled' : policyKindOf(card);
}

interface OpenedSource {
  readonly files: readonly string[];
  readonly download?: Download;
}

/** Undefined where the source is what it was. */
async function openSource(
  { from, maxSize }: Options,
  folder: string,
  { stderr }: CommandContext,
): Promise<OpenedSource | undefined> {
  if (!/^https?:\/\//i.test(from)) return { files: await fastaFiles(from) };
  if (!URL.canParse(from)) throw new Refusal('invalid_option', `--from ${from} is no address.`);
  const progress = createProgress(stderr);
  try {
    const download = await downloadIfChanged(new URL(from), folder, {
      maxBytes: maxSize,
      onBytes: (done, total) => progress.update({ stage: 'download', done, total }),
    });
    return download && { files: [download.path], download };
  } finally {
    progress.end();
  }
}

async function fastaFiles(path: string): Promise<readonly string[]> {
  const status = await stat(path).catch(() => undefined);
  if (status === undefined) throw new Refusal('file_not_found', `There is no file or folder ${path}.`);
  if (!status.isDirectory()) return [path];
  const names = (await readdir(path)).filter((name) => FASTA_NAME.test(name)).sort();
  if (names.length > 0) return names.map((name) => join(path, name));
  throw new Refusal(
    'file_not_found',
    `${path} holds no FASTA files: expected are names such as lab.fasta or lab.fa.gz.`,
  );
}

/** What gave the standing release its relatives gives the next one its own. */
function homologsOf({ relatives: homologs }: ReleaseManifest, { scanned }: IndexCatalog): string {
  if (homologs === undefined) return 'none';
  const { background: homologSource } = homologs;
  if (homologSource.method === 'mmseqs') return homologSource.name;
  const found =
    homologSource.method === 'search' && scanned.releases.find(({ id }) => id === homologSource.release_id);
  if (found) return found.slug;
  throw new Refusal(
    'refresh_refused',
    'Its relatives come from what refresh does not know (given alignments, or a release that is gone): index build, ' +
      'then index default, makes its next release.',
  );
}

/**
 * What keeps a release from being served in the place of the standing one; it stays beside it.
 * Errors  Refusal `refresh_refused`
 */
async function requireSound(
  next: FoundRelease,
  standing: Pick<FoundRelease, 'directory' | 'manifest'>,
  maxLoss: number,
): Promise<void> {
  const [had, has] = [standing.manifest.counts.targets, next.manifest.counts.targets];
  const refuse = (why: string): Refusal =>
    new Refusal(
      'refresh_refused',
      `${next.slug} ${shortId(next.id)} was built and is not served: ${why}. "gloaming index default ${next.slug} ` +
        `--release ${shortId(next.id)}" serves it all the same.`,
    );
  if (has < had * (1 - maxLoss)) {
    throw refuse(
      `it has ${has} proteins where there were ${had}, and --max-loss allows ${Math.round(100 * maxLoss)} % fewer`,
    );
  }
  const { isIntact } = await verifyRelease(next.directory);
  if (!isIntact || (await verifyEvidence(next.directory)).length > 0) {
    throw refuse('its files are not what was written, so that the disk needs a look');
  }
  const wasCalibrated = (await readCalibrationCard(standing.directory)) !== undefined;
  if (wasCalibrated && (await readCalibrationCard(next.directory)) === undefined) {
    throw refuse('it could not be calibrated, and its answers would have no E-values');
  }
}

function bytesOf(text: string): number {
  const bytes = Number(text);
  if (Number.isSafeInteger(bytes) && bytes > 0) return bytes;
  throw new InvalidArgumentError('Expected a number of bytes.');
}
