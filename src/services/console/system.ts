import { statfs } from 'node:fs/promises';
import { cpus, freemem, hostname, loadavg, totalmem } from 'node:os';
import type { ApplianceConfig } from '../../config.js';
import { listEncoders } from '../../encoder/find.js';
import { describeGpus, servedOperations, whyNoGpu } from '../../kernels/choose.js';
import type { KernelBackend } from '../../kernels/kernels.js';
import type { UsageTable } from '../../store/tables/usage.js';
import { lastMaintenance } from '../backup/maintenance.js';

export interface SystemDependencies {
  readonly config: ApplianceConfig;
  readonly backend: KernelBackend;
  readonly usage: Pick<UsageTable, 'totals'>;
  readonly serverVersion: string;
}

/** Billed operations, by the names of the ledger. */
const BILLED = [
  'homology.search',
  'homology.batch_search',
  'homology.annotate',
  'sequences.msa.build',
  'sequences.relatives',
  'structure.predict',
] as const;

/** Report of `gloaming doctor` with disk and usage, for the operator. Wire names. Errors  those of the checks */
export async function describeSystem(
  { config, backend, usage, serverVersion }: SystemDependencies,
  organizations: readonly string[],
) {
  const { device, dataFolder, indexesFolder } = config;
  const encoders = await listEncoders(config);
  const noGpu = whyNoGpu(device);
  return {
    server_version: serverVersion,
    machine: {
      host: hostname(),
      processor: cpus()[0]?.model ?? 'unknown',
      cores: cpus().length,
      load: loadavg()[0],
      memory_bytes: totalmem(),
      free_memory_bytes: freemem(),
      process_memory_bytes: process.memoryUsage().rss,
      node: process.version,
      uptime_seconds: Math.round(process.uptime()),
    },
    operations: servedOperations(backend).map(({ operation, servedBy, reason }) => ({
      operation,
      served_by: servedBy,
      reason,
    })),
    gpus: describeGpus(),
    ...(noGpu !== undefined && { why_no_gpu: noGpu }),
    encoders: encoders.map(({ id, isShipped, card, problem }) => ({
      id,
      is_default: id === config.encoder,
      is_shipped: isShipped,
      is_baseline: card?.is_baseline ?? false,
      state: problem ?? 'good',
    })),
    disks: await Promise.all([diskOf('data', dataFolder), diskOf('indexes', indexesFolder)]),
    maintenance: {
      backup: lastMaintenance(dataFolder, 'backup') ?? null,
      fsck: lastMaintenance(dataFolder, 'fsck') ?? null,
    },
    usage: organizations.map((organization) => ({
      organization,
      endpoints: BILLED.map((endpoint) => ({ endpoint, ...usage.totals(organization, endpoint) })),
    })),
  };
}

async function diskOf(name: string, folder: string) {
  const { bsize, blocks, bavail } = await statfs(folder);
  return { name, folder, total_bytes: blocks * bsize, free_bytes: bavail * bsize };
}
