import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  calibrationDirectory,
  calibrationId,
  CARD_FILE,
  type CalibrationCard,
} from '../significance/card.js';
import type { PolicyCard } from '../recall/policy-card.js';
import { readPolicyCard, writePolicyCard } from '../recall/policy-sidecar.js';
import { cardText, filesOf, readCalibrationCard } from '../significance/sidecar.js';
import { verifyEvidence } from '../recall/evidence.js';
import { canonicalJson } from '../canonical.js';
import { putFolder } from '../files.js';
import { shareFile } from '../release/hashed-file.js';
import type { ReleaseManifest } from '../release/release.js';

/*
 * A calibration and a policy card are valid for another release if its targets, tokens, profiles, encoder, affine
 * parameters, homolog source and policies are identical to the byte. A new measurement would give the same numbers,
 * because they depend on nothing else. Title, description, attributes and taxonomy may differ.
 *
 * A weaker condition is not enough. A calibration has moments and hubness of every target, a reference set of targets,
 * and a null that was tested on its own sample. Even a few other proteins may have a composition that the sample lacks,
 * which only a measurement can show.
 */

/** The members of a release that a measurement depends on. */
export interface MeasuredRelease {
  readonly id: string;
  readonly directory: string;
  readonly manifest: ReleaseManifest;
}

/** Cards that were transferred, and the release that they came from. */
export interface TransferredCards {
  readonly from: MeasuredRelease;
  readonly calibration: CalibrationCard;
  readonly policy?: PolicyCard;
}

/** Returns whether every measurement of one release holds for the other. */
function isMeasuredAlike(a: ReleaseManifest, b: ReleaseManifest): boolean {
  return canonicalJson(measuredPart(a)) === canonicalJson(measuredPart(b));
}

function measuredPart({ files, encoder, affine, relatives: homologs, policies }: ReleaseManifest): unknown {
  const { targets, tokens, profiles } = files;
  return {
    targets: targets.sha256,
    tokens: tokens.sha256,
    profiles: profiles?.sha256 ?? null,
    encoder,
    affine,
    relatives: homologs ?? null,
    policies,
  };
}

/**
 * Transfers the calibration and policy card of the first release with equal inputs and an intact calibration. Returns
 * undefined if there is none.
 * Errors  Fault if a card cannot be read; those of the file system
 */
export async function transferCalibration(
  to: MeasuredRelease,
  others: readonly MeasuredRelease[],
): Promise<TransferredCards | undefined> {
  for (const from of others) {
    if (from.id === to.id || !isMeasuredAlike(from.manifest, to.manifest)) continue;
    if ((await verifyEvidence(from.directory)).length > 0) continue;
    const card = await readCalibrationCard(from.directory);
    if (card !== undefined) return transferFrom(from, to, card);
  }
  return undefined;
}

async function transferFrom(
  from: MeasuredRelease,
  to: MeasuredRelease,
  measured: CalibrationCard,
): Promise<TransferredCards> {
  const calibration = { ...measured, release_id: to.id };
  const policy = await readPolicyCard(from.directory);
  const destination = calibrationDirectory(to.directory);
  const folder = `${destination}.new`;
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  for (const { path } of filesOf(measured)) {
    await shareFile(join(calibrationDirectory(from.directory), path), join(folder, path));
  }
  await writeFile(join(folder, CARD_FILE), cardText(calibration));
  await rm(destination, { recursive: true, force: true });
  await putFolder(folder, destination);
  if (policy === undefined || policy.calibration_id !== calibrationId(measured)) return { from, calibration };
  const transferred = { ...policy, release_id: to.id, calibration_id: calibrationId(calibration) };
  for (const { path } of policy.codes === undefined ? [] : [policy.codes.words, policy.codes.codes]) {
    await shareFile(join(calibrationDirectory(from.directory), path), join(destination, path));
  }
  await writePolicyCard(to.directory, transferred);
  return { from, calibration, policy: transferred };
}
