import { join } from 'node:path';
import { RUNS_AT_WORK_MAX_COUNT } from '../limits.js';
import type { Budgets } from '../services/billing/budgets.js';
import { ColabfoldTickets } from '../services/colabfold/tickets.js';
import { Msas } from '../services/msa/msas.js';
import { Refs } from '../services/refs.js';
import { TargetNames } from '../services/targets.js';
import { annotateRuns } from '../services/run-kinds/annotate.js';
import { batchSearchRuns } from '../services/run-kinds/batch.js';
import { exportRuns } from '../services/run-kinds/export.js';
import { msaRuns } from '../services/run-kinds/msa.js';
import { homologsRuns } from '../services/run-kinds/relatives.js';
import { searchRuns } from '../services/run-kinds/search.js';
import { structureRuns } from '../services/run-kinds/structure.js';
import { Runs } from '../services/runs/runs.js';
import type { Storage } from '../services/storage/storage.js';
import type { Webhooks } from '../services/webhooks/webhooks.js';
import { IdempotencyTable } from '../store/tables/idempotency.js';
import type { Foundation } from './foundation.js';
import { releaseFolder, type SearchCapability } from './search.js';

export function composeMsas({ tables, now }: Foundation, search: SearchCapability): Msas {
  return new Msas({ ...search, tables: tables.msas, objects: tables.storage.objects, now });
}

/** Capabilities that runs depend on. */
export interface RunCapabilities {
  readonly search: SearchCapability;
  readonly msas: Msas;
  readonly storage: Storage;
  readonly webhooks: Webhooks;
}

/** Composes the runs. The server calls start and stop; accepted runs execute between the two. */
export function composeRuns(foundation: Foundation, capabilities: RunCapabilities): Runs {
  const { config, tables, pages, serverVersion, workerOn, world, now } = foundation;
  const { search, msas, storage, webhooks } = capabilities;
  const { files, writer } = storage;
  const searching = { ...search, serverVersion, workerOn, now };
  return new Runs({
    table: tables.runs,
    kinds: [
      searchRuns(searching),
      batchSearchRuns({ ...searching, files }),
      annotateRuns({ ...searching, files }),
      exportRuns({ ...search, table: tables.runs, writer, world }),
      msaRuns(msas),
      homologsRuns({ ...search, config }),
      structureRuns({
        predictor: config.structurePredictor,
        msas,
        files,
        writer,
        folder: join(config.dataFolder, 'predictions'),
      }),
    ],
    pages,
    receipts: search.receipts,
    hasRelease: (releaseId) => tables.releases.holders(releaseId).length > 0,
    now,
    world,
    concurrency: RUNS_AT_WORK_MAX_COUNT,
    requireWebhookEndpoint: (id, context) => webhooks.requireEndpoint(id, context),
    onChange: () => webhooks.wake(),
  });
}

/** Composes ColabFold's MSA interface over these runs. Returns undefined if the settings do not enable it. */
export function composeColabfold(
  { config: { colabfold: settings }, store, tables, now }: Foundation,
  { catalog, receipts }: SearchCapability,
  budgets: Budgets,
  runs: Runs,
): ColabfoldTickets | undefined {
  if (settings === undefined) return undefined;
  const idempotency = new IdempotencyTable(store);
  const table = tables.runs;
  return new ColabfoldTickets({ settings, catalog, receipts, runs, table, budgets, idempotency, now });
}

/** Composes the lookup of names of databases, targets, runs and files. */
export function composeRefs(foundation: Foundation, { catalog, engines }: SearchCapability): Refs {
  return new Refs({
    catalog,
    targetNames: new TargetNames((releaseId) => releaseFolder(foundation, releaseId)),
    hasTarget: async (id, target) => (await engines.open(id)).release.targets.find(target) !== undefined,
    runs: foundation.tables.runs,
    files: foundation.tables.storage.files,
  });
}
