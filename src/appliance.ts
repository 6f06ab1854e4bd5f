import { composeBilling, type BillingCapability } from './composition/billing.js';
import { composeConsole } from './composition/console.js';
import { openFoundation } from './composition/foundation.js';
import { composeColabfold, composeMsas, composeRefs, composeRuns } from './composition/runs.js';
import { composeSearch, type SearchCapability } from './composition/search.js';
import { composeSql, type SqlCapability } from './composition/sql.js';
import { composeStorage, composeWebhooks } from './composition/storage.js';
import type { ApplianceConfig } from './config.js';
import type { KernelBackend } from './kernels/kernels.js';
import type { ReleaseManifest } from './release/release.js';
import type { ColabfoldTickets } from './services/colabfold/tickets.js';
import type { Console } from './services/console/console.js';
import { Keys } from './services/keys.js';
import type { Msas } from './services/msa/msas.js';
import type { Pages } from './services/pages.js';
import type { Refs } from './services/refs.js';
import type { Runs } from './services/runs/runs.js';
import type { Storage } from './services/storage/storage.js';
import type { Webhooks } from './services/webhooks/webhooks.js';
import type { ControlStore } from './store/control-store.js';
import type { ReleaseTable } from './store/tables/releases.js';
import { realWorld, type World } from './world.js';

/** All services, composed once. The command line, the server and the benches start from it. */
export interface Appliance extends SearchCapability, BillingCapability, SqlCapability {
  readonly config: ApplianceConfig;
  readonly store: ControlStore;
  readonly backend: KernelBackend;
  readonly releases: ReleaseTable<ReleaseManifest>;
  readonly keys: Keys;
  /** Pages of the browser console outside the contract. */
  readonly console: Console;
  readonly msas: Msas;
  readonly pages: Pages;
  readonly refs: Refs;
  /** Accepts runs. The server calls start and stop; accepted runs execute between the two. */
  readonly runs: Runs;
  /** Present if the settings enable it. */
  readonly colabfold?: ColabfoldTickets;
  /** Stores and serves files. The server calls start and stop; cleanup runs between the two. */
  readonly storage: Storage;
  /** Sends deliveries between start and stop, which the server calls. */
  readonly webhooks: Webhooks;
  /** `0.1.0+<commit>`: the exact build. */
  readonly serverVersion: string;
  /** Worker id, stable for this process: host, backend and process. */
  readonly servedFrom: string;
  close(): Promise<void>;
}

/**
 * Opens the control state and the kernels. Releases and encoders open at their first use.
 * Errors  Fault if data folder, addon or configured device cannot be used
 */
export async function openAppliance(config: ApplianceConfig, world: World = realWorld): Promise<Appliance> {
  const foundation = await openFoundation(config, world);
  const { store, backend, tables, pages, serverVersion, now } = foundation;
  const search = composeSearch(foundation);
  const billing = composeBilling(foundation);
  const webhooks = composeWebhooks(foundation);
  const storage = composeStorage(foundation, webhooks);
  const msas = composeMsas(foundation, search);
  const { sql, sqlCredentials } = composeSql(foundation, search.catalog);
  const refs = composeRefs(foundation, search);
  const runs = composeRuns(foundation, { search, msas, storage, webhooks });
  const colabfold = composeColabfold(foundation, search, billing.budgets, runs);
  const keys = new Keys(tables.apiKeys, now, world);
  return {
    config,
    store,
    backend,
    releases: tables.releases,
    keys,
    console: composeConsole(foundation, keys, search),
    pages,
    serverVersion,
    servedFrom: foundation.workerOn(`${backend.name}:${backend.variant}`),
    ...search,
    ...billing,
    webhooks,
    storage,
    msas,
    sql,
    sqlCredentials,
    refs,
    runs,
    colabfold,
    async close() {
      await runs.stop();
      sql.stop();
      await storage.stop();
      await webhooks.stop();
      await refs.close();
      await search.engines.close();
      search.workers?.close();
      await billing.metering.settle();
      await store.close();
    },
  };
}
