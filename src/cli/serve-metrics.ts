import { existsSync, statfsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Appliance } from '../appliance.js';
import type { Metrics } from '../http/metrics.js';

/** Adds what the appliance stands on: its kernels, its control state and its disks. */
export function watchAppliance(metrics: Metrics, { backend, config, releases, sql }: Appliance): Metrics {
  const { name, variant, version } = backend;
  metrics.watch(
    'gloaming_kernels_info',
    'The kernel backend that serves.',
    ['backend', 'variant', 'version'],
    () => [{ labels: { backend: name, variant, version }, value: 1 }],
  );
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
