import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { canonicalJson } from '../canonical.js';
import { Fault } from '../errors.js';
import { readCardFile, unknownFormat } from '../json/card.js';
import { calibrationDirectory } from '../significance/card.js';
import {
  CODEBOOK_FILE_NAME,
  POLICY_FILE,
  POLICY_FORMAT,
  definitionOf,
  isQualifiedPolicy,
  policyId,
  qualificationId,
  type PolicyCard,
} from './policy-card.js';
import { replaceFile } from '../files.js';

/** The qualified approximate policy of a release. */
export interface Qualification {
  /** `qual_…` */
  readonly id: string;
  readonly card: PolicyCard;
}

/**
 * Reads the card of a release's approximate policy. Returns undefined if there is none.
 * Errors  Fault if the card cannot be read, was changed, or has an unknown format
 */
export async function readPolicyCard(releaseDirectory: string): Promise<PolicyCard | undefined> {
  const path = join(calibrationDirectory(releaseDirectory), POLICY_FILE);
  const read = await readCardFile<PolicyCard>(path, 'a policy card');
  if (read === undefined) return undefined;
  const { card, text } = read;
  if (card?.format !== POLICY_FORMAT) throw unknownFormat(path, card?.format, POLICY_FORMAT);
  if (text !== policyText(card)) throw new Fault(`${path} was changed.`);
  return card;
}

/**
 * Opens the approximate policy that a release offers with this calibration. Returns undefined if there is none, if its
 * recalls are too low, or if it was measured with another calibration or another version of the policy.
 * Errors  Fault if the card is damaged or belongs to another release
 */
export async function openQualification(
  releaseDirectory: string,
  { releaseId, calibrationId }: { readonly releaseId: string; readonly calibrationId: string | undefined },
): Promise<Qualification | undefined> {
  const card = await readPolicyCard(releaseDirectory);
  if (card === undefined || !isQualifiedPolicy(card)) return undefined;
  if (card.release_id !== releaseId) {
    throw new Fault(
      `${calibrationDirectory(releaseDirectory)} qualifies release ${card.release_id}, not ${releaseId}.`,
    );
  }
  const current = policyId(definitionOf(card.policy, card));
  if (card.policy_id !== current || card.calibration_id !== (calibrationId ?? null)) return undefined;
  return Object.freeze({ id: qualificationId(card), card });
}

/**
 * Writes the card beside its release and replaces an existing one. Codebook files that the card does not name are
 * removed.
 * Errors  those of the file system
 */
export async function writePolicyCard(releaseDirectory: string, card: PolicyCard): Promise<void> {
  const folder = calibrationDirectory(releaseDirectory);
  await mkdir(folder, { recursive: true });
  const path = join(folder, POLICY_FILE);
  await replaceFile(path, policyText(card));
  const own = [card.codes?.words.path, card.codes?.codes.path];
  for (const name of await readdir(folder)) {
    if (CODEBOOK_FILE_NAME.test(name) && !own.includes(name)) await rm(join(folder, name), { force: true });
  }
}

/** Returns the only valid text of a card, so that every changed byte is detected. */
function policyText(card: PolicyCard): string {
  return `${canonicalJson(card)}\n`;
}
