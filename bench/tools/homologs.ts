import { join } from 'node:path';
import type { Appliance } from '../../src/appliance.js';
import type { Encoder } from '../../src/encoder/encoder.js';
import { assert } from '../../src/errors.js';
import { profileTokenForm } from '../../src/homologs/token-form.js';
import { HOMOLOG_RULES, ROUNDS_RULES } from '../../src/homologs/rules.js';
import type { BuildHomologs } from '../../src/build-release/build-options.js';
import {
  addHomologSource,
  homologSourceDatabase,
  findHomologSource,
} from '../../src/find-homologs/homolog-sources.js';
import { findKeptIndex, keepIndex } from '../../src/find-homologs/kept-index.js';
import { mmseqsVersion } from '../../src/find-homologs/mmseqs-process.js';
import { mmseqsHomologs } from '../../src/find-homologs/mmseqs.js';
import { openFinder } from '../../src/find-homologs/open.js';
import { PROFILE_SCALE } from '../../src/release/profile-affine.js';
import type { SearchEngine } from '../../src/search/search-types.js';
import { openCalibrated } from './calibrated-database.js';
import { writeHomologSource, type HomologSourceKind } from './homolog-source.js';
import type { BenchProtein } from './proteins.js';

const ROUNDS = 2;

/** Builds with homologs that our own search finds in a calibrated release without profiles. */
export function ownHomologs(
  { config }: Pick<Appliance, 'config'>,
  { card }: Pick<Encoder, 'card'>,
  plain: SearchEngine,
): BuildHomologs {
  const { calibration, release } = plain;
  assert(calibration !== undefined, 'homologs are selected by their E-values');
  const { indexesFolder, threads } = config;
  const homologSource = { method: 'search', release_id: release.id, calibration_id: calibration.id } as const;
  const sources = { indexesFolder, threads, openEngine: async () => plain };
  return {
    finder: openFinder(homologSource, HOMOLOG_RULES, sources),
    form: profileTokenForm(card, PROFILE_SCALE),
    rules: HOMOLOG_RULES,
    homologSource,
  };
}

/**
 * Builds with homologs that mmseqs finds, as the command line does.
 * @param fasta  writes the homolog source and returns its path; called if the appliance has no source of that name
 * Errors  those of mmseqs; an assertion if it is not installed
 */
export async function benchHomologs(
  { config }: Pick<Appliance, 'config'>,
  { card }: Pick<Encoder, 'card'>,
  name: string,
  fasta: () => Promise<string>,
): Promise<BuildHomologs> {
  const version = await mmseqsVersion();
  assert(version !== undefined, 'mmseqs is installed (apt-get install mmseqs2)');
  const { indexesFolder, threads } = config;
  const { sha256 } =
    (await findHomologSource(indexesFolder, name)) ??
    (await addHomologSource(indexesFolder, name, [await fasta()]));
  const database = homologSourceDatabase(indexesFolder, name);
  if ((await findKeptIndex(database, version)) === undefined) await keepIndex(database, version, { threads });
  return {
    finder: mmseqsHomologs({ database, rounds: ROUNDS, version }, ROUNDS_RULES, threads),
    form: profileTokenForm(card, PROFILE_SCALE),
    rules: ROUNDS_RULES,
    homologSource: { method: 'mmseqs', name, sha256, version, rounds: ROUNDS },
  };
}

export interface WithHomologs {
  readonly kind: HomologSourceKind;
  /** Name of the homolog source. */
  readonly source: string;
  /** Name of the database. */
  readonly slug: string;
  /** Folder of the shared data. */
  readonly data: string;
  /** Folder to keep the database and the homolog source in. */
  readonly folder: string;
}

/**
 * Builds, or reuses, a calibrated database of these proteins with homologs from the natural sequences, and opens it.
 * Errors  those of `benchHomologs`, `writeHomologSource` and `openCalibrated`
 */
export async function openWithHomologs(
  appliance: Appliance,
  targets: readonly BenchProtein[],
  { kind, source, slug, data, folder }: WithHomologs,
): Promise<SearchEngine> {
  const encoder = await appliance.loadEncoder(appliance.config.encoder);
  const buildHomologs = await benchHomologs(appliance, encoder, source, async () => {
    const path = join(folder, `${source}.background.fasta`);
    await writeHomologSource(data, kind, path);
    return path;
  });
  await encoder.close();
  return openCalibrated(appliance, targets, slug, folder, buildHomologs);
}
