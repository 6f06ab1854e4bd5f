import type { Finding } from './findings.js';
import { checkObjectFiles } from './objects.js';
import { checkDecoding, checkedRows, type Check } from './rows.js';
import { checkEvents, checkRuns } from './runs.js';
import { checkStorage } from './storage.js';
import { checkCatalog, checkDeliveries, checkNamedValues, checkTotals } from './values.js';
import type { Snapshot } from '../snapshot.js';

export interface StoreVerdict {
  readonly findings: readonly Finding[];
  readonly rowCount: number;
  readonly objectCount: number;
  readonly objectBytes: number;
}

/**
 * Checks the control state of one moment against the stored bytes. Writes nothing.
 * Errors  Refusal or Fault of the snapshot; a defect in the data is a finding
 * Cost    two passes over the control state, one read of all objects
 */
export async function checkStore(
  snapshot: Snapshot,
  dataFolder: string,
  now: Date,
  onBytes: (bytes: number, totalBytes: number) => void = () => undefined,
): Promise<StoreVerdict> {
  const findings: Finding[] = [];
  const rows = checkedRows(snapshot);
  const check: Check = {
    rows,
    report: (kind, subject, message) => void findings.push({ kind, subject, message }),
  };
  const { rowCount } = checkDecoding(snapshot, check.report);
  checkStorage(check);
  checkRuns(check);
  checkEvents(check);
  checkNamedValues(check);
  checkCatalog(check);
  checkTotals(check);
  checkDeliveries(check, now);
  let [objectCount, objectBytes] = [0, 0];
  for (const [, { sizeBytes }] of rows.of<{ sizeBytes: number }>('objects')) {
    objectCount += 1;
    objectBytes += sizeBytes;
  }
  await checkObjectFiles({
    ...check,
    snapshot,
    dataFolder,
    onBytes: (bytes) => onBytes(bytes, objectBytes),
  });
  return { findings, rowCount, objectCount, objectBytes };
}
