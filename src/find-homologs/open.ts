import type { Encoder } from '../encoder/encoder.js';
import { Refusal } from '../errors.js';
import { withoutHomologs, type HomologFinder } from '../homologs/finder.js';
import type { HomologRules } from '../homologs/rules.js';
import type { ProfileEncoder } from '../homologs/profile-encoder.js';
import type {
  HomologSource,
  RelativesManifest as HomologsManifest,
  ReleaseManifest,
} from '../release/release.js';
import { profileTokenFormOf } from '../homologs/token-form.js';
import { PROFILE_SCALE } from '../release/profile-affine.js';
import type { SearchEngine } from '../search/search-types.js';
import { homologSourceDatabase, findHomologSource } from './homolog-sources.js';
import { mmseqsHomologs, mmseqsVersion } from './mmseqs.js';
import { searchedHomologs } from './search.js';
import { createProfileEncoder } from './profile-encoder.js';

/** Where backgrounds are. */
export interface HomologSourceDeps {
  readonly indexesFolder: string;
  /** Of children that search backgrounds. */
  readonly threads: number;
  /**
   * The engine of a background release with its calibration.
   * Errors  Refusal or Fault where it is not there
   */
  openEngine(releaseId: string): Promise<SearchEngine>;
}

/** What gives queries of a release their relatives; undefined where its targets have none. */
export function openProfileEncoder(
  manifest: ReleaseManifest,
  encoder: Encoder,
  sources: HomologSourceDeps,
): ProfileEncoder | undefined {
  const form = profileTokenFormOf(manifest, PROFILE_SCALE);
  const { relatives: homologs } = manifest;
  if (homologs === undefined || form === undefined) return undefined;
  return createProfileEncoder(encoder, openFinder(homologs.background, rulesOf(homologs), sources), form);
}

/**
 * Finds relatives of proteins that stand for themselves in a background as a manifest names it.
 * Errors  Refusal `relatives_unavailable` at the first search where it is another now, or not there
 */
export function openFinder(
  homologSource: HomologSource,
  rules: HomologRules,
  sources: HomologSourceDeps,
): HomologFinder {
  switch (homologSource.method) {
    case 'search':
      return searchedHomologs(() => openHomologSource(homologSource, sources), rules);
    case 'mmseqs': {
      const { indexesFolder, threads } = sources;
      const database = homologSourceDatabase(indexesFolder, homologSource.name);
      const finder = mmseqsHomologs({ database, rounds: homologSource.rounds }, rules, threads);
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
      // They were given with the targets; a query stands alone.
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
  sources: HomologSourceDeps,
): Promise<SearchEngine> {
  const engine = await sources.openEngine(releaseId).catch((cause: Error) => {
    throw unavailable(`release ${releaseId} cannot be searched here: ${cause.message}`);
  });
  if (engine.calibration?.id !== calibrationId) {
    const now = engine.calibration?.id ?? 'none';
    throw unavailable(
      `release ${releaseId} was judged by calibration ${calibrationId}, and now it has ${now}.`,
    );
  }
  // Searched exhaustively then, it is searched exhaustively now, whatever it has been qualified for since.
  if (qualificationId === undefined) return { ...engine, qualification: undefined };
  if (engine.qualification?.id === qualificationId) return engine;
  const now = engine.qualification?.id ?? 'none';
  throw unavailable(`release ${releaseId} was searched by policy ${qualificationId}, and now it has ${now}.`);
}

async function requireHomologSource(
  { name, sha256, version }: ByMmseqs,
  indexesFolder: string,
): Promise<void> {
  const kept = await findHomologSource(indexesFolder, name);
  if (kept === undefined) throw unavailable(`there is no background ${name} here.`);
  if (kept.sha256 !== sha256) throw unavailable(`the background ${name} holds other sequences now.`);
  const installed = await mmseqsVersion();
  if (installed === version) return;
  throw unavailable(`it was searched by mmseqs ${version}, and here is ${installed ?? 'none'}.`);
}

function unavailable(why: string): Refusal {
  return new Refusal(
    'relatives_unavailable',
    `Relatives cannot be looked for as those of the targets were: ${why} ` +
      'Build the database again, or ask for relatives "none".',
  );
}

function rulesOf({ rules }: HomologsManifest): HomologRules {
  return {
    maxEValue: rules.max_expected,
    minCoverage: rules.min_coverage,
    maxIdentity: rules.max_identity,
    profileCount: rules.profile_count,
    vectorCount: rules.vector_count,
  };
}
