import type { ApplianceConfig } from '../../config.js';
import type { Encoder } from '../../encoder/encoder.js';
import { Refusal } from '../../errors.js';
import type { HomologFinder } from '../../homologs/finder.js';
import { profileTokenForm } from '../../homologs/token-form.js';
import { HOMOLOG_RULES, ROUNDS_RULES, type HomologRules } from '../../homologs/rules.js';
import type { BuildHomologs } from '../../build-release/build-options.js';
import { alignedHomologs } from '../../find-homologs/alignments.js';
import { familyHomologs } from '../../find-homologs/families.js';
import { openFinder, type HomologSourceDependencies } from '../../find-homologs/open.js';
import { PROFILE_SCALE } from '../../release/profile-affine.js';
import type { HomologSource } from '../../release/release.js';
import { openHomologSources } from '../../engine/homolog-sources.js';

/** Homologs of a build's proteins; the build closes them. */
export interface OpenHomologs {
  readonly buildHomologs: BuildHomologs;
  /** Closes the source release. Errors  none */
  close(): Promise<void>;
}

/** Values needed to open a homolog source. */
interface HomologsPlace {
  readonly encoder: Encoder;
  readonly config: ApplianceConfig;
  /** Folder of given alignments. */
  readonly alignments?: string;
}

/**
 * Opens the homolog source that a build has named, in the build's process or in one of its tasks.
 * Errors  Refusal `invalid_option` where the source is a folder of alignments and the folder is not named
 */
export function openHomologs(
  homologSource: HomologSource,
  { encoder, config, alignments }: HomologsPlace,
): OpenHomologs {
  const rules = homologSource.method === 'mmseqs' ? ROUNDS_RULES : HOMOLOG_RULES;
  const sources = openHomologSources(encoder, config);
  const finder = finderOf(homologSource, rules, { sources, alignments });
  const form = profileTokenForm(encoder.card, PROFILE_SCALE);
  return { buildHomologs: { form, rules, homologSource, finder }, close: () => sources.close() };
}

function finderOf(
  homologSource: HomologSource,
  rules: HomologRules,
  {
    sources,
    alignments,
  }: { readonly sources: HomologSourceDependencies; readonly alignments: string | undefined },
): HomologFinder {
  switch (homologSource.method) {
    case 'alignments':
      return alignedHomologs({ path: alignments ?? refuseUnnamed() }, rules);
    case 'families':
      return familyHomologs(rules);
    default:
      return openFinder(homologSource, rules, sources);
  }
}

function refuseUnnamed(): never {
  throw new Refusal(
    'invalid_option',
    'The homologs of this build come from alignments: --alignments names the folder.',
  );
}
