import type { Msa, MsaComponent } from '../contract/msa.js';
import type { ReleaseManifest } from '../release/release.js';
import { RUN_FORMULA_ID } from '../services/billing/metering.js';
import type { ControlStore } from '../store/control-store.js';
import { openStorageTables } from '../store/storage/storage.js';
import { apiKeyTable } from '../store/tables/api-keys.js';
import { eventTable } from '../store/tables/events.js';
import { openMsaTables } from '../store/tables/msas.js';
import { receiptTable } from '../store/tables/receipts.js';
import { releaseEvents } from '../store/tables/release-events.js';
import { releaseTable } from '../store/tables/releases.js';
import { runTable } from '../store/tables/runs.js';
import { sqlCredentialTable } from '../store/tables/sql-credentials.js';
import { openTargetSpaces } from '../store/tables/target-spaces.js';
import { usageTable } from '../store/tables/usage.js';
import { webhookTable } from '../store/tables/webhooks.js';

export type Tables = ReturnType<typeof openTables>;

/**
 * The tables of the control state. What one of them writes and another must learn of commits in one transaction: events
 * become deliveries, and a completed run is billed.
 */
export function openTables(store: ControlStore, dataFolder: string, now: () => Date) {
  const webhooks = webhookTable(store);
  const usage = usageTable(store);
  const storage = openStorageTables(store, dataFolder, eventTable(store, webhooks.enqueue));
  const runs = runTable(store, {
    onEvent: webhooks.enqueue,
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
    apiKeys: apiKeyTable(store),
    msas: openMsaTables<MsaComponent, Msa>(store, storage.objects),
    receipts: receiptTable(store),
    releases: releaseTable<ReleaseManifest>(store, releaseEvents(store)),
    runs,
    sqlCredentials: sqlCredentialTable(store),
    storage,
    targetSpaces: openTargetSpaces(store),
    usage,
    webhooks,
  });
}
