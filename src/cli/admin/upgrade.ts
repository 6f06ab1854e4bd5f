import { readFileSync } from 'node:fs';
import { stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command } from 'commander';
import { CARD_FORMAT, UNCONTROLLED_FORMAT } from '../../significance/card.js';
import { readCalibrationCard } from '../../significance/sidecar.js';
import { canonicalSha256 } from '../../canonical.js';
import { loadConfig, type ApplianceConfig } from '../../config.js';
import { publicRoutes, type PublicRouteManifest } from '../../contract/document/manifest.js';
import { contractDigest, openApiDocument } from '../../contract/document/openapi.js';
import { CONTRACT_VERSION } from '../../contract/grammar/headers.js';
import { listEncoders } from '../../pipelines/encoders.js';
import { Refusal } from '../../errors.js';
import { scanReleases, type FoundRelease } from '../../release/catalog.js';
import { lastMaintenance, recordMaintenance } from '../../services/backup/maintenance.js';
import { compactIfDue } from '../../store/compact.js';
import { MIGRATION_MEANINGS } from '../../store/migrations.js';
import { CONTROL_FILE, CONTROL_FOLDER } from '../../store/prepare.js';
import { openSnapshot } from '../../store/snapshot.js';
import { copyPath } from '../../store/copy.js';
import { latestVersion, SETTINGS_TABLE, VERSION_KEY, versionOf } from '../../store/version.js';
import type { CommandContext } from '../terminal/command.js';
import { formatQuantity } from '../terminal/progress.js';

/** `gloaming upgrade`. */
export function register(program: Command, context: CommandContext): void {
  program
    .command('upgrade')
    .description('bring the data folder to the version of this program; a start does so, too')
    .option('--check', 'say what would change, and change nothing')
    .addHelpText('after', '\nExit code: 0, or 2 where the data were written by a newer program.')
    .action(async ({ check }: { check?: boolean }) => {
      const config = loadConfig(context.environment);
      const digest = contractDigestOf(config);
      const lines = [
        ...(await describeControlState(config.dataFolder)),
        describeContract(config.dataFolder, digest),
        ...(await describeReleases(config)),
      ];
      context.stdout.write(lines.map((line) => `${line}\n`).join(''));
      if (check === true) return;
      await compactIfDue(config.dataFolder);
      recordMaintenance(config.dataFolder, 'contract', { at: new Date().toISOString(), outcome: digest });
      context.stdout.write('Done.\n');
    });
}

/** Errors  Refusal `data_folder_newer` */
async function describeControlState(dataFolder: string): Promise<readonly string[]> {
  const version = await storedVersion(dataFolder);
  const latest = latestVersion();
  if (version === undefined)
    return [`control state: ${dataFolder} has none yet; it begins with version ${latest}`];
  if (version === latest) return [`control state: version ${version}, which this program writes`];
  const { size } = await stat(join(dataFolder, CONTROL_FOLDER, CONTROL_FILE));
  const { bavail, bsize } = await statfs(dataFolder);
  const [copy, free] = [size, bavail * bsize].map((bytes) => formatQuantity(bytes, 'B'));
  return [
    `control state: version ${version} becomes ${latest}; an older program will not open it any more`,
    ...MIGRATION_MEANINGS.slice(version - 1).map((meaning, at) => `  ${version + at + 1}: ${meaning}`),
    `  a copy of before (${copy}; ${free} are free) will lie in ${copyPath(dataFolder, version)}`,
    ...(version < SEALED_VERSION
      ? ['  that copy holds secrets in clear, as the data do: delete it afterwards']
      : []),
  ];
}

/** From this version on, the file of the control state contains no secret in clear text. */
const SEALED_VERSION = 4;

/** Returns undefined without a control state. Errors  Refusal `data_folder_newer`, `data_folder_damaged` */
async function storedVersion(dataFolder: string): Promise<number | undefined> {
  try {
    const snapshot = await openSnapshot(dataFolder);
    const stored = snapshot.get(SETTINGS_TABLE, VERSION_KEY);
    await snapshot.close();
    return versionOf(stored && (JSON.parse(stored.toString()) as string));
  } catch (error) {
    if (error instanceof Refusal && error.code === 'data_folder_empty') return undefined;
    throw error;
  }
}

function contractDigestOf({ packageFolder }: ApplianceConfig): string {
  const text = readFileSync(join(packageFolder, 'config', 'public-routes.json'), 'utf8');
  return contractDigest(openApiDocument(publicRoutes(JSON.parse(text) as PublicRouteManifest), '/'));
}

function describeContract(dataFolder: string, digest: string): string {
  const served = lastMaintenance(dataFolder, 'contract')?.outcome;
  const now = `contract: ${CONTRACT_VERSION}, digest ${digest.slice(0, 19)}…`;
  if (served === undefined) return `${now}; which one was served before is not known`;
  return served === digest
    ? `${now}, as before`
    : `${now}; before it was ${served.slice(0, 19)}…: CHANGELOG.md says why`;
}

/** Reports which databases this version can open. Upgrading never rewrites a release. */
async function describeReleases(config: ApplianceConfig): Promise<readonly string[]> {
  const { releases, damaged } = await scanReleases(config.indexesFolder);
  const encoders = new Map((await listEncoders(config)).map(({ id, card }) => [id, card]));
  const lines = [`databases: ${releases.length} releases can be read as they are`];
  for (const { slug, problem } of damaged) lines.push(`  ${slug}: ${problem}`);
  for (const release of releases) {
    const name = `  ${release.slug} ${release.id.slice(0, 16)}`;
    const { id, sha256 } = release.manifest.encoder;
    const card = encoders.get(id);
    if (card === undefined)
      lines.push(`${name}: its encoder ${id} is not installed; queries cannot be encoded`);
    else if (canonicalSha256(card) !== sha256)
      lines.push(
        `${name}: ${id} is another version than it was built with; build it again, or put that version back`,
      );
    const calibration = await describeCalibration(release);
    if (calibration !== undefined) lines.push(`${name}: ${calibration}`);
  }
  return lines;
}

async function describeCalibration({ directory }: FoundRelease): Promise<string | undefined> {
  const hasOne = await stat(`${directory}.calibration`).catch(() => undefined);
  if (hasOne === undefined) return undefined;
  try {
    const card = await readCalibrationCard(directory);
    if (card === undefined)
      return 'its calibration is of a form that counts as none; index calibrate measures it anew';
    if (card.format === UNCONTROLLED_FORMAT)
      return `its calibration goes on as ${card.format}; index calibrate makes it ${CARD_FORMAT}`;
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}
