import { readEvidenceIds } from '../../engine/open-engine.js';
import { readCalibrationCard } from '../../significance/sidecar.js';
import type { ApplianceConfig } from '../../config.js';
import type { Encoder } from '../../encoder/encoder.js';
import { assert, Refusal } from '../../errors.js';
import { openAlignments } from '../../find-homologs/alignments.js';
import { findHomologSource } from '../../find-homologs/homolog-sources.js';
import { mmseqsVersion } from '../../find-homologs/mmseqs.js';
import { sampleHomologs } from '../../find-homologs/sample.js';
import { releaseDirectory, type FoundRelease } from '../../release/catalog.js';
import { openRelease } from '../../release/open.js';
import type { HomologSource } from '../../release/release.js';
import { openHomologs, type OpenedHomologs } from '../cluster/homologs.js';
import { formatDuration } from '../terminal/progress.js';
import type { IndexCatalog } from './catalog.js';

/** What a build is told of relatives. */
export interface RelativesFlags {
  /** A database or background by name, `self`, `none`, or `auto`, which a sample makes one of the two. */
  readonly relatives: string;
  readonly alignments?: string;
}

/** Errors  Refusal `invalid_option` where both or impossible sources are named */
export function checkHomologFlags({ relatives: homologs, alignments }: RelativesFlags): void {
  if (alignments === undefined || homologs === 'none') return;
  throw new Refusal(
    'invalid_option',
    'Relatives come from --relatives or from --alignments; name one of them.',
  );
}

/** Whether proteins may be each other's relatives: then a release without them comes first, to look for them in. */
export function isOfItself({ relatives: homologs }: Pick<RelativesFlags, 'relatives'>): boolean {
  return homologs === 'self' || homologs === 'auto';
}

/** What makes up the mind of `auto` at once: relatives are given, or there is nothing to tell them from others by. */
export function homologsOptionOf(
  {
    relatives: homologs,
    alignments,
    embeddings,
    calibration,
  }: RelativesFlags & { readonly embeddings?: unknown; readonly calibration: boolean },
  isDivided: boolean,
): string {
  const isSettled = alignments !== undefined || embeddings !== undefined || !calibration || isDivided;
  return homologs === 'auto' && isSettled ? 'none' : homologs;
}

/*
 * Where `auto` gives the proteins of a database each other's relatives. Share of family and superfamily pairs of dev
 * domains before the first false one, and of pairs at one error a query, by E-value: of 560 domains, a fifth of which
 * have relatives, .41 .06 .17 without and .41 .08 .20 with; of 2,239, nearly half of which do, .45 .07 .16 and .51 .11
 * .24; of 8,953, two thirds, .60 .07 .14 and .71 .16 .22. So a few are enough; where none has any, .07 becomes .06.
 */
const SAMPLED_PROTEINS = 100;
const LEAST_PROTEINS = 1_000;
const LEAST_RELATED_SHARE = 0.25;
/** Nobody has asked for it: what takes longer is left to be asked for. Unit: ms */
const LONGEST_MS = 3_600_000;

/**
 * Whether enough proteins of a database have relatives among the others, and looking for them is a matter of an hour;
 * says what it found, and what to do where it is not.
 * Errors  those of openBuildFamilies, but `significance_unavailable`: without a calibration nobody has relatives
 */
export async function haveOwnHomologs(
  plain: FoundRelease,
  slug: string,
  encoder: Encoder,
  catalog: IndexCatalog,
  { stderr, signal }: { readonly stderr: { write(text: string): unknown }; readonly signal: AbortSignal },
): Promise<boolean> {
  const { directory, manifest } = plain;
  const { targets } = manifest.counts;
  if (targets < LEAST_PROTEINS || (await readCalibrationCard(directory)) === undefined) return false;
  const opened = await openBuildHomologs({ relatives: 'self' }, plain, encoder, catalog);
  assert(opened !== undefined, 'a database that is its own background has one');
  try {
    const release = await openRelease(directory);
    const { finder } = opened.buildHomologs;
    const sample = await sampleHomologs(release.targets, finder, SAMPLED_PROTEINS, signal);
    const { proteins, related, allMs } = sample;
    const time = formatDuration(allMs);
    const decide = (isWorth: boolean, next: string): boolean => {
      stderr.write(`Of ${proteins} sampled proteins ${related} have relatives among the others: ${next}\n`);
      return isWorth;
    };
    if (related < LEAST_RELATED_SHARE * proteins) return decide(false, 'too few for --relatives self.');
    if (allMs > LONGEST_MS) {
      const instead = 'a background in mmseqs is quicker';
      return decide(false, `--relatives self finds more by them, and takes about ${time} here; ${instead}.`);
    }
    return decide(true, `all are given theirs now, in about ${time}. Until then ${slug} answers without.`);
  } finally {
    await opened.close();
  }
}

/** Two rounds find more than one, and what drifts in a third is not worth it. */
const MMSEQS_ROUNDS = 2;

/**
 * Opens where the relatives of a build come from; undefined where it has none.
 * @param own  the release without relatives that the build has made or found: what `self` means
 * Errors  Refusal `background_not_found`, `encoder_changed`, `significance_unavailable`, `tool_missing`,
 *         `invalid_alignment`
 */
export async function openBuildHomologs(
  { relatives: homologs, alignments }: RelativesFlags,
  own: FoundRelease | undefined,
  encoder: Encoder,
  catalog: IndexCatalog,
): Promise<OpenedHomologs | undefined> {
  const { config } = catalog;
  if (alignments !== undefined) {
    const { sha256 } = await openAlignments(alignments);
    return openHomologs({ method: 'alignments', sha256 }, { encoder, config, alignments });
  }
  if (homologs === 'none') return undefined;
  assert(
    own !== undefined || !isOfItself({ relatives: homologs }),
    'a build of itself has made or found its release',
  );
  const plain = isOfItself({ relatives: homologs }) ? own : plainReleaseOf(homologs, encoder, catalog);
  const homologSource =
    plain === undefined ? await nameKept(homologs, encoder, config) : await nameRelease(plain);
  return openHomologs(homologSource, { encoder, config });
}

/** The newest release of a database whose tokens are those of the encoder alone. */
function plainReleaseOf(
  name: string,
  { digest }: Encoder,
  { table, config }: IndexCatalog,
): FoundRelease | undefined {
  const found = table
    .releases(name)
    .find(({ manifest }) => manifest.relatives === undefined && manifest.encoder.sha256 === digest);
  return found && { ...found, slug: name, directory: releaseDirectory(config.indexesFolder, name, found.id) };
}

async function nameRelease({ id, directory, manifest }: FoundRelease): Promise<HomologSource> {
  const measured = { id, targetCount: manifest.counts.targets };
  const { calibrationId, qualificationId, usesCodebook } = await readEvidenceIds(directory, measured);
  if (calibrationId === null) {
    throw new Refusal(
      'significance_unavailable',
      `Relatives are told from others by E-values, and release ${id} has none: calibrate it with ` +
        `"gloaming index calibrate ${id}".`,
    );
  }
  return {
    method: 'search',
    release_id: id,
    calibration_id: calibrationId,
    // A codebook prefilter loses distant homologs, which profiles are made of.
    ...(qualificationId !== null && !usesCodebook && { qualification_id: qualificationId }),
  };
}

async function nameKept(
  name: string,
  { card }: Encoder,
  { indexesFolder }: ApplianceConfig,
): Promise<HomologSource> {
  const homologSource = await findHomologSource(indexesFolder, name);
  if (homologSource === undefined) {
    throw new Refusal(
      'background_not_found',
      `There is no database ${name} by the encoder ${card.id} and no background of that name. ` +
        '"gloaming index list" lists the databases; "gloaming background add" makes a background of FASTA files.',
    );
  }
  const version = await mmseqsVersion();
  if (version === undefined) {
    throw new Refusal(
      'tool_missing',
      `The background ${name} is searched by mmseqs, which is not installed here (Debian: apt-get install mmseqs2).`,
    );
  }
  return { method: 'mmseqs', name, sha256: homologSource.sha256, version, rounds: MMSEQS_ROUNDS };
}
