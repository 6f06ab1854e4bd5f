import type { Msa, MsaComponent } from '../contract/msa.js';
import type { ReleaseManifest } from '../release/release.js';
import { RUN_FORMULA_ID } from '../services/billing/metering.js';
import type { ControlStore } from '../store/control-store.js';
import type { Disk } from '../store/objects/disk.js';
import { openStorageTables } from '../store/storage/storage.js';
import { ApiKeyTable } from '../store/tables/api-keys.js';
import { EventTable, type EventRow } from '../store/tables/events.js';
import { openMsaTables } from '../store/tables/msas.js';
import { ReceiptTable } from '../store/tables/receipts.js';
import { releaseEvents } from '../store/tables/release-events.js';
import { ReleaseTable } from '../store/tables/releases.js';
import { RunTable } from '../store/tables/runs.js';
import { SessionTable } from '../store/tables/sessions.js';
import { SqlCredentialTable } from '../store/tables/sql-credentials.js';
import { TargetSpaceTable } from '../store/tables/target-spaces.js';
import { UsageTable } from '../store/tables/usage.js';
import { WebhookTable } from '../store/tables/webhooks.js';

export type Tables = ReturnType<typeof openTables>;

/**
 * Opens the tables of the control state. Changes that span tables commit in one transaction: events become deliveries,
 * and a completed run is billed.
 */
export function openTables(store: ControlStore, dataFolder: string, now: () => Date, disk?: Disk) {
  const webhooks = new WebhookTable(store);
  const usage = new UsageTable(store);
  const enqueue = (...events: readonly EventRow[]): void => webhooks.enqueue(...events);
  const storage = openStorageTables(store, dataFolder, new EventTable(store, enqueue), disk);
  const runs = new RunTable(store, {
    onEvent: enqueue,
    onCompleted: ({ id, organizationId, endpoint, billableUnits }) =>
      usage.add({
        id,
        organizationId,
        endpoint,
        units: billableUnits,
        formulaId: RUN_FORMULA_ID,
        createdAt: now().toISOString(),
      }),
  });
  return Object.freeze({
    apiKeys: new ApiKeyTable(store),
    msas: openMsaTables<MsaComponent, Msa>(store, storage.objects),
    receipts: new ReceiptTable(store),
    releases: new ReleaseTable<ReleaseManifest>(store, releaseEvents(store)),
    runs,
    sessions: new SessionTable(store),
    sqlCredentials: new SqlCredentialTable(store),
    storage,
    targetSpaces: new TargetSpaceTable(store),
    usage,
    webhooks,
  });
}
