import { valueId } from '../../ids.js';
import { pathAffine } from '../../release/path-affine.js';
import type { ReleaseManifest } from '../../release/release.js';

/** Cached ids: an open release has one manifest, and every response of a search names its profile. */
const profileIds = new WeakMap<ReleaseManifest, string>();

/** Id of everything that defines a search's numbers: letters, encoder, quantisation, scores, alignments. */
export function semanticProfileId(manifest: ReleaseManifest): string {
  const id = profileIds.get(manifest) ?? profileId(manifest);
  profileIds.set(manifest, id);
  return id;
}

function profileId(manifest: ReleaseManifest): string {
  return valueId('prof', {
    affine: manifest.affine,
    encoder: manifest.encoder,
    measurement: 'maxsim.bidirectional/1',
    path_affine: pathAffine(manifest),
    normalization_id: manifest.normalization_id,
  });
}
