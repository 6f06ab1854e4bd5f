import { isQualified } from '../../significance/calibration.js';
import type { CalibrationCard } from '../../significance/card.js';
import type { Release } from '../../release/release.js';
import type { ApiKeyRow } from '../../store/tables/api-keys.js';
import { listJobs, type JobReport } from '../jobs.js';
import type { Keys } from '../keys.js';
import type { Catalog } from '../search/catalog.js';
import type { Engines } from '../../engine/engines.js';
import { openGraph, openPropagation } from '../search/propagation.js';
import { closestResidues, type ClosestRequest, type ClosestResidues } from './closest.js';
import { neighbourhoodOf, type Neighbourhood } from './neighbourhood.js';
import type { Sessions } from './sessions.js';
import { describeSystem, type SystemDependencies } from './system.js';
import { exampleProtein, proteinOf, type ConsoleProtein } from './proteins.js';
import { AttributeValues, type CountedValue } from './values.js';

/** Operations of the browser console beyond the contract. */
export interface Console {
  readonly sessions: Sessions;
  /** Visitors may search without a sign-in. */
  readonly isOpen: boolean;
  readonly keys: Pick<Keys, 'list' | 'create' | 'revoke'>;
  closest(request: ClosestRequest, organizationId: string, signal: AbortSignal): Promise<ClosestResidues>;
  /** Values of an attribute that contain the text. For a taxid with `isBelow`: names of taxa. */
  values(
    releaseId: string,
    field: string,
    text: string,
    isBelow: boolean,
    organizationId: string,
  ): Promise<readonly CountedValue[]>;
  /** A protein of a release by id, or an example. Errors  Refusal `validation_failed` if there is none */
  protein(releaseId: string, id: string | undefined, organizationId: string): Promise<ConsoleProtein>;
  /** Calibration behind the E-values of a release; undefined if it has none. */
  calibration(releaseId: string, organizationId: string): Promise<CalibrationCard | undefined>;
  /** Ids of the visible releases whose searches give E-values. A damaged calibration gives none. */
  calibrated(organizationId: string): Promise<readonly string[]>;
  /** The surroundings of a protein in the graph of neighbours. Errors  Refusal `propagation_unavailable` without one */
  neighbourhood(releaseId: string, id: string, organizationId: string): Promise<Neighbourhood>;
  /** Whether a search of the release can be propagated. A damaged graph or null cannot. */
  isPropagated(releaseId: string, organizationId: string): Promise<boolean>;
  system(): ReturnType<typeof describeSystem>;
  /** Progress of commands on this machine. */
  jobs(): readonly JobReport[];
}

export interface ConsoleDependencies extends SystemDependencies {
  readonly sessions: Sessions;
  readonly isOpen: boolean;
  readonly keys: Keys;
  readonly catalog: Catalog;
  readonly engines: Engines;
  /** Id of a good first query; a release need not have it. */
  readonly exampleOf: (release: Release) => string;
  readonly readCalibration: (releaseId: string) => Promise<CalibrationCard | undefined>;
}

export function createConsole(dependencies: ConsoleDependencies): Console {
  const { sessions, isOpen, keys, catalog, engines } = dependencies;
  const attributeValues = new AttributeValues();
  return {
    sessions,
    isOpen,
    keys,
    closest: (request, organizationId, signal) =>
      closestResidues(request, organizationId, signal, dependencies),
    async values(releaseId, field, text, isBelow, organizationId) {
      catalog.release(releaseId, organizationId);
      const { release } = await engines.open(releaseId);
      return attributeValues.find(release, field, text, isBelow);
    },
    async protein(releaseId, id, organizationId) {
      catalog.release(releaseId, organizationId);
      const { release } = await engines.open(releaseId);
      return id === undefined
        ? exampleProtein(release, dependencies.exampleOf(release))
        : proteinOf(release, id);
    },
    async calibration(releaseId, organizationId) {
      catalog.release(releaseId, organizationId);
      return dependencies.readCalibration(releaseId);
    },
    calibrated: (organizationId) => calibratedReleases(organizationId, dependencies),
    async neighbourhood(releaseId, id, organizationId) {
      catalog.release(releaseId, organizationId);
      const engine = await engines.open(releaseId);
      const { graph } = await openGraph(engine);
      return neighbourhoodOf(engine.release, graph, id);
    },
    async isPropagated(releaseId, organizationId) {
      catalog.release(releaseId, organizationId);
      const engine = await engines.open(releaseId);
      return openPropagation(engine).then(
        () => true,
        () => false,
      );
    },
    jobs: () => listJobs(dependencies.config.dataFolder),
    system: () => describeSystem(dependencies, organizationsOf(keys.list())),
  };
}

async function calibratedReleases(
  organizationId: string,
  { catalog, readCalibration }: ConsoleDependencies,
): Promise<readonly string[]> {
  const ids = catalog
    .databases(organizationId)
    .flatMap(({ slug }) => catalog.releases(slug, organizationId).map(({ id }) => id));
  const calibrated = await Promise.all(
    ids.map(async (id) => {
      const card = await readCalibration(id).catch(() => undefined);
      return card !== undefined && isQualified(card);
    }),
  );
  return ids.filter((_, at) => calibrated[at]);
}

function organizationsOf(keys: readonly ApiKeyRow[]): readonly string[] {
  return [...new Set(keys.map(({ organizationId }) => organizationId))].sort();
}
