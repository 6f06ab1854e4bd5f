import { snapshotNeighbours, type NeighboursJob } from './neighbours.js';
import { snapshotRecords, type RecordsJob } from './records.js';
import { snapshotRelease, type ReleaseJob } from './release.js';
import type { SqlRecords } from '../tables.js';

/*
 * Entry point of the process that writes Parquet files. It runs one job, sends one answer and ends. The server's event
 * loop stays free.
 */

export type SnapshotJob = ReleaseJob | NeighboursJob | RecordsJob;
export type SnapshotAnswer = { readonly records?: SqlRecords } | SnapshotFailure;

interface SnapshotFailure {
  readonly failure: string;
  /** Code of a file system error, such as `ENOSPC`. */
  readonly code?: string;
}

process.once('message', (job: SnapshotJob) => {
  void answer(job).then((result) => process.send?.(result, () => process.disconnect()));
});

async function answer(job: SnapshotJob): Promise<SnapshotAnswer> {
  try {
    if (job.kind === 'records') return { records: await snapshotRecords(job) };
    if (job.kind === 'release') await snapshotRelease(job);
    else await snapshotNeighbours(job);
    return {};
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const failure = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return { failure, ...(typeof code === 'string' && { code }) };
  }
}
