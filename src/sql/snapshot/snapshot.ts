import { fork } from 'node:child_process';
import { Fault } from '../../errors.js';
import { asStorageFailure } from '../../store/unavailable.js';
import type { NeighboursJob } from './neighbours.js';
import type { RecordsJob } from './records.js';
import type { SnapshotAnswer, SnapshotJob } from './process.js';
import type { ReleaseJob } from './release.js';
import type { SqlRecords } from '../tables.js';

/** The compiled entry point of the process, beside this file. */
const PROCESS_FILE = new URL('./process.js', import.meta.url);

/**
 * Writes the Parquet file of a release in a separate process.
 * Errors  Fault if it fails; Refusal `storage_unavailable` if the disk is full or read-only
 */
export async function writeReleaseSnapshot(job: ReleaseJob): Promise<void> {
  await work(job);
}

/** Writes the Parquet file of a graph of neighbours in a separate process. Errors  those of writeReleaseSnapshot */
export async function writeNeighboursSnapshot(job: NeighboursJob): Promise<void> {
  await work(job);
}

/** Updates the Parquet files of an organization in a separate process. Errors  those of writeReleaseSnapshot */
export async function writeRecordsSnapshot(job: RecordsJob): Promise<SqlRecords> {
  const { records } = (await work(job)) as { readonly records: SqlRecords };
  return records;
}

function work(job: SnapshotJob): Promise<SnapshotAnswer> {
  return new Promise((resolve, reject) => {
    const child = fork(PROCESS_FILE, { serialization: 'advanced', execArgv: [] });
    const fail = (cause: unknown): void =>
      reject(
        asStorageFailure(new Fault(`The SQL snapshot of the ${job.kind} could not be written.`, { cause })),
      );
    child.once('error', fail);
    child.once('exit', (code, signal) => fail(new Error(`The process ended with ${signal ?? code}.`)));
    child.once('message', (answer: SnapshotAnswer) => {
      if ('failure' in answer) fail(Object.assign(new Error(answer.failure), { code: answer.code }));
      else resolve(answer);
    });
    child.send(job, (error) => error && fail(error));
  });
}
