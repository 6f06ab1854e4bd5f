import { existsSync, statfsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Appliance } from '../../appliance.js';
import type { Metrics, Reading } from '../../http/pages/metrics.js';
import { gpusOf, type Gpu, type Gpus } from '../../services/gpus.js';
import { lastMaintenance } from '../../services/backup/maintenance.js';
import type { SearchCount } from '../../services/search/tally.js';

/** Adds metrics of kernels, control state and disks, and of the work by database and kind. */
export function watchAppliance(metrics: Metrics, appliance: Appliance): Metrics {
  const { backend, config, releases, sql, workers } = appliance;
  const { name, variant, version } = backend;
  metrics.watch(
    'gloaming_kernels_info',
    'The kernel backend that serves.',
    ['backend', 'variant', 'version'],
    () => [{ labels: { backend: name, variant, version }, value: 1 }],
  );
  const gpus = gpusOf(backend);
  if (gpus !== undefined) watchGpus(metrics, gpus);
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
  if (workers !== undefined) {
    const help = 'Parts asked of workers, and looked at here in their place.';
    metrics.watchTotal('gloaming_worker_parts_total', help, ['worker', 'outcome'], () =>
      workers.counts().map(({ worker, outcome, count }) => ({ labels: { worker, outcome }, value: count })),
    );
  }
  const folders = Object.entries({ data: config.dataFolder, indexes: config.indexesFolder });
  metrics.watch('gloaming_disk_free_bytes', 'Free space where the folder lies.', ['folder'], () =>
    folders
      // A missing indexes folder means that no database has been built.
      .filter(([, path]) => existsSync(path))
      .map(([folder, path]) => {
        const { bavail, bsize } = statfsSync(path);
        return { labels: { folder }, value: bavail * bsize };
      }),
  );
  watchDatabases(metrics, appliance);
  watchWork(metrics, appliance);
  return metrics;
}

/** Metrics of the default release of each shared database. */
function watchDatabases(metrics: Metrics, { releases }: Appliance): void {
  const served = () =>
    releases
      .databases()
      .filter(({ organizationIds }) => organizationIds === undefined)
      .flatMap(({ slug, defaultReleaseId }) => releases.release(defaultReleaseId, slug) ?? []);
  const watch = (
    name: string,
    help: string,
    read: (row: ReturnType<typeof served>[number]) => number,
  ): void =>
    metrics.watch(name, help, ['database'], () =>
      served().map((row) => ({ labels: { database: row.slug }, value: read(row) })),
    );
  watch(
    'gloaming_database_proteins',
    'Proteins of the default release.',
    ({ manifest }) => manifest.counts.targets,
  );
  watch(
    'gloaming_database_residues',
    'Residues of the default release.',
    ({ manifest }) => manifest.counts.residues,
  );
  watch('gloaming_database_calibrated', '1 where its answers have E-values.', ({ calibrationId }) =>
    calibrationId === undefined ? 0 : 1,
  );
  watch(
    'gloaming_database_published_timestamp_seconds',
    'When the default release was published.',
    ({ publishedAt }) => Date.parse(publishedAt) / 1000,
  );
}

/** Counts searches by database and runs by kind, and reports the times of the last maintenance. */
function watchWork(metrics: Metrics, { homology, runs, config, releases }: Appliance): void {
  // Readers of the metrics must not see names of private databases.
  const nameOf = (slug: string): string =>
    releases.database(slug)?.organizationIds === undefined ? slug : 'private';
  const searches = (read: (count: SearchCount) => number): readonly Reading[] =>
    homology.tally.counts().map((each) => ({
      labels: { database: nameOf(each.database), guarantee: each.guarantee, cached: String(each.isCacheHit) },
      value: read(each),
    }));
  const labels = ['database', 'guarantee', 'cached'];
  metrics.watchTotal('gloaming_searches_total', 'Direct searches answered.', labels, () =>
    searches(({ count }) => count),
  );
  metrics.watchTotal('gloaming_search_seconds_total', 'Time spent on direct searches.', labels, () =>
    searches(({ seconds }) => seconds),
  );
  metrics.watch('gloaming_runs_unfinished', 'Runs that wait or are at work.', ['kind', 'status'], () =>
    runs.unfinishedCounts().map(({ kind, status, count }) => ({ labels: { kind, status }, value: count })),
  );
  metrics.watch(
    'gloaming_maintenance_timestamp_seconds',
    'When a backup or an fsck was last done.',
    ['kind'],
    () =>
      (['backup', 'fsck'] as const).flatMap((kind) => {
        const done = lastMaintenance(config.dataFolder, kind);
        return done === undefined ? [] : [{ labels: { kind }, value: Date.parse(done.at) / 1000 }];
      }),
  );
}

/** Watches the memory of each GPU, and the number of kernel calls that the CPU retried. */
function watchGpus(metrics: Metrics, gpus: Gpus): void {
  const watch = (name: string, help: string, read: (gpu: Gpu) => number): void =>
    metrics.watch(name, help, ['gpu', 'name'], () => {
      const report = gpus.report();
      // A lost GPU has no values until the next search finds it again.
      if (report.obstacle !== undefined) return [];
      return report.gpus.map((gpu) => ({
        labels: { gpu: String(gpu.ordinal), name: gpu.name },
        value: read(gpu),
      }));
    });
  watch('gloaming_gpu_memory_bytes', 'Memory of the GPU.', ({ totalBytes }) => totalBytes);
  watch('gloaming_gpu_memory_free_bytes', 'Free memory of the GPU.', ({ freeBytes }) => freeBytes);
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
    { value: gpus.retryCount() },
  ]);
}
