import { Refusal } from '../../errors.js';
import type { EncoderFolders } from '../../encoder/find.js';
import { checkStore, type StoreVerdict } from '../../store/check/check.js';
import type { Finding, Report } from '../../store/check/findings.js';
import { problemOfControlState } from '../../store/probe.js';
import { openSnapshot, type Snapshot } from '../../store/snapshot.js';
import { checkIndexes, type IndexesVerdict } from './fsck-indexes.js';

export type FsckVerdict = StoreVerdict & IndexesVerdict;

interface FsckOptions {
  readonly folders: EncoderFolders & { readonly dataFolder: string };
  readonly now: Date;
  readonly onBytes?: (bytes: number, totalBytes: number) => void;
}

/**
 * Looks for every kind of damage in the data and indexes folders; store/check/findings.ts lists them. Writes nothing
 * and may run beside a server: a finding on changing data is checked again before it is reported. A child process reads
 * the control state first, because damaged pages would end the process that reads them.
 * Errors  none for damage, which is the verdict
 * Cost    one read of all stored bytes
 */
export async function fsck({ folders, now, onBytes = () => undefined }: FsckOptions): Promise<FsckVerdict> {
  const findings: Finding[] = [];
  const report: Report = (kind, subject, message) => void findings.push({ kind, subject, message });
  const problem = await problemOfControlState(folders.dataFolder);
  if (problem !== undefined) report('control_state_damaged', 'control/data.mdb', `${problem}.`);
  const snapshot = problem === undefined ? await openIfThere(folders.dataFolder) : undefined;
  try {
    const store =
      snapshot === undefined ? NOTHING : await checkStore(snapshot, folders.dataFolder, now, onBytes);
    const indexes = await checkIndexes(folders, snapshot, report, onBytes);
    return { ...store, ...indexes, findings: [...store.findings, ...findings] };
  } finally {
    await snapshot?.close();
  }
}

const NOTHING: StoreVerdict = { findings: [], rowCount: 0, objectCount: 0, objectBytes: 0 };

/** A new appliance has no control state. That is no damage. */
async function openIfThere(dataFolder: string): Promise<Snapshot | undefined> {
  try {
    return await openSnapshot(dataFolder);
  } catch (error) {
    if (error instanceof Refusal && error.code === 'data_folder_empty') return undefined;
    throw error;
  }
}
