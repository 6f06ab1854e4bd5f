import type { Appliance } from '../../src/appliance.js';
import type { Encoder } from '../../src/encoder/encoder.js';
import { assert } from '../../src/errors.js';
import { familyForm } from '../../src/families/form.js';
import { ROUNDS_RULES } from '../../src/families/rules.js';
import type { BuildFamilies } from '../../src/indexing/build-options.js';
import { addBackground, backgroundDatabase, findBackground } from '../../src/relatives/backgrounds.js';
import { mmseqsRelatives, mmseqsVersion } from '../../src/relatives/mmseqs.js';
import { PROFILE_SCALE } from '../../src/release/profile-affine.js';

const ROUNDS = 2;

/**
 * Relatives of a build by mmseqs, as the command line makes them.
 * @param fasta  path of the background's sequences; asked where the appliance has no background of that name yet
 */
export async function benchFamilies(
  { config }: Pick<Appliance, 'config'>,
  { card }: Pick<Encoder, 'card'>,
  name: string,
  fasta: () => Promise<string>,
): Promise<BuildFamilies> {
  const version = await mmseqsVersion();
  assert(version !== undefined, 'mmseqs finds the relatives (apt-get install mmseqs2)');
  const { indexesFolder, threads } = config;
  const { sha256 } =
    (await findBackground(indexesFolder, name)) ??
    (await addBackground(indexesFolder, name, [await fasta()]));
  const database = backgroundDatabase(indexesFolder, name);
  return {
    finder: mmseqsRelatives({ database, rounds: ROUNDS }, ROUNDS_RULES, threads),
    form: familyForm(card, PROFILE_SCALE),
    rules: ROUNDS_RULES,
    background: { method: 'mmseqs', name, sha256, version, rounds: ROUNDS },
  };
}
