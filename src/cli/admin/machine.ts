import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { canonicalSha256 } from '../../canonical.js';
import type { ApplianceConfig } from '../../config.js';
import type { ListedEncoder } from '../../pipelines/encoders.js';
import { inspectGpus } from '../../pipelines/machine.js';
import type { FoundRelease } from '../../release/catalog.js';
import { lastMaintenance } from '../../services/backup/maintenance.js';
import type { Finding } from './finding.js';

const run = promisify(execFile);
/** Tolerated difference between the clocks of two machines, or before and after a synchronisation. */
const CLOCK_TOLERANCE_MS = 60_000;

/** Checks the encoder of new builds, and the encoders that the databases need for queries. */
export function examineEncoders(
  { encoder }: Pick<ApplianceConfig, 'encoder'>,
  releases: readonly FoundRelease[],
  encoders: readonly ListedEncoder[],
): readonly Finding[] {
  const problems = new Map(encoders.map(({ id, problem }) => [id, problem]));
  // A release of another version than the installed one takes the copy that its build kept.
  const servesQueries = ({ id, sha256 }: FoundRelease['manifest']['encoder']): boolean =>
    encoders.some(
      ({ id: other, card, problem }) =>
        other === id && (problem === undefined || (card !== undefined && canonicalSha256(card) !== sha256)),
    );
  const usable = encoders.filter(({ problem }) => problem === undefined).map(({ id }) => id);
  const there =
    usable.length === 0
      ? 'none is usable, and gloaming encoder add brings one'
      : `there are ${usable.join(', ')}, and gloaming encoder add brings others`;
  const findings = releases
    .filter(({ manifest }) => !servesQueries(manifest.encoder))
    .map(({ slug, id, manifest }): Finding => {
      const { id: needed } = manifest.encoder;
      const problem = problems.get(needed);
      const state =
        problem === undefined
          ? `not installed; ${there}`
          : `not usable: ${problem.replace(/\.$/, '')}; install this version again`;
      const message = `${slug} (${id.slice(0, 12)}…) cannot be searched, as its encoder ${needed} is ${state}`;
      return { topic: 'encoder', state: 'bad', message };
    });
  if (usable.includes(encoder))
    return [{ topic: 'encoder', state: 'good', message: `${encoder} is installed` }, ...findings];
  const reason = problems.get(encoder) ?? `it is not installed; ${there}`;
  const message = `builds cannot take the encoder ${encoder}: ${reason}`;
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
