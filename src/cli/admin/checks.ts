import { createPrivateKey, X509Certificate } from 'node:crypto';
import { access, constants, readFile, statfs } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import type { ApplianceConfig } from '../../config.js';
import { readCalibrationCard } from '../../significance/sidecar.js';
import { GIBIBYTE_BYTES, MEBIBYTE_BYTES } from '../../limits.js';
import { listEncoders, type ListedEncoder } from '../../pipelines/encoders.js';
import { listUnindexedSources } from '../../pipelines/homologs.js';
import { scanReleases } from '../../release/catalog.js';
import { lastMaintenance, type MaintenanceKind } from '../../services/backup/maintenance.js';
import { connectWorker, type WorkerConnection } from '../../services/workers/worker-connection.js';
import { wronglyShared } from '../../store/prepare.js';
import { answersThere, checkAddresses, isLoopbackHost } from '../serve/address.js';
import { validityOf } from '../serve/certificate.js';
import type { Finding } from './finding.js';
import { examineClock, examineEncoders, examineGpu } from './machine.js';

const DAY_MS = 24 * 60 * 60 * 1000;
const BACKUP_WARNING_DAYS = 3;
const FSCK_WARNING_DAYS = 21;
const WORKER_GREETING_MAX_MS = 2_000;

export function isBad({ state }: Finding): boolean {
  return state === 'bad';
}

/**
 * Examines everything that an administrator would check, in the order of a start. Changes nothing.
 * @param encoders default: those that are there, without a check of their digests
 */
export async function examineAppliance(
  config: ApplianceConfig,
  now: Date = new Date(),
  encoders?: readonly ListedEncoder[],
): Promise<readonly Finding[]> {
  return [
    ...(await examineFolders(config)),
    await examinePort(config),
    ...(await examineTls(config, now)),
    examineGpu(config),
    await examineClock(config, now),
    ...(await examineWorkers(config)),
    await examineDisk(config),
    ...(await examineDatabases(config, encoders ?? (await listEncoders(config)))),
    ...(await examineHomologSources(config)),
    examineMaintenance(config, 'backup', BACKUP_WARNING_DAYS, now),
    examineMaintenance(config, 'fsck', FSCK_WARNING_DAYS, now),
  ];
}

async function examineFolders({ indexesFolder, dataFolder }: ApplianceConfig): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  for (const folder of [indexesFolder, dataFolder]) {
    const place = existingAbove(folder);
    try {
      await access(place, constants.W_OK | constants.X_OK);
      const message = place === folder ? `${folder} is writable` : `${folder} will be made in ${place}`;
      findings.push({ topic: 'folders', state: 'good', message });
    } catch (error) {
      const { code = 'unknown error' } = error as NodeJS.ErrnoException;
      const message = `${folder} is not writable (${code}); give it to the user that runs gloaming`;
      findings.push({ topic: 'folders', state: 'bad', message });
    }
  }
  for (const [path] of wronglyShared(dataFolder)) {
    const message = `others may read ${path}; the next start repairs it`;
    findings.push({ topic: 'folders', state: 'warning', message });
  }
  return findings;
}

/** Returns the folder itself, or its nearest existing parent. */
function existingAbove(folder: string): string {
  return existsSync(folder) || dirname(folder) === folder ? folder : existingAbove(dirname(folder));
}

async function examinePort(config: ApplianceConfig): Promise<Finding> {
  const { host, port } = config;
  try {
    await checkAddresses(config);
    return { topic: 'port', state: 'good', message: `${host}:${port} is free` };
  } catch (error) {
    if (await answersThere(config))
      return { topic: 'port', state: 'good', message: `${host}:${port} is served by gloaming` };
    return { topic: 'port', state: 'bad', message: (error as Error).message };
  }
}

async function examineTls({ tls, host }: ApplianceConfig, now: Date): Promise<readonly Finding[]> {
  if (tls === undefined) {
    const isLocal = isLoopbackHost(host);
    const message = isLocal
      ? 'plain HTTP, for this machine only'
      : 'plain HTTP: anyone on the network can read the API keys';
    return [{ topic: 'tls', state: isLocal ? 'good' : 'warning', message }];
  }
  try {
    const certificate = new X509Certificate(await readFile(tls.certificateFile));
    if (!certificate.checkPrivateKey(createPrivateKey(await readFile(tls.keyFile)))) {
      const message = `${tls.keyFile} is not the key of ${tls.certificateFile}: name the two that belong together`;
      return [{ topic: 'tls', state: 'bad', message }];
    }
    const { state, daysLeft } = validityOf(certificate, now);
    if (state === 'expired') {
      const message = `the certificate ${tls.certificateFile} has expired at ${certificate.validTo}: renew it`;
      return [{ topic: 'tls', state: 'bad', message }];
    }
    if (state === 'early') {
      const message = `the certificate ${tls.certificateFile} is not valid before ${certificate.validFrom}`;
      return [{ topic: 'tls', state: 'bad', message: `${message}: set the clock if it is wrong, or wait` }];
    }
    const until = `valid until ${certificate.validTo}, ${daysLeft} days from now`;
    const message = `the certificate ${tls.certificateFile} is ${until}`;
    return [{ topic: 'tls', state: state === 'ending' ? 'warning' : 'good', message }];
  } catch (error) {
    const message = `${tls.certificateFile} and ${tls.keyFile} cannot be used: ${(error as Error).message}`;
    const remedy = 'name PEM files that this user can read';
    return [{ topic: 'tls', state: 'bad', message: `${message}; ${remedy}` }];
  }
}

/** Checks that each worker is reachable, accepts the API key and serves partial results. Errors  none */
export async function examineWorkers({
  workers,
}: Pick<ApplianceConfig, 'workers'>): Promise<readonly Finding[]> {
  return Promise.all(
    (workers?.nodes ?? []).map(async (node): Promise<Finding> => {
      const held = `${node.url}, which holds ${node.parts.join(', ')} of ${workers?.partCount} parts,`;
      let connection: WorkerConnection | undefined;
      try {
        connection = connectWorker(node);
        await connection.probe(AbortSignal.timeout(WORKER_GREETING_MAX_MS));
        return { topic: 'workers', state: 'good', message: `${held} answers` };
      } catch (error) {
        const message = `${held} does not answer as it should: ${(error as Error).message}`;
        return { topic: 'workers', state: 'warning', message };
      } finally {
        connection?.close();
      }
    }),
  );
}

async function examineDisk({ dataFolder, storageReserveBytes }: ApplianceConfig): Promise<Finding> {
  const { bavail, bsize } = await statfs(existingAbove(dataFolder));
  const free = bavail * bsize;
  const message = `${gibibytes(free)} free for ${dataFolder}, of which uploads leave ${gibibytes(storageReserveBytes)}`;
  if (free < 64 * MEBIBYTE_BYTES) return { topic: 'disk', state: 'bad', message };
  return { topic: 'disk', state: free < storageReserveBytes ? 'warning' : 'good', message };
}

async function examineDatabases(
  config: ApplianceConfig,
  encoders: readonly ListedEncoder[],
): Promise<readonly Finding[]> {
  const { releases, damaged } = await scanReleases(config.indexesFolder);
  const tokenBytes = releases.reduce((sum, { manifest }) => sum + manifest.files.tokens.size_bytes, 0);
  const [needed, room] = [tokenBytes, config.memoryBytes].map(gibibytes);
  const message = `${releases.length} releases take ${needed} of ${room} memory`;
  const isRoomy = tokenBytes <= config.memoryBytes;
  const remedy = isRoomy ? '' : '; searches will wait for the disk: remove releases or add memory';
  const findings: Finding[] = [
    { topic: 'memory', state: isRoomy ? 'good' : 'warning', message: message + remedy },
    ...examineEncoders(config, releases, encoders),
  ];
  for (const { directory, problem } of damaged) {
    findings.push({ topic: 'databases', state: 'bad', message: `${directory}: ${problem}` });
  }
  for (const { slug, directory, id } of releases) {
    if ((await readCalibrationCard(directory).catch(() => undefined)) !== undefined) continue;
    const remedyOf = `gloaming index calibrate ${slug}`;
    findings.push({
      topic: 'calibration',
      state: 'note',
      message: `${slug} (${id.slice(0, 12)}…) has no E-values: ${remedyOf}`,
    });
  }
  return findings;
}

async function examineHomologSources({ indexesFolder }: ApplianceConfig): Promise<readonly Finding[]> {
  return (await listUnindexedSources(indexesFolder)).map((name) => ({
    topic: 'homologs',
    state: 'note',
    message: `${name} has no k-mer indexes, so each search of it makes its own: gloaming homolog-source index ${name}`,
  }));
}

function examineMaintenance(
  { dataFolder }: ApplianceConfig,
  kind: MaintenanceKind,
  warningDays: number,
  now: Date,
): Finding {
  const last = lastMaintenance(dataFolder, kind);
  if (last === undefined)
    return { topic: kind, state: 'note', message: `gloaming ${kind} has not been run here` };
  const days = Math.floor((now.getTime() - Date.parse(last.at)) / DAY_MS);
  const state = days > warningDays ? 'warning' : 'good';
  return { topic: kind, state, message: `last at ${last.at}, ${days} days ago: ${last.outcome}` };
}

function gibibytes(bytes: number): string {
  return `${(bytes / GIBIBYTE_BYTES).toFixed(1)} GiB`;
}
