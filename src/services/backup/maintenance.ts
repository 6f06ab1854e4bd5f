import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Latest execution of a maintenance task. */
export interface Maintenance {
  /** RFC 3339. */
  readonly at: string;
  /** A word or two, such as `no damage`. */
  readonly outcome: string;
}

/** `contract`: digest of the contract that was served last. */
export type MaintenanceKind = 'backup' | 'fsck' | 'contract';

/** The file is beside the control state, because fsck must not change that. */
function fileOf(dataFolder: string, kind: MaintenanceKind): string {
  return join(dataFolder, `last-${kind}.json`);
}

/** Records a maintenance task. Failures such as a read-only folder or a full disk are ignored. */
export function recordMaintenance(dataFolder: string, kind: MaintenanceKind, done: Maintenance): void {
  const file = fileOf(dataFolder, kind);
  try {
    writeFileSync(`${file}.new`, `${JSON.stringify(done)}\n`, { mode: 0o600 });
    renameSync(`${file}.new`, file);
  } catch {
    return;
  }
}

/** Returns time and outcome of the latest task; undefined if there was none or its record is unreadable. */
export function lastMaintenance(dataFolder: string, kind: MaintenanceKind): Maintenance | undefined {
  try {
    const { at, outcome } = JSON.parse(
      readFileSync(fileOf(dataFolder, kind), 'utf8'),
    ) as Partial<Maintenance>;
    if (typeof at !== 'string' || typeof outcome !== 'string' || Number.isNaN(Date.parse(at)))
      return undefined;
    return { at, outcome };
  } catch {
    return undefined;
  }
}
