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
import { mmseqsHomologs, mmseqsVersion } from '../../src/find-homologs/mmseqs.js';
import { openFinder } from '../../src/find-homologs/open.js';
import { PROFILE_SCALE } from '../../src/release/profile-affine.js';
import type { SearchEngine } from '../../src/search/search-types.js';

const ROUNDS = 2;

/** Relatives of a build by our own search of a release that has none, and a calibration. */
export function ownHomologs(
  { config }: Pick<Appliance, 'config'>,
  { card }: Pick<Encoder, 'card'>,
  plain: SearchEngine,
): BuildHomologs {
  const { calibration, release } = plain;
  assert(calibration !== undefined, 'relatives are told by E-values');
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
 * Relatives of a build by mmseqs, as the command line makes them.
 * @param fasta  path of the background's sequences; asked where the appliance has no background of that name yet
 */
export async function benchHomologs(
  { config }: Pick<Appliance, 'config'>,
  { card }: Pick<Encoder, 'card'>,
  name: string,
  fasta: () => Promise<string>,
): Promise<BuildHomologs> {
  const version = await mmseqsVersion();
  assert(version !== undefined, 'mmseqs finds the relatives (apt-get install mmseqs2)');
  const { indexesFolder, threads } = config;
  const { sha256 } =
    (await findHomologSource(indexesFolder, name)) ??
    (await addHomologSource(indexesFolder, name, [await fasta()]));
  const database = homologSourceDatabase(indexesFolder, name);
  return {
    finder: mmseqsHomologs({ database, rounds: ROUNDS }, ROUNDS_RULES, threads),
    form: profileTokenForm(card, PROFILE_SCALE),
    rules: ROUNDS_RULES,
    homologSource: { method: 'mmseqs', name, sha256, version, rounds: ROUNDS },
  };
}
