import { valueId } from '../ids.js';
import type { ReleaseManifest } from '../release/release.js';

/** Names all that gives the numbers of a search their meaning: letters, encoder, quantisation, scores. */
export function semanticProfileId(manifest: ReleaseManifest): string {
  return valueId('prof', {
    affine: manifest.affine,
    encoder: manifest.encoder,
    measurement: 'maxsim.bidirectional/1',
    normalization_id: manifest.normalization_id,
  });
}
