import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  calibrationDirectory,
  calibrationId,
  CARD_FILE,
  type CalibrationCard,
} from '../significance/card.js';
import type { PolicyCard } from '../recall/policy-card.js';
import { readPolicyCard, writePolicyCard } from '../recall/policy-sidecar.js';
import { cardText, readCalibrationCard } from '../significance/sidecar.js';
import { verifyEvidence } from '../recall/evidence.js';
import { canonicalJson } from '../canonical.js';
import { shareFile } from '../release/hashed-file.js';
import type { ReleaseManifest } from '../release/release.js';

/*
 * The rule: a calibration, and the card of a policy, carry over to a release whose targets, tokens, profiles, encoder,
 * affine parameters, relatives and policies are the same to the byte. Whoever measured that release would get the very
 * same numbers, because nothing else enters them; what may differ is title, description, attributes and taxonomy.
 *
 * Nothing weaker is enough. A calibration has a row of moments and of general closeness for each target, a panel of
 * targets, and a null that a part of its sample has qualified: it speaks for the proteins that it has seen. Others, be
 * they few, may be of a composition that the sample lacks, and nobody can tell without measuring them.
 */

/** A release as far as it is measured. */
export interface MeasuredRelease {
  readonly id: string;
  readonly directory: string;
  readonly manifest: ReleaseManifest;
}

export interface TransferredCards {
  readonly from: MeasuredRelease;
  readonly calibration: CalibrationCard;
  readonly policy?: PolicyCard;
}

/** True where all that is ever measured of one release is measured of the other. */
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
 * Writes beside a release without calibration that of the first other release which is measured alike and has an intact
 * one; undefined where there is none.
 * Errors  Fault of the disk
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
  const place = calibrationDirectory(to.directory);
  const folder = `${place}.new`;
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  for (const { path } of [measured.files.targets, measured.files.basis]) {
    await shareFile(join(calibrationDirectory(from.directory), path), join(folder, path));
  }
  await writeFile(join(folder, CARD_FILE), cardText(calibration));
  await rm(place, { recursive: true, force: true });
  await rename(folder, place);
  if (policy === undefined || policy.calibration_id !== calibrationId(measured)) return { from, calibration };
  const transferred = { ...policy, release_id: to.id, calibration_id: calibrationId(calibration) };
  for (const { path } of policy.codes === undefined ? [] : [policy.codes.words, policy.codes.codes]) {
    await shareFile(join(calibrationDirectory(from.directory), path), join(place, path));
  }
  await writePolicyCard(to.directory, transferred);
  return { from, calibration, policy: transferred };
}
