import type { ApplianceConfig } from '../config.js';
import { findEncoderVersion } from '../encoder/encoder-store.js';
import type { ReleaseManifest } from '../release/release.js';
import { readProbabilityCard, type ProbabilityCard } from '../significance/probability.js';

/**
 * Reads the probabilities of homology that the encoder version of a release has for such releases; undefined if it has
 * none.
 * Errors  Fault if the encoder version is not installed, or its table is damaged
 */
export async function probabilitiesOf(
  { encoder: { id, sha256 }, relatives: homologs }: Pick<ReleaseManifest, 'encoder' | 'relatives'>,
  config: ApplianceConfig,
): Promise<ProbabilityCard | undefined> {
  const directory = await findEncoderVersion(id, sha256, config);
  return readProbabilityCard(directory, sha256, homologs !== undefined);
}
