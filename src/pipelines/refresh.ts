import { mkdir, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import {
  downloadIfChanged,
  rememberVersion,
  removeDownloads,
  type Download,
} from '../build-release/download.js';
import { assert, Refusal } from '../errors.js';
import { lockFolder } from '../processes.js';
import { verifyEvidence } from '../recall/evidence.js';
import { policyKindOf, type PolicyKind } from '../recall/policy-card.js';
import { readPolicyCard } from '../recall/policy-sidecar.js';
import { releaseDirectory, type FoundRelease } from '../release/catalog.js';
import { readManifest } from '../release/manifest.js';
import type { ReleaseManifest } from '../release/release.js';
import { verifyRelease } from '../release/verify.js';
import { readCalibrationCard } from '../significance/sidecar.js';
import type { DatabaseRow } from '../store/tables/releases.js';
import { build, type InputCounts } from './build.js';
import { databaseNotFound, selectOneRelease, shortId, type IndexCatalog } from './catalog.js';
import type { PipelineEvents } from './events/notices.js';

export interface RefreshOptions {
  /** http(s) address of a FASTA file, path of one, or a folder of them: the whole database. */
  readonly from: string;
  /** Share of the proteins that the next release may lose. 0..1 */
  readonly maxLoss: number;
  /** Longest download. Unit: bytes */
  readonly maxSize: number;
}

export type RefreshResult =
  /** The source has not changed since the last refresh. */
  | { readonly kind: 'source_unchanged' }
  /** The source gives the release that is served. */
  | { readonly kind: 'up_to_date' }
  | { readonly kind: 'served'; readonly earlierId: string; readonly id: string };

const FASTA_NAME = /\.(fasta|fa|faa|fas)(\.(gz|xz|zst))?$/i;

/**
 * Builds the next release of a database from its source, verifies it beside the served one, and makes it the default.
 * Notices: those of build. Stages: `download` and those of build.
 * Errors  Refusal `database_not_found`, `file_not_found`, `refresh_refused` where the next release is not sound,
 *         `build_running` where another process refreshes the database; those of build
 */
export async function refresh(
  catalog: IndexCatalog,
  slug: string,
  options: RefreshOptions,
  events: PipelineEvents,
): Promise<RefreshResult> {
  requireDatabase(catalog, slug);
  const folder = join(catalog.config.dataFolder, 'refresh', slug);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const unlock = await lockFolder(folder, `${slug} is being refreshed`);
  try {
    await removeDownloads(folder);
    return await refreshInFolder(folder, catalog, slug, options, events);
  } finally {
    await removeDownloads(folder).finally(unlock);
  }
}

/** @param folder  of downloads and of the validators of the source, locked */
async function refreshInFolder(
  folder: string,
  catalog: IndexCatalog,
  slug: string,
  options: RefreshOptions,
  events: PipelineEvents,
): Promise<RefreshResult> {
  const { config, table } = catalog;
  const database = requireDatabase(catalog, slug);
  const earlierId = database.defaultReleaseId;
  const standing = releaseDirectory(config.indexesFolder, slug, earlierId);
  const before = await readManifest(standing);
  const source = await openSource(options, folder, events);
  if (source === undefined) return { kind: 'source_unchanged' };
  const buildOptions = {
    slug,
    from: selectOneRelease(catalog, slug),
    input: { paths: source.files },
    isDefault: false,
    calibrates: true,
    qualifies: true,
    homologs: homologsOf(before, catalog),
    policy: await policyOf(standing),
    checkInput: (input: InputCounts) => requireEnough(slug, input, before, options.maxLoss),
  };
  const built = await build(catalog, buildOptions, events);
  assert(built.kind === 'published', 'a refresh is divided among no tasks');
  const { release } = built;
  if (release.id !== earlierId) {
    await requireSound(release, { directory: standing, manifest: before });
    await table.publish(table.release(release.id, slug)!);
  }
  if (source.download !== undefined) await rememberVersion(folder, source.download.version);
  return release.id === earlierId ? { kind: 'up_to_date' } : { kind: 'served', earlierId, id: release.id };
}

function requireDatabase({ table }: Pick<IndexCatalog, 'table'>, slug: string): DatabaseRow {
  const database = table.database(slug);
  if (database?.slug === slug) return database;
  const slugs = table.databases().map((each) => each.slug);
  throw databaseNotFound(slug, slugs, 'database');
}

/** Returns the kind of approximate policy that a release was qualified for. */
async function policyOf(directory: string): Promise<PolicyKind> {
  const card = await readPolicyCard(directory);
  return card === undefined ? 'sampled' : policyKindOf(card);
}

interface OpenSource {
  readonly files: readonly string[];
  readonly download?: Download;
}

/** Downloads a remote source. Returns undefined where it has not changed. */
async function openSource(
  { from, maxSize }: RefreshOptions,
  folder: string,
  { onProgress }: PipelineEvents,
): Promise<OpenSource | undefined> {
  if (!/^https?:\/\//i.test(from)) return { files: await fastaFiles(from) };
  if (!URL.canParse(from)) throw new Refusal('invalid_option', `--from ${from} is no address.`);
  const download = await downloadIfChanged(new URL(from), folder, {
    maxBytes: maxSize,
    onBytes: (done, total) => onProgress?.({ stage: 'download', done, total }),
  });
  return download && { files: [download.path], download };
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

/** Names the homolog source of the served release as an option of the next build. */
function homologsOf({ relatives: homologs }: ReleaseManifest, { scanned }: IndexCatalog): string {
  if (homologs === undefined) return 'none';
  const { background: homologSource } = homologs;
  // The input has the members.
  if (homologSource.method === 'families') return 'none';
  if (homologSource.method === 'mmseqs') return homologSource.name;
  const database =
    homologSource.method === 'search' && scanned.releases.find(({ id }) => id === homologSource.release_id);
  if (database) return database.slug;
  throw new Refusal(
    'refresh_refused',
    'Its homologs come from a source that refresh cannot open (alignments, or a deleted release): index build, ' +
      'then index default, makes its next release.',
  );
}

/**
 * Refuses a source with too few proteins, or with families in the place of proteins or the reverse.
 * Errors  Refusal `refresh_refused`
 */
function requireEnough(
  slug: string,
  { targets: has, hasFamilies }: InputCounts,
  standing: ReleaseManifest,
  maxLoss: number,
): void {
  const refuse = (why: string): Refusal =>
    new Refusal('refresh_refused', `${slug} is not refreshed, and nothing was built: ${why}.`);
  const hadFamilies = areFamilies(standing);
  if (hadFamilies && !hasFamilies) throw refuse(NO_FAMILIES);
  if (!hadFamilies && hasFamilies) {
    throw refuse(
      'its source has families where there were proteins; "index build --members" makes members of them',
    );
  }
  const { targets: had } = standing.counts;
  if (has >= had * (1 - maxLoss)) return;
  const allowed = `--max-loss allows ${Math.round(100 * maxLoss)} % fewer`;
  throw refuse(`its source has ${has} proteins where there were ${had}, and ${allowed}`);
}

const NO_FAMILIES = 'its source has proteins where there were families';

function areFamilies({ relatives: homologs }: ReleaseManifest): boolean {
  return homologs?.background.method === 'families';
}

/**
 * Refuses to serve a release that is damaged, or has no families or calibration where the served one has. The release
 * stays beside the served one.
 * Errors  Refusal `refresh_refused`
 */
async function requireSound(
  next: FoundRelease,
  standing: Pick<FoundRelease, 'directory' | 'manifest'>,
): Promise<void> {
  const refuse = (why: string): Refusal =>
    new Refusal(
      'refresh_refused',
      `${next.slug} ${shortId(next.id)} was built and is not served: ${why}. "gloaming index default ${next.slug} ` +
        `--release ${shortId(next.id)}" serves it all the same.`,
    );
  // Families of one member each are built as proteins.
  if (areFamilies(standing.manifest) && !areFamilies(next.manifest)) throw refuse(NO_FAMILIES);
  const { isIntact } = await verifyRelease(next.directory);
  if (!isIntact || (await verifyEvidence(next.directory)).length > 0) {
    throw refuse('its files are not what was written, so that the disk needs a look');
  }
  const wasCalibrated = (await readCalibrationCard(standing.directory)) !== undefined;
  if (wasCalibrated && (await readCalibrationCard(next.directory)) === undefined) {
    throw refuse('it could not be calibrated, and its answers would have no E-values');
  }
}
