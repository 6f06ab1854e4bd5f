import { openEvidence } from '../../calibration/evidence.js';
import type { ApplianceConfig } from '../../config.js';
import type { Encoder } from '../../encoder/encoder.js';
import { Refusal } from '../../errors.js';
import { openAlignments } from '../../relatives/alignments.js';
import { findBackground } from '../../relatives/backgrounds.js';
import { mmseqsVersion } from '../../relatives/mmseqs.js';
import { releaseDirectory, type FoundRelease } from '../../release/catalog.js';
import type { RelativesBackground } from '../../release/release.js';
import { openFamilies, type OpenedFamilies } from '../cluster/families.js';
import type { IndexCatalog } from './catalog.js';

/** What a build is told of relatives. */
export interface RelativesFlags {
  /** A database or background by name, `self`, or `none`. */
  readonly relatives: string;
  readonly alignments?: string;
}

/** Errors  Refusal `invalid_option` where both or impossible sources are named */
export function checkRelativesFlags({ relatives, alignments }: RelativesFlags): void {
  if (alignments === undefined || relatives === 'none') return;
  throw new Refusal(
    'invalid_option',
    'Relatives come from --relatives or from --alignments; name one of them.',
  );
}

/** Two rounds find more than one, and what drifts in a third is not worth it. */
const MMSEQS_ROUNDS = 2;

/**
 * Opens where the relatives of a build come from; undefined where it has none.
 * @param slug  the database that is built: what `self` means
 * Errors  Refusal `background_not_found`, `encoder_changed`, `significance_unavailable`, `tool_missing`,
 *         `invalid_alignment`
 */
export async function openBuildFamilies(
  { relatives, alignments }: RelativesFlags,
  slug: string,
  encoder: Encoder,
  catalog: IndexCatalog,
): Promise<OpenedFamilies | undefined> {
  const { config } = catalog;
  if (alignments !== undefined) {
    const { sha256 } = await openAlignments(alignments);
    return openFamilies({ method: 'alignments', sha256 }, { encoder, config, alignments });
  }
  if (relatives === 'none') return undefined;
  const name = relatives === 'self' ? slug : relatives;
  const plain = plainReleaseOf(name, encoder, catalog);
  const background = plain === undefined ? await nameKept(name, encoder, config) : await nameRelease(plain);
  return openFamilies(background, { encoder, config });
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

async function nameRelease({ id, directory, manifest }: FoundRelease): Promise<RelativesBackground> {
  const known = { id, targetCount: manifest.counts.targets };
  const { calibration, qualification: qualified } = await openEvidence(directory, known);
  if (calibration === undefined) {
    throw new Refusal(
      'significance_unavailable',
      `Relatives are told from others by E-values, and release ${id} has none: calibrate it with ` +
        `"gloaming index calibrate ${id}".`,
    );
  }
  // Codes lose what families are made of.
  const qualification = qualified?.card.codes === undefined ? qualified : undefined;
  return {
    method: 'search',
    release_id: id,
    calibration_id: calibration.id,
    ...(qualification && { qualification_id: qualification.id }),
  };
}

async function nameKept(
  name: string,
  { card }: Encoder,
  { indexesFolder }: ApplianceConfig,
): Promise<RelativesBackground> {
  const background = await findBackground(indexesFolder, name);
  if (background === undefined) {
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
  return { method: 'mmseqs', name, sha256: background.sha256, version, rounds: MMSEQS_ROUNDS };
}
