import type { Encoder } from '../encoder/encoder.js';
import { Refusal } from '../errors.js';
import { withoutHomologs, type HomologFinder } from '../homologs/finder.js';
import type { HomologRules } from '../homologs/rules.js';
import type { ProfileEncoder } from '../homologs/profile-encoder.js';
import type { HomologSource, HomologsManifest, ReleaseManifest } from '../release/release.js';
import { profileTokenFormOf } from '../homologs/token-form.js';
import { PROFILE_SCALE } from '../release/profile-affine.js';
import type { SearchEngine } from '../search/search-types.js';
import { homologSourceDatabase, findHomologSource } from './homolog-sources.js';
import { mmseqsVersion } from './mmseqs-process.js';
import { mmseqsHomologs } from './mmseqs.js';
import { searchedHomologs } from './search.js';
import { createProfileEncoder } from './profile-encoder.js';

/** Access to homolog sources. */
export interface HomologSourceDependencies {
  readonly indexesFolder: string;
  /** Threads of mmseqs processes. */
  readonly threads: number;
  /**
   * Opens the engine of a release that serves as homolog source, with its calibration.
   * Errors  Refusal or Fault where the release cannot be opened
   */
  openEngine(releaseId: string): Promise<SearchEngine>;
}

/** Returns the profile encoder for queries of a release; undefined if its targets were encoded without homologs. */
export function openProfileEncoder(
  manifest: ReleaseManifest,
  encoder: Encoder,
  sources: HomologSourceDependencies,
): ProfileEncoder | undefined {
  const form = profileTokenFormOf(manifest, PROFILE_SCALE);
  const { relatives: homologs } = manifest;
  if (homologs === undefined || form === undefined) return undefined;
  return createProfileEncoder(encoder, openFinder(homologs.background, rulesOf(homologs), sources), form);
}

/**
 * Returns a finder for the homolog source that a manifest names. Proteins need no id.
 * Errors  none here; the finder rejects with Refusal `relatives_unavailable` if the source is missing or has changed
 */
export function openFinder(
  homologSource: HomologSource,
  rules: HomologRules,
  sources: HomologSourceDependencies,
): HomologFinder {
  switch (homologSource.method) {
    case 'search':
      return searchedHomologs(() => openHomologSource(homologSource, sources), rules);
    case 'mmseqs': {
      const { indexesFolder, threads } = sources;
      const { rounds, version } = homologSource;
      const database = homologSourceDatabase(indexesFolder, homologSource.name);
      const finder = mmseqsHomologs({ database, rounds, version }, rules, threads);
      return {
        batchProteins: finder.batchProteins,
        async find(proteins, options) {
          await requireHomologSource(homologSource, indexesFolder);
          return finder.find(proteins, options);
        },
        async list(sequence, limit, options) {
          await requireHomologSource(homologSource, indexesFolder);
          return finder.list(sequence, limit, options);
        },
      };
    }
    case 'alignments':
    case 'families':
      // Only targets have alignments; queries are encoded without homologs.
      return {
        batchProteins: 1,
        find: async (proteins) => proteins.map(({ sequence }) => withoutHomologs(sequence)),
      };
  }
}

type Searched = Extract<HomologSource, { readonly method: 'search' }>;
type ByMmseqs = Extract<HomologSource, { readonly method: 'mmseqs' }>;

async function openHomologSource(
  { release_id: releaseId, calibration_id: calibrationId, qualification_id: qualificationId }: Searched,
  sources: HomologSourceDependencies,
): Promise<SearchEngine> {
  const engine = await sources.openEngine(releaseId).catch((cause: Error) => {
    throw unavailable(`release ${releaseId} cannot be searched: ${cause.message}`);
  });
  if (engine.calibration?.id !== calibrationId) {
    const now = engine.calibration?.id ?? 'none';
    throw unavailable(
      `release ${releaseId} had calibration ${calibrationId} when the targets were encoded, and now has ${now}.`,
    );
  }
  // Targets' homologs came from an exhaustive search. A policy qualified later must not change how queries are
  // searched.
  if (qualificationId === undefined) return { ...engine, qualification: undefined };
  if (engine.qualification?.id === qualificationId) return engine;
  const now = engine.qualification?.id ?? 'none';
  throw unavailable(
    `release ${releaseId} had policy ${qualificationId} when the targets were encoded, and now has ${now}.`,
  );
}

async function requireHomologSource(
  { name, sha256, version }: ByMmseqs,
  indexesFolder: string,
): Promise<void> {
  const source = await findHomologSource(indexesFolder, name);
  if (source === undefined) throw unavailable(`the homolog source ${name} does not exist.`);
  if (source.sha256 !== sha256)
    throw unavailable(`the sequences of the homolog source ${name} have changed.`);
  const installed = await mmseqsVersion();
  if (installed === version) return;
  throw unavailable(`it was searched by mmseqs ${version}; installed is ${installed ?? 'none'}.`);
}

function unavailable(why: string): Refusal {
  return new Refusal(
    'relatives_unavailable',
    `Homologs of the query cannot be searched as for the targets: ${why} ` +
      'Build the database again, or request relatives "none".',
  );
}

function rulesOf({ rules }: HomologsManifest): HomologRules {
  return {
    maxEValue: rules.max_expected,
    minCoverage: rules.min_coverage,
    maxIdentity: rules.max_identity,
    profileCount: rules.profile_count,
    vectorCount: rules.vector_count,
    areEndsCut: rules.weak_ends === 'cut',
    maxComposedEValue: rules.max_composed_expected,
  };
}
