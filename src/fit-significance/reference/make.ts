import { copyFile, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { canonicalSha256, sha256Hex } from '../../canonical.js';
import { calibrationDirectory, type CalibrationCard } from '../../significance/card.js';
import { momentForm } from '../../significance/moments.js';
import {
  REFERENCE_NULL_FILES,
  REFERENCE_NULL_FORMAT,
  referenceNullFolder,
  referenceNullText,
  type ReferenceNullCard,
} from '../../significance/reference-null.js';
import { referenceBytes } from '../../significance/reference-set.js';
import type { Release } from '../../release/release.js';
import { openTokenReader } from '../../release/rows/token-reader.js';
import type { CalibrateOptions } from '../options.js';
import { COMPOSITION_CARD, MEMBRANE_CARD } from './composition.js';
import { repeatCard, repeatModel } from './repeats.js';
import { putFolder } from '../../files.js';

/**
 * Options of the calibration that a reference null is made of. A calibration by the reference compares each member of
 * the reference set with every target. Hence the members are few. They have the length of domains, because shorter
 * proteins hold no alpha/beta fold, and hubness among such folds would stay unseen. The lengths of the sample differ
 * more than those of one release. Hence more strata.
 */
export const REFERENCE_CALIBRATION = {
  referenceSet: { count: 60, minimumResidues: 120, maximumResidues: 220 },
  maximumStrata: 6,
} as const satisfies Partial<CalibrateOptions>;

/**
 * Writes the reference null of an encoder from a release that was calibrated with `REFERENCE_CALIBRATION`. Replaces an
 * earlier one.
 * Errors  those of the token reader and of the file system
 */
export async function writeReferenceNull(
  release: Release,
  card: CalibrationCard,
  encoderDirectory: string,
): Promise<ReferenceNullCard> {
  const { manifest, directory } = release;
  const hasProfiles = manifest.affine.profile !== undefined;
  const destination = referenceNullFolder(encoderDirectory, hasProfiles);
  const folder = `${destination}.new`;
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const reader = await openTokenReader(release);
  const proteins = await readAll(card.bias.panel, (target) => reader.read(target)).finally(() =>
    reader.close(),
  );
  const bytes = referenceBytes(proteins);
  const { proteins: proteinsFile, basis: basisFile, card: cardFile } = REFERENCE_NULL_FILES;
  await writeFile(join(folder, proteinsFile), bytes);
  await copyFile(join(calibrationDirectory(directory), card.files.basis.path), join(folder, basisFile));
  const { inverseStep, profileScale } = momentForm(manifest);
  const { panel: _, ...bias } = card.bias;
  const reference: ReferenceNullCard = {
    format: REFERENCE_NULL_FORMAT,
    encoder_sha256: manifest.encoder.sha256,
    affine_sha256: canonicalSha256(manifest.affine),
    form: {
      inverse_step: inverseStep,
      ...(profileScale !== undefined && { profile_scale: profileScale }),
    },
    seed: card.seed,
    sample: card.sample,
    supported: card.supported,
    stratum_edges: card.stratum_edges,
    pair_null: {
      ...card.pair_null,
      composition: COMPOSITION_CARD,
      membrane: MEMBRANE_CARD,
      repeats: repeatCard(repeatModel(hasProfiles)),
    },
    bias,
    bins: card.bins,
    populations: card.populations,
    moments: card.moments,
    files: {
      proteins: { path: proteinsFile, size_bytes: bytes.length, sha256: sha256Hex(bytes) },
      basis: { ...card.files.basis, path: basisFile },
    },
  };
  await writeFile(join(folder, cardFile), referenceNullText(reference));
  await rm(destination, { recursive: true, force: true });
  await putFolder(folder, destination);
  return reference;
}

async function readAll<Value, Read>(
  values: readonly Value[],
  read: (value: Value) => Promise<Read>,
): Promise<readonly Read[]> {
  const results: Read[] = [];
  for (const value of values) results.push(await read(value));
  return results;
}
