import type { Encoder } from '../encoder/encoder.js';
import { storeEncoder } from '../encoder/encoder-store.js';
import { findEncoder } from '../encoder/find.js';
import { encoderOptionsOf, loadEncoder } from '../encoder/load.js';
import { createCatalog, type Catalog } from '../services/search/catalog.js';
import { createHomology, type Homology } from '../services/search/homology.js';
import { createReceipts, type Receipts } from '../services/search/receipts.js';
import { createTargetSpaces, type TargetSpaces } from '../services/search/target-spaces.js';
import { ReleaseWatch } from '../services/search/release-watch.js';
import { createPartitionResults, type PartitionResults } from '../services/workers/partition-results.js';
import { createWorkers, type Workers } from '../services/workers/workers.js';
import type { Engines } from '../engine/engines.js';
import { folderOfRelease, openEngines, placesOfRelease, type EngineFoundation } from './engines.js';
import type { Foundation } from './foundation.js';

/** Searches releases. Releases and encoders open at their first use. */
export interface SearchCapability {
  readonly catalog: Catalog;
  readonly engines: Engines;
  readonly targetSpaces: TargetSpaces;
  readonly receipts: Receipts;
  readonly homology: Homology;
  /** Verifies the bytes of releases. The server calls start and stop. */
  readonly releaseWatch: ReleaseWatch;
  /** Present if the settings name workers. The workers scan partitions of the targets in place of this appliance. */
  readonly workers?: Workers;
  /** Present if the settings allow other appliances to have partitions scanned here. */
  readonly partitionResults?: PartitionResults;
  /** Opens an installed encoder by id. The caller closes it. */
  readonly loadEncoder: (encoderId: string) => Promise<Encoder>;
  /** Persists the installed version of this encoder for the releases that it encoded. */
  storeEncoder(encoderId: string): Promise<void>;
}

export function composeSearch(foundation: Foundation): SearchCapability {
  const { config, tables, serverVersion, workerOn, now } = foundation;
  const catalog = createCatalog(tables.releases);
  const releaseWatch: ReleaseWatch = new ReleaseWatch({
    placesOf: (id) => placesOfRelease(engineFoundation(foundation), id),
    forget: (id) => engines.forget(id),
  });
  const workers = config.workers && createWorkers(config.workers, foundation.world);
  const engines = watchedEngines(foundation, releaseWatch, workers);
  const targetSpaces = createTargetSpaces({ table: tables.targetSpaces, catalog, engines });
  const receipts = createReceipts(tables.receipts, catalog, now);
  const parts = { catalog, engines, targetSpaces, receipts };
  return {
    ...parts,
    releaseWatch,
    workers,
    ...(config.servesParts && { partitionResults: createPartitionResults(parts) }),
    homology: createHomology({ ...parts, serverVersion, workerOn, now }),
    loadEncoder: async (id) => loadEncoder(await findEncoder(id, config), encoderOptionsOf(config)),
    storeEncoder: async (id) => storeEncoder(await findEncoder(id, config), config),
  };
}

/** Returns the folder of a release, within the folder of a database that contains it. */
export function releaseFolder(foundation: Foundation, releaseId: string): string {
  return folderOfRelease(engineFoundation(foundation), releaseId);
}

/** Verifies the bytes of every open release, and refuses those that are damaged. */
function watchedEngines(foundation: Foundation, watch: ReleaseWatch, workers: Workers | undefined): Engines {
  const engines = openEngines(engineFoundation(foundation), workers, watch);
  return {
    ...engines,
    async open(releaseId, part) {
      watch.require(releaseId);
      return engines.open(releaseId, part);
    },
  };
}

function engineFoundation({ config, backend, tables }: Foundation): EngineFoundation {
  return { config, backend, releases: tables.releases };
}
