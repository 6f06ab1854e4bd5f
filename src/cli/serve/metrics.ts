import { existsSync, statfsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Appliance } from '../../appliance.js';
import type { Metrics } from '../../http/pages/metrics.js';
import type { Gpu } from '../../kernels/addon.js';
import { isCudaBackend, type CudaBackend } from '../../kernels/cuda.js';

/** Adds what the appliance stands on: its kernels, its control state and its disks. */
export function watchAppliance(metrics: Metrics, { backend, config, releases, sql }: Appliance): Metrics {
  const { name, variant, version } = backend;
  metrics.watch(
    'gloaming_kernels_info',
    'The kernel backend that serves.',
    ['backend', 'variant', 'version'],
    () => [{ labels: { backend: name, variant, version }, value: 1 }],
  );
  if (isCudaBackend(backend)) watchGpus(metrics, backend);
  metrics.watch('gloaming_databases', 'Databases in the catalog.', [], () => [
    { value: releases.databases().length },
  ]);
  metrics.watch('gloaming_control_state_bytes', 'Size of the LMDB environment.', [], () => [
    { value: statSync(join(config.dataFolder, 'control', 'data.mdb')).size },
  ]);
  metrics.watch('gloaming_sql_engines', 'SQL engines that are open.', [], () => [
    { value: sql.counts().engines },
  ]);
  metrics.watch('gloaming_sql_statements_at_work', 'SQL statements that have a turn.', [], () => [
    { value: sql.counts().statements },
  ]);
  const folders = Object.entries({ data: config.dataFolder, indexes: config.indexesFolder });
  metrics.watch('gloaming_disk_free_bytes', 'Free space where the folder lies.', ['folder'], () =>
    folders
      // Nothing has been built yet where the indexes folder is missing.
      .filter(([, path]) => existsSync(path))
      .map(([folder, path]) => {
        const { bavail, bsize } = statfsSync(path);
        return { labels: { folder }, value: bavail * bsize };
      }),
  );
  return metrics;
}

/** What lies in the memory of each GPU, and how often the CPU had to help out. */
function watchGpus(metrics: Metrics, backend: CudaBackend): void {
  const watch = (name: string, help: string, read: (gpu: Gpu) => number): void =>
    metrics.watch(name, help, ['gpu', 'name'], () => {
      const report = backend.report();
      // A GPU that was lost is not there until the next search finds it again.
      if (report.obstacle !== undefined) return [];
      return report.gpus.map((gpu) => ({
        labels: { gpu: String(gpu.ordinal), name: gpu.name },
        value: read(gpu),
      }));
    });
  watch('gloaming_gpu_memory_bytes', 'Memory of the GPU.', ({ totalBytes }) => totalBytes);
  watch(
    'gloaming_gpu_memory_free_bytes',
    'Memory of the GPU that nobody uses.',
    ({ freeBytes }) => freeBytes,
  );
  watch(
    'gloaming_gpu_resident_releases',
    'Releases of which a part lies in the memory of the GPU.',
    ({ residentCount }) => residentCount,
  );
  watch(
    'gloaming_gpu_resident_bytes',
    'Bytes of releases in the memory of the GPU.',
    ({ residentBytes }) => residentBytes,
  );
  metrics.watch('gloaming_kernel_retries', 'Work that the CPU did after an error of a GPU.', [], () => [
    { value: backend.retryCount() },
  ]);
}
