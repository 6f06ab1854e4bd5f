import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { ApplianceConfig } from '../../config.js';
import { listEncoders } from '../../pipelines/encoders.js';
import { inspectGpus } from '../../pipelines/machine.js';
import type { FoundRelease } from '../../release/catalog.js';
import { lastMaintenance } from '../../services/backup/maintenance.js';
import type { Finding } from './finding.js';

const run = promisify(execFile);
/** Tolerated difference between the clocks of two machines, or before and after a synchronisation. */
const CLOCK_TOLERANCE_MS = 60_000;

/** Checks the encoder of new builds, and the encoders that the databases need for queries. */
export async function examineEncoders(
  config: ApplianceConfig,
  releases: readonly FoundRelease[],
): Promise<readonly Finding[]> {
  const encoders = await listEncoders(config);
  const usable = new Set(encoders.flatMap(({ id, card }) => (card === undefined ? [] : [id])));
  const there = `there are ${[...usable].join(', ')}, and gloaming encoder add brings others`;
  const findings = releases
    .filter(({ manifest }) => !usable.has(manifest.encoder.id))
    .map(({ slug, id, manifest }): Finding => {
      const reason = `as its encoder ${manifest.encoder.id} is not installed; ${there}`;
      const message = `${slug} (${id.slice(0, 12)}…) cannot be searched, ${reason}`;
      return { topic: 'encoder', state: 'bad', message };
    });
  if (usable.has(config.encoder))
    return [{ topic: 'encoder', state: 'good', message: `${config.encoder} is installed` }, ...findings];
  const reason = encoders.find(({ id }) => id === config.encoder)?.problem ?? `it is not installed; ${there}`;
  const message = `builds cannot take the encoder ${config.encoder}: ${reason}`;
  return [{ topic: 'encoder', state: 'warning', message }, ...findings];
}

/** Reports the GPUs in use, or why none is used. The result is bad when the settings demand a GPU. */
export function examineGpu({ device }: ApplianceConfig): Finding {
  const { gpus, obstacle } = inspectGpus(device);
  const reason = obstacle?.replace(/\.$/, '');
  if (reason === undefined) return { topic: 'gpu', state: 'good', message: gpus.join('; ') };
  if (device === 'cuda' || device === 'tensorflow') {
    const remedy = 'mend that, or set device to cpu';
    return { topic: 'gpu', state: 'bad', message: `the device setting is ${device}. ${reason}; ${remedy}` };
  }
  return { topic: 'gpu', state: 'good', message: reason };
}

/** Checks the clock: expiry of keys, signed URLs and TLS depend on it. */
export async function examineClock({ dataFolder }: ApplianceConfig, now: Date): Promise<Finding> {
  const [latest] = (['backup', 'fsck', 'contract'] as const)
    .flatMap((kind) => lastMaintenance(dataFolder, kind)?.at ?? [])
    .sort((a, b) => Date.parse(b) - Date.parse(a));
  const says = `the clock says ${now.toISOString()}`;
  if (latest !== undefined && Date.parse(latest) > now.getTime() + CLOCK_TOLERANCE_MS) {
    const message = `${says}, but something was done here at ${latest}: it was set back, or was wrong then; set it`;
    return { topic: 'clock', state: 'bad', message };
  }
  const isSynchronised = await askWhetherSynchronised();
  if (isSynchronised === undefined)
    return { topic: 'clock', state: 'note', message: `${says}; nothing here tells whether that is right` };
  return isSynchronised
    ? { topic: 'clock', state: 'good', message: `${says}, synchronised` }
    : { topic: 'clock', state: 'warning', message: `${says}, not synchronised: timedatectl set-ntp true` };
}

/** Asks systemd, which knows every time service. Undefined without systemd. */
async function askWhetherSynchronised(): Promise<boolean | undefined> {
  try {
    const parameters = ['show', '--property=NTPSynchronized', '--value'];
    const { stdout } = await run('timedatectl', parameters, { timeout: 2_000 });
    return stdout.trim() === 'yes';
  } catch {
    return undefined;
  }
}
