import { releaseDirectory } from '../release/catalog.js';
import { openRelease } from '../release/open.js';
import type { Encoder } from '../encoder/encoder.js';
import { findEncoder } from '../encoder/find.js';
import { findEncoderVersion, storeEncoder } from '../encoder/encoder-store.js';
import { encoderOptionsOf, loadEncoder } from '../encoder/load.js';
import { createCatalog, type Catalog } from '../services/search/catalog.js';
import { createEngines, type Engines } from '../engine/engines.js';
import { createHomology, type Homology } from '../services/search/homology.js';
import { createReceipts, type Receipts } from '../services/search/receipts.js';
import { createTargetSpaces, type TargetSpaces } from '../services/search/target-spaces.js';
import { ReleaseWatch } from '../services/search/release-watch.js';
import { createPartitionResults, type PartitionResults } from '../services/workers/partition-results.js';
import { createWorkers, type Workers } from '../services/workers/workers.js';
import type { Ground } from './ground.js';

/** Searching releases, which are opened, as encoders are, when they are first used. */
export interface SearchCapability {
  readonly catalog: Catalog;
  readonly engines: Engines;
  readonly targetSpaces: TargetSpaces;
  readonly receipts: Receipts;
  readonly homology: Homology;
  /** Looks at the bytes of releases between its start and its stop, which the server calls. */
  readonly releaseWatch: ReleaseWatch;
  /** Present where the settings name workers: what looks at parts of the targets in this appliance's place. */
  readonly workers?: Workers;
  /** Present where the settings let others have parts looked at here. */
  readonly partitionResults?: PartitionResults;
  /** An installed encoder by id, ready to encode; the caller closes it. */
  readonly loadEncoder: (encoderId: string) => Promise<Encoder>;
  /** Keeps the installed version of this encoder for the releases that it made. */
  storeEncoder(encoderId: string): Promise<void>;
}

export function composeSearch(ground: Ground): SearchCapability {
  const { config, tables, serverVersion, workerOn, now } = ground;
  const catalog = createCatalog(tables.releases);
  const releaseWatch = new ReleaseWatch();
  const workers = config.workers && createWorkers(config.workers, ground.world);
  const engines = openEngines(ground, releaseWatch, workers);
  const targetSpaces = createTargetSpaces({ table: tables.targetSpaces, catalog, engines });
  const receipts = createReceipts(tables.receipts, catalog);
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

/** Where the files of a release are: in the folder of a database that holds it. */
export function releaseFolder({ config, tables }: Ground, releaseId: string): string {
  const [holder] = tables.releases.holders(releaseId);
  return releaseDirectory(config.indexesFolder, holder.slug, releaseId);
}

function openEngines(ground: Ground, watch: ReleaseWatch, workers: Workers | undefined): Engines {
  const { config, backend, tables } = ground;
  const engines = createEngines({
    backend,
    threads: config.threads,
    indexesFolder: config.indexesFolder,
    async openRelease(releaseId) {
      const release = await openRelease(releaseFolder(ground, releaseId));
      watch.add(release);
      return release;
    },
    calibrationOf: (releaseId) => {
      const holders = tables.releases.holders(releaseId);
      const holder = holders.find(({ calibrationId }) => calibrationId !== undefined) ?? holders.at(0);
      return (
        holder && {
          id: holder.calibrationId,
          qualificationId: holder.qualificationId,
          releaseDirectory: releaseDirectory(config.indexesFolder, holder.slug, releaseId),
        }
      );
    },
    scanOf(releaseId) {
      const databases = config.workers?.databases;
      const isForwarded = ({ slug }: { readonly slug: string }): boolean => databases?.includes(slug) ?? true;
      return tables.releases.holders(releaseId).some(isForwarded) ? workers?.scan : undefined;
    },
    loadEncoder: async (id, digest) =>
      loadEncoder(await findEncoderVersion(id, digest, config), encoderOptionsOf(config)),
  });
  return {
    ...engines,
    async open(releaseId, part) {
      watch.require(releaseId);
      return engines.open(releaseId, part);
    },
  };
}
