import type { ApplianceConfig } from '../../config.js';
import type { Encoder } from '../../encoder/encoder.js';
import { Refusal } from '../../errors.js';
import { profileTokenForm } from '../../homologs/token-form.js';
import { HOMOLOG_RULES, ROUNDS_RULES } from '../../homologs/rules.js';
import type { BuildHomologs } from '../../build-release/build-options.js';
import { alignedHomologs } from '../../find-homologs/alignments.js';
import { openFinder } from '../../find-homologs/open.js';
import { PROFILE_SCALE } from '../../release/profile-affine.js';
import type { HomologSource } from '../../release/release.js';
import { openHomologSources } from './homolog-sources.js';

/** The relatives of a build, and what is to be closed when it is done. */
export interface OpenedHomologs {
  readonly buildHomologs: BuildHomologs;
  close(): Promise<void>;
}

/** What a background is opened with. */
interface HomologsPlace {
  readonly encoder: Encoder;
  readonly config: ApplianceConfig;
  /** The folder, where relatives are given. */
  readonly alignments?: string;
}

/**
 * Relatives by a background that a build has named, here or in a task of it.
 * Errors  Refusal `invalid_option` where the folder of given alignments is not named
 */
export function openHomologs(
  homologSource: HomologSource,
  { encoder, config, alignments }: HomologsPlace,
): OpenedHomologs {
  const rules = homologSource.method === 'mmseqs' ? ROUNDS_RULES : HOMOLOG_RULES;
  const sources = openHomologSources(encoder, config);
  const finder =
    homologSource.method === 'alignments'
      ? alignedHomologs({ path: alignments ?? refuseUnnamed() }, rules)
      : openFinder(homologSource, rules, sources);
  const form = profileTokenForm(encoder.card, PROFILE_SCALE);
  return { buildHomologs: { form, rules, homologSource, finder }, close: () => sources.close() };
}

function refuseUnnamed(): never {
  throw new Refusal(
    'invalid_option',
    'The relatives of this build are given: --alignments names the folder.',
  );
}
